/*
 * Lengths of SVG in CSS pixels: 96 to an inch, and 16 to an em if no font size is given.
 */

interface Size {
  width: number;
  height: number;
}

/** The font size of a drawing that gives none, as in browsers, in CSS pixels. */
export const MEDIUM_FONT_PX = 16;
/** CSS pixels of a quarter of a millimetre, the unit Q. */
export const PIXELS_OF_Q = 96 / 101.6;

const PIXELS_OF_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  q: PIXELS_OF_Q,
  pt: 96 / 72,
  pc: 16,
};
/** The font size of a unit, as the renderer takes it. */
const FONT_SIZES_OF_UNIT: Readonly<Record<string, number>> = { em: 1, rem: 1, ex: 0.5, ch: 0.5 };

/** Longer sides are taken for none, because the numbers that are computed from them would overflow. */
const MAX_PX = 1e9;
const LENGTH = /^\s*\+?((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)([a-z%]*)\s*(?:!important\s*)?$/i;

/**
 * The natural size of a drawing in CSS pixels, not rounded; null if it depends on the content.
 * @param attributeOf reads an attribute of the root element. Its `style` goes before its other attributes.
 */
export function naturalSizeOf(attributeOf: (name: string) => string | undefined): Size | null {
  const style = attributeOf('style') ?? '';
  const declared = (name: string) => declarationIn(style, name) ?? attributeOf(name);
  const font = pixelsOf(declared('font-size'), MEDIUM_FONT_PX) || MEDIUM_FONT_PX;
  const width = pixelsOf(declared('width'), font);
  const height = pixelsOf(declared('height'), font);
  const box = viewBoxIn(attributeOf('viewBox'));
  if (width > 0 && height > 0) return { width, height };
  if (box === null) return null;
  if (width > 0) return { width, height: (width * box.height) / box.width };
  if (height > 0) return { width: (height * box.width) / box.height, height };
  return box;
}

/** The size of the viewBox; null if there is none, or an empty one. */
export function viewBoxIn(attribute: string | undefined): Size | null {
  const numbers = (attribute ?? '')
    .trim()
    .split(/[\s,]+/, 5)
    .map(Number);
  const [, , width = 0, height = 0] = numbers;
  return numbers.length === 4 && isLength(width) && isLength(height) ? { width, height } : null;
}

/** The size in whole pixels, at least one each. */
export function wholePixels({ width, height }: Size): Size {
  return { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) };
}

function declarationIn(style: string, name: string): string | undefined {
  return new RegExp(`(?:^|;)\\s*${name}\\s*:([^;]*)`, 'i').exec(style)?.[1];
}

/** 0 for a percentage, or for text that is not a length. */
function pixelsOf(text: string | undefined, font: number): number {
  const [, number, unit = ''] = LENGTH.exec(text ?? '') ?? [];
  const name = unit.toLowerCase();
  const pixels = Number(number) * (PIXELS_OF_UNIT[name] ?? font * (FONT_SIZES_OF_UNIT[name] ?? 0));
  return isLength(pixels) ? pixels : 0;
}

function isLength(pixels: number): boolean {
  return pixels > 0 && pixels <= MAX_PX;
}
