/** The difference of two sides in one figure; ratios are B over A. */
export interface Difference {
  /** Geometric mean of the ratios. */
  ratio: number;
  /** Bounds of the 95 % confidence interval. */
  low: number;
  high: number;
  /** False when the interval contains 1: the runs show no difference. */
  isShown: boolean;
}

/**
 * Quantiles of Student's t at 97.5 %, by degrees of freedom from 1 to 30; beyond 30 the normal distribution's is close
 * enough. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
 */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const NORMAL_QUANTILE = 1.96;

/** The interval of the mean log ratio of pairs of one run, such as interleaved rounds. Null below two usable pairs. */
export function pairedDifference(pairs: ReadonlyArray<readonly [a: number, b: number]>): Difference | null {
  const logs = pairs.filter(([a, b]) => a > 0 && b > 0).map(([a, b]) => Math.log(b / a));
  if (logs.length < 2) return null;
  const half = quantile(logs.length - 1) * Math.sqrt(variance(logs) / logs.length);
  return differenceOf(mean(logs), half);
}

/**
 * The difference of two runs that were not interleaved: Welch's interval of the difference of the mean logarithms of
 * their slices. Slices of one run share the condition of the machine, so this interval is too narrow rather than too
 * wide; interleaved rounds are better.
 */
export function unpairedDifference(a: readonly number[], b: readonly number[]): Difference | null {
  const logsA = a.filter((value) => value > 0).map(Math.log);
  const logsB = b.filter((value) => value > 0).map(Math.log);
  if (logsA.length < 2 || logsB.length < 2) return null;
  const [partA, partB] = [variance(logsA) / logsA.length, variance(logsB) / logsB.length];
  const freedom = (partA + partB) ** 2 / (partA ** 2 / (logsA.length - 1) + partB ** 2 / (logsB.length - 1));
  const half = quantile(Number.isNaN(freedom) ? 1 : freedom) * Math.sqrt(partA + partB);
  return differenceOf(mean(logsB) - mean(logsA), half);
}

function differenceOf(centre: number, half: number): Difference {
  const [low, high] = [Math.exp(centre - half), Math.exp(centre + half)];
  return { ratio: Math.exp(centre), low, high, isShown: low > 1 || high < 1 };
}

function quantile(freedom: number): number {
  return T_QUANTILES[Math.max(1, Math.floor(freedom)) - 1] ?? NORMAL_QUANTILE;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}
