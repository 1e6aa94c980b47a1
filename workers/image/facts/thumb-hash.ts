import type { Size } from '../pixels/geometry.ts';
import { waveSums } from './wave-sums.ts';

/** Number of brightness components along the longer side; fewer where alpha takes space in the hash. */
const PARTS = 7;
const PARTS_WITH_ALPHA = 5;
/** Number of components of each colour difference along both sides, and of the alpha channel. */
const COLOUR_PARTS = 3;
const ALPHA_PARTS = 5;

/** A channel as its mean and its components, each from 0 to 1 relative to the largest one. */
interface Varying {
  mean: number;
  parts: number[];
  scale: number;
}

/**
 * The ThumbHash of RGBA pixels (https://evanw.github.io/thumbhash/), byte for byte that of its reference. For a picture
 * of one colour the components are only rounding errors, so every sum is added in the order of the reference. Two
 * things are faster than there: a pixel is weighted once for all components of a column, and a channel of zeros is not
 * summed.
 * @param size at most 100 px per side.
 */
export function thumbHash(rgba: Uint8Array, size: Size): Uint8Array {
  const { width, height } = size;
  const { brightness, yellow, red, alpha, isOpaque } = channelsOf(rgba, width * height);
  const limit = isOpaque ? PARTS : PARTS_WITH_ALPHA;
  const longest = Math.max(width, height);
  const across = Math.max(1, Math.round((limit * width) / longest));
  const down = Math.max(1, Math.round((limit * height) / longest));
  const l = dctOf(brightness, size, Math.max(COLOUR_PARTS, across), Math.max(COLOUR_PARTS, down));
  const p = dctOf(yellow, size, COLOUR_PARTS, COLOUR_PARTS);
  const q = dctOf(red, size, COLOUR_PARTS, COLOUR_PARTS);
  const a = isOpaque ? null : dctOf(alpha, size, ALPHA_PARTS, ALPHA_PARTS);
  const isLandscape = width > height;
  const colours =
    Math.round(63 * l.mean) |
    (Math.round(31.5 + 31.5 * p.mean) << 6) |
    (Math.round(31.5 + 31.5 * q.mean) << 12) |
    (Math.round(31 * l.scale) << 18) |
    (isOpaque ? 0 : 1 << 23);
  const shape =
    (isLandscape ? down : across) |
    (Math.round(63 * p.scale) << 3) |
    (Math.round(63 * q.scale) << 9) |
    (isLandscape ? 1 << 15 : 0);
  const head = [colours & 255, (colours >> 8) & 255, colours >> 16, shape & 255, shape >> 8];
  if (a !== null) head.push(Math.round(15 * a.mean) | (Math.round(15 * a.scale) << 4));
  return Uint8Array.from([...head, ...packed([l, p, q, ...(a === null ? [] : [a])])]);
}

/** Packs four bits per component, the first of two in the lower bits. */
function packed(channels: readonly Varying[]): number[] {
  const bytes: number[] = [];
  for (const [index, part] of channels.flatMap(({ parts }) => parts).entries()) {
    const bits = Math.round(15 * part);
    if (index % 2 === 0) bytes.push(bits);
    else bytes.push((bytes.pop() ?? 0) | (bits << 4));
  }
  return bytes;
}

/** Brightness, yellow against blue, red against green, and alpha. Transparent pixels take the mean colour. */
function channelsOf(rgba: Uint8Array, count: number) {
  let [meanRed, meanGreen, meanBlue, opacity] = [0, 0, 0, 0];
  for (let at = 0; at < 4 * count; at += 4) {
    const alpha = (rgba[at + 3] as number) / 255;
    meanRed += (alpha / 255) * (rgba[at] as number);
    meanGreen += (alpha / 255) * (rgba[at + 1] as number);
    meanBlue += (alpha / 255) * (rgba[at + 2] as number);
    opacity += alpha;
  }
  if (opacity > 0) {
    meanRed /= opacity;
    meanGreen /= opacity;
    meanBlue /= opacity;
  }
  const brightness = new Float64Array(count);
  const yellow = new Float64Array(count);
  const red = new Float64Array(count);
  const alpha = new Float64Array(count);
  for (let pixel = 0, at = 0; pixel < count; pixel++, at += 4) {
    const share = (rgba[at + 3] as number) / 255;
    const r = meanRed * (1 - share) + (share / 255) * (rgba[at] as number);
    const g = meanGreen * (1 - share) + (share / 255) * (rgba[at + 1] as number);
    const b = meanBlue * (1 - share) + (share / 255) * (rgba[at + 2] as number);
    brightness[pixel] = (r + g + b) / 3;
    yellow[pixel] = (r + g) / 2 - b;
    red[pixel] = r - g;
    alpha[pixel] = share;
  }
  return { brightness, yellow, red, alpha, isOpaque: !(opacity < count) };
}

/** The cosine transform of a channel, for the components in the triangle of lower frequencies. */
function dctOf(channel: Float64Array, size: Size, across: number, down: number): Varying {
  const { width, height } = size;
  const lines = Array.from({ length: down }, (_, line) => cosines(line, height));
  const sums = channel.some((value) => value !== 0)
    ? Array.from({ length: across }, (_, column) => {
        const inTriangle = lines.filter((_, line) => column * down < across * (down - line));
        return waveSums(channel, size, cosines(column, width), inTriangle);
      })
    : [];
  const varies: number[] = [];
  for (let line = 0; line < down; line++)
    for (let column = 0; column * down < across * (down - line); column++)
      if (line > 0 || column > 0) varies.push((sums[column]?.[line] ?? 0) / (width * height));
  const scale = varies.reduce((largest, part) => Math.max(largest, Math.abs(part)), 0);
  const parts = scale > 0 ? varies.map((part) => 0.5 + (0.5 / scale) * part) : varies;
  return { mean: (sums[0]?.[0] ?? 0) / (width * height), parts, scale };
}

function cosines(part: number, length: number): Float64Array {
  return Float64Array.from({ length }, (_, at) => Math.cos((Math.PI / length) * part * (at + 0.5)));
}
