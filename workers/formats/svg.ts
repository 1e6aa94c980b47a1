import type { Size } from './size.ts';

/*
 * Lengths of SVG in CSS pixels: 96 to an inch, and 16 to an em if no font size is given.
 */

/** The font size of a drawing that gives none, in CSS pixels. It is the default of browsers. */
export const DEFAULT_FONT_SIZE_PX = 16;
/** The CSS pixels of the unit Q, a quarter of a millimetre. */
const PIXELS_PER_Q = 96 / 101.6;

const PIXELS_PER_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  q: PIXELS_PER_Q,
  pt: 96 / 72,
  pc: 16,
};
/** The size of each relative unit as a multiple of the font size, as the renderer defines it. */
const FONT_SIZES_PER_UNIT: Readonly<Record<string, number>> = { em: 1, rem: 1, ex: 0.5, ch: 0.5 };

/**
 * The longest side of a drawing. A longer one counts as absent, because numbers that are computed from it would
 * overflow.
 */
const MAX_USABLE_SIDE_PX = 1e9;
const LENGTH_PATTERN = /^\s*\+?((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)([a-z%]*)\s*(?:!important\s*)?$/i;

/**
 * The natural size of a drawing in CSS pixels, not rounded; null if it depends on the content.
 * @param attributeOf reads an attribute of the root element.
 */
export function naturalSvgSizeOf(attributeOf: AttributeOf): Size | null {
  const font = fontSizeOf(attributeOf);
  const width = pixelsOf(declaredPropertyOf('width', attributeOf), font);
  const height = pixelsOf(declaredPropertyOf('height', attributeOf), font);
  const box = viewBoxSizeIn(attributeOf('viewBox'));
  if (width > 0 && height > 0) return { width, height };
  if (box === null) return null;
  if (width > 0) return { width, height: (width * box.height) / box.width };
  if (height > 0) return { width: (height * box.width) / box.height, height };
  return box;
}

/**
 * The units that the renderer does not know, by their lower-case names, and their sizes in CSS pixels: Q, the root font
 * size, and percentages of the size of the drawing. A unit is left out if its size depends on the content.
 * @param attributeOf reads an attribute of the root element.
 */
export function pixelsPerExtraUnit(attributeOf: AttributeOf): ReadonlyMap<string, number> {
  const units = new Map([
    ['q', PIXELS_PER_Q],
    ['rem', fontSizeOf(attributeOf)],
  ]);
  const size = naturalSvgSizeOf(attributeOf);
  if (size === null) return units;
  const { width, height } = size;
  return units
    .set('vw', width / 100)
    .set('vh', height / 100)
    .set('vmin', Math.min(width, height) / 100)
    .set('vmax', Math.max(width, height) / 100);
}

/** The size of the viewBox; null if there is none, or an empty one. */
export function viewBoxSizeIn(attribute: string | undefined): Size | null {
  const numbers = (attribute ?? '')
    .trim()
    .split(/[\s,]+/, 5)
    .map(Number);
  const [, , width = 0, height = 0] = numbers;
  if (numbers.length === 4 && isUsableLength(width) && isUsableLength(height)) return { width, height };
  return null;
}

/** The size in whole pixels. Each side has at least one pixel. */
export function wholePixels({ width, height }: Size): Size {
  return { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) };
}

/** Matches a font size in a unit that is relative to another font size. */
const RELATIVE_FONT_SIZE = /^\s*\+?[\d.]+(?:r?em|ex|ch)\b/i;
const FONT_SIZE_DECLARATION = /((?:^|;)\s*font-size\s*:)([^;]*)/i;

/**
 * The attributes of a root element, in which a relative font size is converted to pixels. Browsers compute it from
 * their own default font size, which differs from the renderer's.
 */
export function withFontSizeInPixels(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const inPixels = (size: string) =>
    RELATIVE_FONT_SIZE.test(size)
      ? `${pixelsOf(size, DEFAULT_FONT_SIZE_PX) || DEFAULT_FONT_SIZE_PX}px`
      : size;
  const { 'font-size': size, style } = attributes;
  return {
    ...attributes,
    ...(size !== undefined && { 'font-size': inPixels(size) }),
    ...(style !== undefined && {
      style: style.replace(FONT_SIZE_DECLARATION, (_, head: string, value: string) => head + inPixels(value)),
    }),
  };
}

type AttributeOf = (name: string) => string | undefined;

/** The font size of the root element in CSS pixels. */
function fontSizeOf(attributeOf: AttributeOf): number {
  return pixelsOf(declaredPropertyOf('font-size', attributeOf), DEFAULT_FONT_SIZE_PX) || DEFAULT_FONT_SIZE_PX;
}

/** A property of the root element. Its `style` attribute takes precedence over its other attributes. */
function declaredPropertyOf(name: string, attributeOf: AttributeOf): string | undefined {
  return declaredValueOf(attributeOf('style') ?? '', name) ?? attributeOf(name);
}

function declaredValueOf(style: string, name: string): string | undefined {
  return new RegExp(`(?:^|;)\\s*${name}\\s*:([^;]*)`, 'i').exec(style)?.[1];
}

/** The length in pixels; 0 for a percentage, and for text that is not a length. */
function pixelsOf(text: string | undefined, font: number): number {
  const [, number, unit = ''] = LENGTH_PATTERN.exec(text ?? '') ?? [];
  const name = unit.toLowerCase();
  const pixels = Number(number) * (PIXELS_PER_UNIT[name] ?? font * (FONT_SIZES_PER_UNIT[name] ?? 0));
  return isUsableLength(pixels) ? pixels : 0;
}

function isUsableLength(pixels: number): boolean {
  return pixels > 0 && pixels <= MAX_USABLE_SIDE_PX;
}
