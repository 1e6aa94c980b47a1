import colour from '@img/colour';
import { BadArgument } from './refusal.ts';

/** Channels 0 to 255, alpha 0 to 1: as sharp takes colours. */
export interface Rgba {
  r: number;
  g: number;
  b: number;
  alpha: number;
}

/** The package exports its function as the module itself, where its types say a default within. */
const parse = colour as unknown as typeof colour.default;

export const WHITE: Rgba = { r: 255, g: 255, b: 255, alpha: 1 };
export const TRANSPARENT: Rgba = { r: 0, g: 0, b: 0, alpha: 0 };

/**
 * Reads a CSS colour.
 * @param key names the parameter it stands in.
 * @throws BadArgument on that parameter when it is none.
 */
export function colourOf(text: string, key: string): Rgba {
  try {
    const parsed = parse(text);
    const [r = 0, g = 0, b = 0] = parsed.rgb().round().array();
    return { r, g, b, alpha: parsed.alpha() };
  } catch {
    throw new BadArgument(
      key,
      `${key} is "${text}", but a CSS colour such as #ff8800 or orange is expected.`,
    );
  }
}
