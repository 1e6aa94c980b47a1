import type { Size } from '../../formats/size.ts';
import { LINEAR_LIGHT_BY_SRGB_VALUE, linearToSrgb } from '../colour/colour.ts';
import type { Pixels } from '../pixels/pixels.ts';

/** Weights of red, green and blue in the brightness (Rec. 709). */
export const LUMA_WEIGHTS = [0.2126, 0.7152, 0.0722] as const;

/** The steps of the histogram per 8-bit level. They are finer than the levels, so that percentiles are too. */
const STEPS_PER_LEVEL = 16;
const HISTOGRAM_STEPS = 255 * STEPS_PER_LEVEL + 1;

/** The brightness of the pixels of a picture. */
export interface Brightness {
  /** The brightness, 0 to 255, below which a share of the picture lies. The share is 0 to 1. */
  percentile(share: number): number;
  /**
   * The mean brightness, 0 to 255, that the picture would have if each channel value were replaced by what `convert`
   * returns for it.
   */
  mean(convert: (value: number) => number): number;
}

/**
 * Measures the brightness of pixels, weighted by their opacity, because invisible pixels are neither dark nor light.
 */
export function measureBrightness({ data, channels }: Pixels): Brightness {
  const histogram = new Float64Array(HISTOGRAM_STEPS);
  // The mean brightness is a weighted sum over channel values. This array holds the weight of each value.
  const values = new Float64Array(256);
  const [red, green, blue] = LUMA_WEIGHTS;
  const [second, third] = channels === 1 ? [0, 0] : [1, 2];
  let total = 0;
  for (let at = 0; at < data.length; at += channels) {
    const r = data[at] as number;
    const g = data[at + second] as number;
    const b = data[at + third] as number;
    const weight = channels === 4 ? (data[at + 3] as number) : 255;
    const step = Math.round((red * r + green * g + blue * b) * STEPS_PER_LEVEL);
    histogram[step] = (histogram[step] as number) + weight;
    values[r] = (values[r] as number) + red * weight;
    values[g] = (values[g] as number) + green * weight;
    values[b] = (values[b] as number) + blue * weight;
    total += weight;
  }
  return {
    percentile: (share) => histogramStepAt(histogram, share * total) / STEPS_PER_LEVEL,
    mean: (convert) => values.reduce((sum, weight, value) => sum + weight * convert(value), 0) / total,
  };
}

/** The step at which the cumulated histogram reaches a weight. */
function histogramStepAt(histogram: Float64Array, weight: number): number {
  let sum = 0;
  for (const [step, here] of histogram.entries()) {
    sum += here;
    if (here > 0 && sum >= weight) return step;
  }
  return HISTOGRAM_STEPS - 1;
}

/** A picture of one 8-bit channel. */
interface GreyPixels extends Size {
  data: Uint8Array;
}

/** The contribution of each channel value to the luminance, which is 0 to 255. */
const [RED_LUMINANCE, GREEN_LUMINANCE, BLUE_LUMINANCE] = LUMA_WEIGHTS.map((weight) =>
  LINEAR_LIGHT_BY_SRGB_VALUE.map((light) => 255 * weight * light),
) as [Float64Array, Float64Array, Float64Array];
/**
 * The grey of each integer luminance, and the difference to the next grey, because libvips interpolates between them.
 */
const GREY_BY_LUMINANCE = Float64Array.from({ length: 256 }, (_, luminance) =>
  Math.round(255 * linearToSrgb(luminance / 255)),
);
const NEXT_GREY_DIFFERENCE = GREY_BY_LUMINANCE.map(
  (grey, luminance) => (GREY_BY_LUMINANCE[luminance + 1] ?? grey) - grey,
);

/**
 * Converts 8-bit sRGB pixels to grey as libvips does (`b-w`). Transparent pixels count like all others. libvips
 * computes in single precision, so four pixels of a million differ by one step. A libvips pipeline would cost more for
 * the transfer of pixels than for the work.
 */
export function greyPixelsOf(pixels: Uint8Array, channels: 3 | 4, { width, height }: Size): GreyPixels {
  const data = new Uint8Array(width * height);
  for (let at = 0, to = 0; to < data.length; at += channels, to++) {
    const luminance =
      (RED_LUMINANCE[pixels[at] ?? 0] ?? 0) +
      (GREEN_LUMINANCE[pixels[at + 1] ?? 0] ?? 0) +
      (BLUE_LUMINANCE[pixels[at + 2] ?? 0] ?? 0);
    const wholeLuminance = luminance | 0;
    data[to] =
      (GREY_BY_LUMINANCE[wholeLuminance] ?? 0) +
      (NEXT_GREY_DIFFERENCE[wholeLuminance] ?? 0) * (luminance - wholeLuminance) +
      0.5;
  }
  return { data, width, height };
}

/** The divisor of the Laplacian, which libvips uses too. */
const LAPLACIAN_DIVISOR = 9;

/**
 * Shannon entropy of the grey values in bits: 0 for a single value, 8 for an even distribution. It equals the entropy
 * of sharp's stats() to six digits.
 */
export function entropyOf({ data }: GreyPixels): number {
  const counts = new Uint32Array(256);
  // The loop uses an index, because an iterator over the pixels takes ten times as long.
  for (let at = 0; at < data.length; at++) {
    const value = data[at] ?? 0;
    counts[value] = (counts[value] ?? 0) + 1;
  }
  let bits = 0;
  for (const count of counts) {
    const share = count / data.length;
    if (count > 0) bits -= share * Math.log2(share);
  }
  // The sum for a single value is -0, which Math.abs turns into 0.
  return Math.abs(bits);
}

/**
 * Standard deviation of the Laplacian (0 1 0, 1 -4 1, 0 1 0), divided by nine. Edge pixels are repeated outwards. It
 * equals the sharpness of sharp's stats(), which also computes other statistics and takes four times as long.
 */
export function sharpnessOf({ data, width, height }: GreyPixels): number {
  let sum = 0;
  let squares = 0;
  for (let y = 0; y < height; y++) {
    const row = y * width;
    const above = Math.max(0, y - 1) * width;
    const below = Math.min(height - 1, y + 1) * width;
    let left = data[row] ?? 0;
    let current = left;
    for (let x = 0; x < width; x++) {
      const right = x + 1 < width ? (data[row + x + 1] ?? 0) : current;
      const edge = left + right + (data[above + x] ?? 0) + (data[below + x] ?? 0) - 4 * current;
      sum += edge;
      squares += edge * edge;
      left = current;
      current = right;
    }
  }
  const count = width * height;
  if (count < 2) return 0;
  return Math.sqrt(Math.abs(squares - (sum * sum) / count) / (count - 1)) / LAPLACIAN_DIVISOR;
}
