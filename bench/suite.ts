/** One measured line of a suite. */
export type SuiteRow = Record<string, string | number>;

/** Points of a plot, in the order of a parameter such as the effort. */
export interface PlotData {
  title: string;
  xLabel: string;
  yLabel: string;
  points: ReadonlyArray<{ x: number; y: number }>;
}

export interface SuiteResult {
  /** The two sides that were compared, and the method, in a sentence or two. */
  method: string;
  rows: SuiteRow[];
  /** Plots for the page; absent if a suite has none. */
  curves?: readonly PlotData[];
  /** Aims of the suite that this run missed, a sentence each; absent if a suite has none. */
  missed?: readonly string[];
}

/** A suite is a module that runs by itself and returns its rows. */
export interface Suite {
  run(): Promise<SuiteResult>;
}

/** Milliseconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which a share of the values lies (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
