import type { Pixels } from '../pixels/pixels.ts';

/** Weights of red, green and blue in the brightness (Rec. 709). */
export const LUMA_WEIGHTS = [0.2126, 0.7152, 0.0722] as const;

/**
 * Steps of the histogram, sixteen per 8-bit level, so that a percentile is not rounded to the levels of a single
 * colour.
 */
const STEPS_PER_LEVEL = 16;
const STEPS = 255 * STEPS_PER_LEVEL + 1;

/** The brightness of the pixels of a picture. */
export interface Brightness {
  /** The brightness, 0 to 255, below which the given share of the picture lies. The share is 0 to 1. */
  percentile(share: number): number;
  /** The mean brightness after `answer` has replaced each value of a channel, 0 to 255. */
  mean(answer: (value: number) => number): number;
}

/**
 * Measures the brightness of pixels, weighted by their opacity, because invisible pixels are neither dark nor light.
 */
export function measureBrightness({ data, channels }: Pixels): Brightness {
  const histogram = new Float64Array(STEPS);
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
    percentile: (share) => stepAt(histogram, share * total) / STEPS_PER_LEVEL,
    mean: (answer) => values.reduce((sum, weight, value) => sum + weight * answer(value), 0) / total,
  };
}

/** The step at which the cumulated histogram reaches a weight. */
function stepAt(histogram: Float64Array, weight: number): number {
  let sum = 0;
  for (const [step, here] of histogram.entries()) {
    sum += here;
    if (here > 0 && sum >= weight) return step;
  }
  return STEPS - 1;
}
