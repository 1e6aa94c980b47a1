import type { Rgba } from '../pixels/pixels.ts';
import { BadArgument } from '../refusal.ts';
import { COLOUR_NOTATIONS, cssColour } from './css-colour.ts';

export type { Rgba };

export const WHITE: Rgba = { r: 255, g: 255, b: 255, alpha: 1 };
export const TRANSPARENT: Rgba = { r: 0, g: 0, b: 0, alpha: 0 };

/**
 * Reads a CSS colour.
 * @param key names the parameter that holds it.
 * @throws BadArgument on that parameter when the text is not a colour.
 */
export function parseColour(text: string, key: string): Rgba {
  const parsed = cssColour(text);
  if (parsed !== undefined) return parsed;
  throw new BadArgument(
    key,
    `${key} is "${text}", but a CSS colour such as ${COLOUR_NOTATIONS} is expected.`,
  );
}

/** The colour of new areas: the step's argument `background`, or that of the pass if it is left out. */
export function backgroundOr(fill: Rgba, background: string | undefined): Rgba {
  return background === undefined ? fill : parseColour(background, 'background');
}

/** Whether a colour has no hue. */
export function isGreyColour(value: unknown): boolean {
  const { r = 0, g = 0, b = 0 } = (typeof value === 'string' && cssColour(value)) || {};
  return r === g && g === b;
}

/** Whether the value is a CSS colour that is not opaque. */
export function isTranslucent(value: unknown): boolean {
  return typeof value === 'string' && (cssColour(value)?.alpha ?? 1) < 1;
}

/** Whether an area of that colour is not opaque; without a colour it is transparent. */
export function opensUp(background: unknown): boolean {
  return background === undefined || isTranslucent(background);
}
