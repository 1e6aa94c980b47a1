import type { Rgba } from '../pixels/pixels.ts';
import { BadArgumentError } from '../refusal.ts';
import { CSS_COLOUR_EXAMPLES, parseCssColour } from './css-colour.ts';

export type { Rgba };

export const WHITE: Rgba = { r: 255, g: 255, b: 255, alpha: 1 };
export const TRANSPARENT: Rgba = { r: 0, g: 0, b: 0, alpha: 0 };

/**
 * Reads a CSS colour.
 * @param key names the parameter that holds it.
 * @throws BadArgument on that parameter when the text is not a colour.
 */
export function parseColour(text: string, key: string): Rgba {
  const parsed = parseCssColour(text);
  if (parsed !== undefined) return parsed;
  throw new BadArgumentError(
    key,
    `${key} is "${text}", but a CSS colour such as ${CSS_COLOUR_EXAMPLES} is expected.`,
  );
}

/** The background that a step names, or that of its pass. */
export function backgroundOrFill(fill: Rgba, background: string | undefined): Rgba {
  return background === undefined ? fill : parseColour(background, 'background');
}

/** Whether a colour has no hue. */
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
