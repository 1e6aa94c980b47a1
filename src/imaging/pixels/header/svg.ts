import type { Bytes } from '../../../../workers/formats/bytes.ts';
import { type Header, headerOf } from './facts.ts';

/** Bytes in which the root element is searched: comments and a DOCTYPE may stand before it. */
const PROLOGUE_BYTES = 65_536;
/** The text that may stand before the root element; each alternative begins differently, so the match is linear. */
const PROLOGUE = /^\ufeff?(?:\s|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^[>]*(?:\[[^\]]*\]\s*)?>)*/;
const ROOT = /^<(?:[\w.-]+:)?svg(?=[\s/>])(?:[^"'>]|"[^"]*"|'[^']*')*>/;
/** CSS pixels of a unit at 72 dots per inch, and a font of 12, as librsvg draws. */
const PIXELS_OF_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 72,
  cm: 72 / 2.54,
  mm: 72 / 25.4,
  pt: 1,
  pc: 12,
  em: 12,
  ex: 6,
};

/** The size of a drawing is in its root element; 0 where it depends on the content. Text is UTF-8 or UTF-16. */
export function readSvg(bytes: Bytes): Header | null {
  const text = decode(bytes.slice(0, PROLOGUE_BYTES));
  const prologue = PROLOGUE.exec(text)?.[0] ?? '';
  const root = ROOT.exec(text.slice(prologue.length))?.[0];
  if (root === undefined) return null;
  return headerOf({
    format: 'svg',
    mimeType: 'image/svg+xml',
    ...naturalSize(root),
    channels: 4,
    hasAlpha: true,
  });
}

function decode(start: Uint8Array): string {
  const encoding = start[0] === 0xff ? 'utf-16le' : start[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(start);
}

function naturalSize(root: string): { width: number; height: number } {
  const width = lengthOf(root, 'width');
  const height = lengthOf(root, 'height');
  const box = viewBoxOf(root);
  const ratio = box === null ? 0 : box.width / box.height;
  if (width > 0 && height > 0) return rounded(width, height);
  if (width > 0) return rounded(width, ratio > 0 ? width / ratio : 0);
  if (height > 0) return rounded(height * ratio, height);
  return rounded(box?.width ?? 0, box?.height ?? 0);
}

function rounded(width: number, height: number): { width: number; height: number } {
  return { width: Math.floor(width + 0.5), height: Math.floor(height + 0.5) };
}

function attributeOf(root: string, name: string): string | undefined {
  return new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(root)?.slice(1).join('');
}

/** 0 for a percentage, or for text that is not a length. */
function lengthOf(root: string, name: string): number {
  const match = /^\s*\+?(\d*\.?\d+(?:e[+-]?\d+)?)([a-z%]*)\s*$/i.exec(attributeOf(root, name) ?? '');
  return match === null ? 0 : Number(match[1]) * (PIXELS_OF_UNIT[match[2]?.toLowerCase() ?? ''] ?? 0);
}

function viewBoxOf(root: string): { width: number; height: number } | null {
  const numbers = (attributeOf(root, 'viewBox') ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  const [, , width = 0, height = 0] = numbers;
  return numbers.length === 4 && width > 0 && height > 0 ? { width, height } : null;
}
