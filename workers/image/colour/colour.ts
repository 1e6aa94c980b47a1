// This entry point of the package is one file. The usual entry point is 151 files, which every process and thread would
// load.
import culori, { type Color } from 'culori/require';
import type { Rgba } from '../pixels/pixels.ts';
import { BadArgumentError } from '../refusal.ts';

export const WHITE: Rgba = { r: 255, g: 255, b: 255, alpha: 1 };
export const TRANSPARENT: Rgba = { r: 0, g: 0, b: 0, alpha: 0 };

/**
 * Reads a CSS colour.
 * @param key the name of the parameter that holds the text.
 * @throws BadArgumentError on that parameter when the text is not a colour.
 */
export function parseColour(text: string, key: string): Rgba {
  const parsed = parseCssColour(text);
  if (parsed !== undefined) return parsed;
  const message = `${key} is "${text}", but a CSS colour such as ${CSS_COLOUR_EXAMPLES} is expected.`;
  throw new BadArgumentError(key, message);
}

/** The background that a step names, or that of its pass. */
export function backgroundOrFill(fill: Rgba, background: string | undefined): Rgba {
  return background === undefined ? fill : parseColour(background, 'background');
}

export function isGreyColour(value: unknown): boolean {
  const { r = 0, g = 0, b = 0 } = (typeof value === 'string' && parseCssColour(value)) || {};
  return r === g && g === b;
}

/** Whether the value is a CSS colour that is not opaque. */
export function isTranslucentColour(value: unknown): boolean {
  return typeof value === 'string' && (parseCssColour(value)?.alpha ?? 1) < 1;
}

/** Whether a fill of that colour leaves transparent pixels. Without a colour, the fill is transparent. */
export function leavesTransparency(background: unknown): boolean {
  return background === undefined || isTranslucentColour(background);
}

const { colorsNamed, converter, parse, toGamut } = culori;

/** Examples of the accepted notations, for error messages. */
export const CSS_COLOUR_EXAMPLES = 'orange, #ff8800, rgb(…), hsl(…) or oklch(…)';

/** The names of colours, such as orange. */
export const CSS_COLOUR_NAMES = Object.keys(colorsNamed);

/** Notations of sRGB. Values outside its gamut are clipped per channel. */
const SRGB_MODES: readonly Color['mode'][] = ['rgb', 'hsl', 'hwb'];

const toRgb = converter('rgb');
/** Maps colours outside of sRGB as CSS Color 4 does: to the nearest colour of the same lightness and hue. */
const mapToSrgbGamut = toGamut('rgb', 'oklch');

/**
 * The longest text that is parsed. No notation is longer. The time to parse a number grows with the square of its
 * length.
 */
const MAX_COLOUR_CHARACTERS = 200;

/** Reads any colour of CSS Color 4 except those that depend on a page. Undefined when the text is not a colour. */
export function parseCssColour(text: string): Rgba | undefined {
  if (text.length > MAX_COLOUR_CHARACTERS) return undefined;
  const parsed = parse(text.trim().toLowerCase());
  if (parsed === undefined) return undefined;
  const { r, g, b, alpha = 1 } = SRGB_MODES.includes(parsed.mode) ? toRgb(parsed) : mapToSrgbGamut(parsed);
  const byte = (share: number | undefined) => Math.round(255 * Math.min(1, Math.max(0, share ?? 0)));
  return { r: byte(r), g: byte(g), b: byte(b), alpha: Math.min(1, Math.max(0, alpha)) };
}

/**
 * Linear light, 0 to 1, of each 8-bit sRGB value (IEC 61966-2-1). It is a table of 256 values, because computing a
 * power is slow.
 */
export const LINEAR_LIGHT_BY_SRGB_VALUE = Float64Array.from({ length: 256 }, (_, value) =>
  srgbToLinear(value / 255),
);

/** The linear light, 0 to 1, of an sRGB value, 0 to 1. */
export function srgbToLinear(share: number): number {
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** The sRGB value, 0 to 1, of linear light, 0 to 1. */
export function linearToSrgb(light: number): number {
  return light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
}
