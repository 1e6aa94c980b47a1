// This entry point is one file. The usual one is 151 files, which every process and thread would load.
import culori, { type Color } from 'culori/require';
import type { Rgba } from '../pixels/pixels.ts';

const { colorsNamed, converter, parse, toGamut } = culori;

/** The notations that are accepted, for messages. */
export const CSS_COLOUR_EXAMPLES = 'orange, #ff8800, rgb(…), hsl(…) or oklch(…)';

/** The names of colours, such as orange. */
export const CSS_COLOUR_NAMES = Object.keys(colorsNamed);

/** Notations of sRGB. Values outside its gamut are clipped per channel. */
const SRGB_MODES: readonly Color['mode'][] = ['rgb', 'hsl', 'hwb'];

const toRgb = converter('rgb');
/** Maps colours outside of sRGB as CSS Color 4 does: to the nearest colour of the same lightness and hue. */
const mapped = toGamut('rgb', 'oklch');

/** No notation is longer, and the parser takes the square of the length for a number that does not end. */
const MAX_CHARACTERS = 200;

/** Reads any colour of CSS Color 4 except those that depend on a page. Undefined when the text is not a colour. */
export function parseCssColour(text: string): Rgba | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const parsed = parse(text.trim().toLowerCase());
  if (parsed === undefined) return undefined;
  const { r, g, b, alpha = 1 } = SRGB_MODES.includes(parsed.mode) ? toRgb(parsed) : mapped(parsed);
  const byte = (share: number | undefined) => Math.round(255 * Math.min(1, Math.max(0, share ?? 0)));
  return { r: byte(r), g: byte(g), b: byte(b), alpha: Math.min(1, Math.max(0, alpha)) };
}
