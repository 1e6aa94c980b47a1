import type { KernelEnum } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { Box } from './geometry.ts';
import type { DeepPixels, Pixels } from './pixels.ts';

/**
 * Enlarges pictures. libvips has no lanczos or mitchell kernel for enlarging, always uses bicubic, and shifts the
 * picture by up to half a pixel. Here each axis is resampled with the requested kernel, relative to the centres of
 * pixels. At the edges only the weights of existing pixels count. `nearest` is done here in both directions, because
 * libvips samples off-centre when it shrinks a picture.
 */

type ResampleKernel = Exclude<keyof KernelEnum, 'nearest'>;

/** Number of rows between two checks of the deadline. */
const ROWS_PER_DEADLINE_CHECK = 64;

const sinc = (x: number) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const lanczos = (lobes: number) => (x: number) => sinc(x) * sinc(x / lobes);
/** The family of splines of Mitchell and Netravali (1988). */
const spline = (b: number, c: number) => (x: number) =>
  x < 1
    ? ((12 - 9 * b - 6 * c) * x ** 3 + (-18 + 12 * b + 6 * c) * x ** 2 + (6 - 2 * b)) / 6
    : ((-b - 6 * c) * x ** 3 + (6 * b + 30 * c) * x ** 2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6;

interface KernelWeights {
  /** Radius of the kernel in pixels of the smaller picture. */
  radius: number;
  /** The weight at a distance of 0 to `radius`. */
  weight(distance: number): number;
}

const RESAMPLE_KERNELS: Partial<Record<ResampleKernel, KernelWeights>> = {
  linear: { radius: 1, weight: (x) => 1 - x },
  cubic: { radius: 2, weight: spline(0, 0.5) },
  mitchell: { radius: 2, weight: spline(1 / 3, 1 / 3) },
  lanczos2: { radius: 2, weight: lanczos(2) },
};
const LANCZOS3_KERNEL: KernelWeights = { radius: 3, weight: lanczos(3) };

/** The source pixels, along one side, that contribute to each result pixel. */
interface KernelTaps {
  /** Number of source pixels per result pixel. */
  count: number;
  /** Index of the first source pixel for each result pixel. */
  first: Int32Array;
  /** `count` weights per result pixel; their sum is 1. */
  weights: Float32Array;
}

/**
 * Enlarges a picture to a size that is not smaller on any side. It takes about 60 ms per megapixel of the result: two
 * multiplications per weight, channel and pixel.
 * @param checkDeadline is called regularly, and may throw to end the work.
 * @param part the part of the picture that is enlarged to that size. Pixels around it still contribute.
 */
export function enlargePixels<P extends Pixels | DeepPixels>(
  pixels: P,
  { width, height }: Size,
  kernel: ResampleKernel,
  checkDeadline: () => void,
  part: Box = { left: 0, top: 0, width: pixels.width, height: pixels.height * pixels.frames },
): P {
  const { data, ...facts } = pixels;
  const { channels } = facts;
  const maxSample = 256 ** data.BYTES_PER_ELEMENT - 1;
  const kernelWeights = RESAMPLE_KERNELS[kernel] ?? LANCZOS3_KERNEL;
  const across = tapsOf(facts.width, width, kernelWeights, [part.left, part.width]);
  const down = tapsOf(facts.height * facts.frames, height * facts.frames, kernelWeights, [
    part.top,
    part.height,
  ]);
  const rowLength = width * channels;
  const result = createSampleArray(data, rowLength * height * facts.frames);
  const rows = createRowResampler(pixels, across, down.count + 1, maxSample);
  const sum = new Float32Array(rowLength);
  for (let y = 0; y < height * facts.frames; y++) {
    if (y % ROWS_PER_DEADLINE_CHECK === 0) checkDeadline();
    sum.fill(0);
    for (let tap = 0; tap < down.count; tap++) {
      const weight = down.weights[y * down.count + tap] as number;
      if (weight !== 0) addRow(sum, rows((down.first[y] as number) + tap), weight);
    }
    if (channels === 4) unpremultiply(sum, maxSample);
    clampAndRound(sum, maxSample);
    result.set(sum, y * rowLength);
  }
  return { ...pixels, width, height, data: result };
}

/** Creates an array for `length` values of the same type. */
function createSampleArray({ BYTES_PER_ELEMENT: bytes }: Uint8Array | Uint16Array, length: number) {
  return bytes === 1 ? new Uint8Array(length) : new Uint16Array(length);
}

/** Clamps values to the range from 0 to `maxSample`, and adds a half, so that the later truncation rounds. */
function clampAndRound(row: Float32Array, maxSample: number): void {
  for (let at = 0; at < row.length; at++)
    row[at] = Math.max(0, Math.min(maxSample, (row[at] as number) + 0.5));
}

function tapsOf(
  from: number,
  to: number,
  { radius, weight }: KernelWeights,
  [start, length]: [start: number, length: number],
): KernelTaps {
  const count = Math.min(from, radius * 2 + 1);
  const first = new Int32Array(to);
  const weights = new Float32Array(to * count);
  for (let at = 0; at < to; at++) {
    const centre = start + ((at + 0.5) * length) / to - 0.5;
    const nearest = Math.max(0, Math.min(from - count, Math.ceil(centre - radius)));
    const raw = Array.from({ length: count }, (_, tap) => {
      const distance = Math.abs(nearest + tap - centre);
      return distance < radius ? weight(distance) : 0;
    });
    const total = raw.reduce((sum, one) => sum + one, 0);
    first[at] = nearest;
    for (const [tap, one] of raw.entries()) weights[at * count + tap] = one / total;
  }
  return { count, first, weights };
}

/**
 * Returns a function that resamples a row to the new width, with premultiplied colours. It caches the last rows,
 * because neighbouring result rows need the same source rows.
 */
function createRowResampler(
  { data, width, channels }: Pixels | DeepPixels,
  taps: KernelTaps,
  cachedRowCount: number,
  maxSample: number,
): (y: number) => Float32Array {
  const source = new Float32Array(width * channels);
  const slots = Array.from({ length: cachedRowCount }, () => ({
    y: -1,
    row: new Float32Array(taps.first.length * channels),
  }));
  return (y) => {
    const slot = slots[y % cachedRowCount] as (typeof slots)[number];
    if (slot.y === y) return slot.row;
    source.set(data.subarray(y * source.length, (y + 1) * source.length));
    if (channels === 4) premultiply(source, maxSample);
    resampleRow(source, slot.row, channels, taps);
    slot.y = y;
    return slot.row;
  };
}

function resampleRow(
  from: Float32Array,
  to: Float32Array,
  channels: number,
  { count, first, weights }: KernelTaps,
): void {
  for (let x = 0, at = 0; x < first.length; x++) {
    const start = (first[x] as number) * channels;
    for (let channel = 0; channel < channels; channel++, at++) {
      let sum = 0;
      for (let tap = 0; tap < count; tap++) {
        sum += (weights[x * count + tap] as number) * (from[start + tap * channels + channel] as number);
      }
      to[at] = sum;
    }
  }
}

function addRow(sum: Float32Array, row: Float32Array, weight: number): void {
  for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] as number) + weight * (row[at] as number);
}

function premultiply(row: Float32Array, maxSample: number): void {
  for (let at = 0; at < row.length; at += 4) scaleColours(row, at, (row[at + 3] as number) / maxSample);
}

function unpremultiply(row: Float32Array, maxSample: number): void {
  for (let at = 0; at < row.length; at += 4) {
    const alpha = row[at + 3] as number;
    scaleColours(row, at, alpha < 0.5 ? 0 : maxSample / alpha);
  }
}

function scaleColours(row: Float32Array, at: number, factor: number): void {
  for (let channel = at; channel < at + 3; channel++) row[channel] = (row[channel] as number) * factor;
}

/**
 * Scales to a size by nearest neighbour: each pixel becomes the source pixel in which its centre lies.
 * @param box the part of the scaled picture that is computed.
 */
export function scaleToNearest<P extends Pixels | DeepPixels>(
  pixels: P,
  scaled: Size,
  { left, top, width, height }: Box,
): P {
  const { data, ...facts } = pixels;
  const { channels, frames } = facts;
  const sourceOf = (at: number, from: number, to: number) => Math.floor(((at + 0.5) * from) / to);
  const columns = Int32Array.from({ length: width }, (_, x) => sourceOf(left + x, facts.width, scaled.width));
  const rows = Int32Array.from({ length: height }, (_, y) => sourceOf(top + y, facts.height, scaled.height));
  const result = createSampleArray(data, width * height * frames * channels);
  let to = 0;
  for (let frame = 0; frame < frames; frame++) {
    for (const row of rows) {
      const y = frame * facts.height + row;
      for (const column of columns) {
        const from = (y * facts.width + column) * channels;
        for (let channel = 0; channel < channels; channel++) result[to++] = data[from + channel] as number;
      }
    }
  }
  return { ...pixels, data: result, width, height };
}
