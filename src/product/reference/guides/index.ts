import { readFileSync } from 'node:fs';
import type { DocumentationPage } from '../../../platform/pages/page.ts';
import { parsePage } from '../../../platform/pages/parse.ts';
import {
  byteSizeText,
  MAX_SIDE_PX,
  MAX_TEMPLATE_CSS_BYTES,
  MAX_TEMPLATE_HTML_BYTES,
} from '../../templates/schema.ts';
import { WEBHOOK_VERIFICATION_TEXT } from '../../webhooks/endpoints/signing.ts';

/**
 * The guides by their names in addresses, in the order of reading. All commands of a guide can be run one after the
 * other, once the variables KEY, BASE and those that the guide mentions are set.
 */
const GUIDE_NAMES = [
  ...['first-picture', 'several-results', 'templates', 'presets', 'delivery'],
  ...['jobs', 'webhooks', 'models', 'agents', 'cluster'],
];

/** Values of the code that guides mention. A guide has the name of the value between percent signs. */
const GUIDE_VALUES: Readonly<Record<string, string>> = {
  MAX_TEMPLATE_HTML: byteSizeText(MAX_TEMPLATE_HTML_BYTES),
  MAX_TEMPLATE_CSS: byteSizeText(MAX_TEMPLATE_CSS_BYTES),
  MAX_SIDE_PX: String(MAX_SIDE_PX),
  WEBHOOK_VERIFICATION: WEBHOOK_VERIFICATION_TEXT,
};

export const GUIDE_PAGES: Readonly<Record<string, DocumentationPage>> = Object.fromEntries(
  GUIDE_NAMES.map((name) => [name, readGuide(name)]),
);

function readGuide(name: string): DocumentationPage {
  const text = readFileSync(new URL(`${name}.md`, import.meta.url), 'utf8');
  return parsePage(text.replaceAll(/%([A-Z_]+)%/g, (sign, value: string) => GUIDE_VALUES[value] ?? sign));
}
