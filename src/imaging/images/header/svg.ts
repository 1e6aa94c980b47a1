import { ByteReader } from '../../../../workers/formats/bytes.ts';
import { naturalSvgSizeOf, wholePixels } from '../../../../workers/formats/svg.ts';
import { type ImageHeader, imageHeaderOf } from './facts.ts';

/** The most bytes that are searched for the root element. Comments and a DOCTYPE may come before it. */
const MAX_PROLOGUE_BYTES = 65_536;
/**
 * Matches the text that may precede the root element. Each alternative begins differently, so matching takes linear
 * time.
 */
const XML_PROLOGUE = /^\ufeff?(?:\s|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^[>]*(?:\[[^\]]*\]\s*)?>)*/;
const SVG_ROOT_TAG = /^<(?:[\w.-]+:)?svg(?=[\s/>])(?:[^"'>]|"[^"]*"|'[^']*')*>/;

/**
 * Reads the header of an SVG. Its natural size is in its root element; 0 if it depends on the content. Text is UTF-8 or
 * UTF-16.
 */
export function readSvgHeader(bytes: ByteReader): ImageHeader | null {
  const root = rootTagOf(bytes);
  if (root === undefined) return null;
  const size = naturalSizeOf(root);
  return imageHeaderOf({
    format: 'svg',
    mimeType: 'image/svg+xml',
    ...(size === null ? { width: 0, height: 0 } : wholePixels(size)),
    channels: 4,
    hasAlpha: true,
  });
}

/** The natural size of a drawing in CSS pixels, not rounded; null if it depends on the content. */
export function readNaturalSvgSize(file: Uint8Array): { width: number; height: number } | null {
  const root = rootTagOf(new ByteReader(file));
  return root === undefined ? null : naturalSizeOf(root);
}

/** The start tag of the root element, with its attributes; undefined if the file is not an SVG. */
function rootTagOf(bytes: ByteReader): string | undefined {
  const text = decodeText(bytes.slice(0, MAX_PROLOGUE_BYTES));
  const prologue = XML_PROLOGUE.exec(text)?.[0] ?? '';
  return SVG_ROOT_TAG.exec(text.slice(prologue.length))?.[0];
}

function naturalSizeOf(root: string) {
  return naturalSvgSizeOf((name) => attributeOf(root, name));
}

function decodeText(start: Uint8Array): string {
  const encoding = start[0] === 0xff ? 'utf-16le' : start[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(start);
}

function attributeOf(root: string, name: string): string | undefined {
  return new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(root)?.slice(1).join('');
}
