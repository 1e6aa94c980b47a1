import { mean } from '../suite.ts';

/** The estimate of a mean: of logarithms of ratios, or of differences. */
export interface Estimate {
  mean: number;
  standardError: number;
  freedom: number;
}

/** The difference of two sides in one figure; ratios are B over A. */
export interface SideDifference {
  /** Geometric mean of the ratios. */
  ratio: number;
  /** Bounds of the 95 % confidence interval. */
  low: number;
  high: number;
  /** Whether the runs show a difference, because the interval does not contain 1. */
  isShown: boolean;
}

/** Share of false alarms that is accepted. */
const FALSE_ALARM_RATE = 0.05;

/** The estimate from one value per pair, such as the logarithm of its ratio. Null below two values. */
export function pairedEstimate(values: readonly number[]): Estimate | null {
  if (values.length < 2) return null;
  const standardError = Math.sqrt(variance(values) / values.length);
  return { mean: mean(values), standardError, freedom: values.length - 1 };
}

/**
 * The estimate of the difference of two runs that were not interleaved (Welch). Slices of one run share the condition
 * of the machine, so its interval is too narrow rather than too wide; interleaved rounds are better.
 */
export function unpairedEstimate(a: readonly number[], b: readonly number[]): Estimate | null {
  if (a.length < 2 || b.length < 2) return null;
  const [partA, partB] = [variance(a) / a.length, variance(b) / b.length];
  const freedom = (partA + partB) ** 2 / (partA ** 2 / (a.length - 1) + partB ** 2 / (b.length - 1));
  return {
    mean: mean(b) - mean(a),
    standardError: Math.sqrt(partA + partB),
    freedom: Number.isNaN(freedom) ? 1 : freedom,
  };
}

/** The probability of a mean this far from 0 if both sides are alike. */
function chanceOf({ mean: centre, standardError, freedom }: Estimate): number {
  if (standardError === 0) return centre === 0 ? 1 : 0;
  return pValueOf(centre / standardError, freedom);
}

/**
 * The bounds of a confidence interval.
 * @param falseAlarms share of false alarms of this one interval: 0.05 for an interval of 95 %.
 */
export function boundsOf(
  { mean: centre, standardError, freedom }: Estimate,
  falseAlarms = FALSE_ALARM_RATE,
): [low: number, high: number] {
  const half = standardError === 0 ? 0 : quantileOf(falseAlarms, freedom) * standardError;
  return [centre - half, centre + half];
}

/**
 * Holm's correction (1979): decides which of many differences are significant, with at most 5 % false alarms in all of
 * them together.
 * @returns for each estimate the share of false alarms at which its interval is drawn, and whether it is significant.
 */
export function holmCorrection(
  estimates: readonly Estimate[],
): Array<{ falseAlarms: number; isShown: boolean }> {
  const chances = estimates.map(chanceOf);
  const order = chances.map((_, index) => index).sort((a, b) => (chances[a] ?? 1) - (chances[b] ?? 1));
  const judged = chances.map(() => ({ falseAlarms: FALSE_ALARM_RATE, isShown: false }));
  let isShown = true;
  order.forEach((index, rank) => {
    const falseAlarms = FALSE_ALARM_RATE / (order.length - rank);
    isShown &&= (chances[index] ?? 1) < falseAlarms;
    judged[index] = { falseAlarms, isShown };
  });
  return judged;
}

/** The 95 % interval of the mean log ratio of pairs, such as interleaved rounds. Null below two usable pairs. */
export function pairedDifference(
  pairs: ReadonlyArray<readonly [a: number, b: number]>,
): SideDifference | null {
  const estimate = pairedEstimate(pairs.filter(([a, b]) => a > 0 && b > 0).map(([a, b]) => Math.log(b / a)));
  if (estimate === null) return null;
  const [low, high] = boundsOf(estimate).map(Math.exp) as [number, number];
  return { ratio: Math.exp(estimate.mean), low, high, isShown: low > 1 || high < 1 };
}

function variance(values: readonly number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}

/** With more degrees of freedom, Student's t hardly changes any more. */
const MAX_DEGREES_OF_FREEDOM = 1_000;

/**
 * Two-sided p-value of Student's t for whole degrees of freedom, by the finite series of Abramowitz and Stegun,
 * 26.7.3 and 26.7.4.
 */
export function pValueOf(t: number, freedom: number): number {
  const degrees = Math.min(MAX_DEGREES_OF_FREEDOM, Math.max(1, Math.floor(freedom)));
  const angle = Math.atan(Math.abs(t) / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let power = isOdd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= ((power - 1) / power) * cosine ** 2;
    sum += term;
  }
  const inside = isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return Math.max(0, 1 - inside);
}

/** The t beyond which, on both sides together, a share of the distribution lies. */
export function quantileOf(share: number, freedom: number): number {
  let [low, high] = [0, 1];
  while (pValueOf(high, freedom) > share && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (pValueOf(middle, freedom) > share) low = middle;
    else high = middle;
  }
  return high;
}
