import type { PixelSample } from '../pixels/pixels.ts';
import { greyPixelsOf } from './brightness.ts';

/** The side of the square to which the picture is scaled, in pixels. */
const SQUARE_EDGE_PX = 32;
/**
 * The number of horizontal and of vertical frequencies, from the lowest up. The hash has one bit for each pair of them.
 */
const FREQUENCIES_PER_AXIS = 8;
/**
 * The smallest strength of a frequency, of 255. A weaker one is a rounding error, and its bit is 0. A plain picture has
 * the hash 0.
 */
const MIN_FREQUENCY_STRENGTH = 0.05;

/** The cosines of the lowest frequencies without the constant one. Each row holds one frequency. */
const FREQUENCY_COSINES = Array.from({ length: FREQUENCIES_PER_AXIS }, (_, frequency) =>
  Float64Array.from({ length: SQUARE_EDGE_PX }, (_, at) =>
    Math.cos((Math.PI * (frequency + 1) * (2 * at + 1)) / (2 * SQUARE_EDGE_PX)),
  ),
);

/**
 * The perceptual hash of a picture as 16 hex digits. Each bit says whether one of the 64 lowest frequencies of the
 * brightness is above their median (DCT of a 32 px square, without the means of rows and columns). Copies in other
 * sizes, formats and qualities differ in few bits.
 * @param copy a small copy, laid on white where it is transparent.
 * @see Zauner, Implementation and Benchmarking of Perceptual Image Hash Functions (2010).
 */
export function computePerceptualHash(copy: PixelSample): string {
  const strengths = lowestFrequencies(greySquareOf(copy));
  const median = strengths.toSorted()[strengths.length / 2] as number;
  let hash = '';
  for (let at = 0; at < strengths.length; at += 4) {
    let digit = 0;
    for (const strength of strengths.subarray(at, at + 4))
      digit = 2 * digit + Number(strength > median && Math.abs(strength) >= MIN_FREQUENCY_STRENGTH);
    hash += digit.toString(16);
  }
  return hash;
}

/** The number of bits in which two hashes differ, 0 to 64. */
export function hashDistance(one: string, other: string): number {
  let bits = BigInt(`0x${one}`) ^ BigInt(`0x${other}`);
  let count = 0;
  for (; bits > 0n; bits &= bits - 1n) count++;
  return count;
}

/** The grey values of the picture, scaled to a square by area means. */
function greySquareOf({ data, width, height, channels }: PixelSample): Float64Array {
  const grey = greyPixelsOf(data as Uint8Array, channels, { width, height }).data;
  const rows = new Float64Array(SQUARE_EDGE_PX * height);
  for (let y = 0; y < height; y++)
    for (let to = 0; to < SQUARE_EDGE_PX; to++)
      rows[y * SQUARE_EDGE_PX + to] = meanOf(width, to, (x) => grey[y * width + x] as number);
  const square = new Float64Array(SQUARE_EDGE_PX * SQUARE_EDGE_PX);
  for (let column = 0; column < SQUARE_EDGE_PX; column++)
    for (let to = 0; to < SQUARE_EDGE_PX; to++)
      square[to * SQUARE_EDGE_PX + column] = meanOf(
        height,
        to,
        (y) => rows[y * SQUARE_EDGE_PX + column] as number,
      );
  return square;
}

/** The mean of the part of a row or column that becomes pixel `to` of the square. */
function meanOf(length: number, to: number, valueAt: (at: number) => number): number {
  const [from, until] = [(to * length) / SQUARE_EDGE_PX, ((to + 1) * length) / SQUARE_EDGE_PX];
  let sum = 0;
  for (let at = Math.floor(from); at < until; at++)
    sum += (Math.min(at + 1, until) - Math.max(at, from)) * valueAt(at);
  return sum / (until - from);
}

/** The coefficients of the lowest horizontal and vertical frequencies (DCT), divided by the number of pixels. */
function lowestFrequencies(square: Float64Array): Float64Array {
  const across = new Float64Array(FREQUENCIES_PER_AXIS * SQUARE_EDGE_PX);
  for (let y = 0; y < SQUARE_EDGE_PX; y++)
    for (const [frequency, cosines] of FREQUENCY_COSINES.entries())
      across[frequency * SQUARE_EDGE_PX + y] = cosines.reduce(
        (sum, c, x) => sum + c * (square[y * SQUARE_EDGE_PX + x] as number),
        0,
      );
  const strengths = new Float64Array(FREQUENCIES_PER_AXIS * FREQUENCIES_PER_AXIS);
  for (const [down, cosines] of FREQUENCY_COSINES.entries())
    for (let frequency = 0; frequency < FREQUENCIES_PER_AXIS; frequency++)
      strengths[down * FREQUENCIES_PER_AXIS + frequency] =
        cosines.reduce((sum, c, y) => sum + c * (across[frequency * SQUARE_EDGE_PX + y] as number), 0) /
        (SQUARE_EDGE_PX * SQUARE_EDGE_PX);
  return strengths;
}
