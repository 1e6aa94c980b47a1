import { readFileSync } from 'node:fs';
import { JSON_BOUNDS_TEXT } from '../../platform/http/bodies/json.ts';
import {
  byteSizeText,
  MAX_TEMPLATE_CSS_BYTES,
  MAX_TEMPLATE_HTML_BYTES,
  MAX_TEMPLATE_SIDE_PX,
} from '../templates/schema.ts';
import { WEBHOOK_VERIFICATION_TEXT } from '../webhooks/endpoints/signing.ts';

/** Values of the code that pages contain, by the names that a page writes between percent signs. */
const CODE_VALUES: Readonly<Record<string, string>> = {
  JSON_BOUNDS: JSON_BOUNDS_TEXT,
  MAX_TEMPLATE_HTML: byteSizeText(MAX_TEMPLATE_HTML_BYTES),
  MAX_TEMPLATE_CSS: byteSizeText(MAX_TEMPLATE_CSS_BYTES),
  MAX_SIDE_PX: String(MAX_TEMPLATE_SIDE_PX),
  WEBHOOK_VERIFICATION: WEBHOOK_VERIFICATION_TEXT,
};

/**
 * Reads a page that is written as Markdown, with the values that it mentions.
 * @param path the path of the file in this folder.
 */
export function readMarkdownFile(path: string): string {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return text.replaceAll(/%([A-Z_]+)%/g, (sign, name: string) => CODE_VALUES[name] ?? sign);
}
