import { type Color, converter, parse, toGamut } from 'culori';

/** Channels 0 to 255, alpha 0 to 1: as sharp takes colours. */
export interface Rgba {
  r: number;
  g: number;
  b: number;
  alpha: number;
}

/** What is read, for messages. */
export const COLOUR_NOTATIONS = 'orange, #ff8800, rgb(…), hsl(…) or oklch(…)';

/** Notations of sRGB: what lies outside of it is cut off, channel by channel. */
const SRGB_MODES: readonly Color['mode'][] = ['rgb', 'hsl', 'hwb'];

const toRgb = converter('rgb');
/** The way of CSS Color 4 from wider spaces: the nearest colour of the same lightness and hue. */
const mapped = toGamut('rgb', 'oklch');

/** Reads any colour of CSS Color 4, but those that depend on a page. Undefined when it is none. */
export function cssColour(text: string): Rgba | undefined {
  const parsed = parse(text.trim().toLowerCase());
  if (parsed === undefined) return undefined;
  const { r, g, b, alpha = 1 } = SRGB_MODES.includes(parsed.mode) ? toRgb(parsed) : mapped(parsed);
  const byte = (share: number | undefined) => Math.round(255 * Math.min(1, Math.max(0, share ?? 0)));
  return { r: byte(r), g: byte(g), b: byte(b), alpha: Math.min(1, Math.max(0, alpha)) };
}
