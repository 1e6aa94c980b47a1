/** The time of shorter passes is mostly not spent on pixels. */
const SHORTEST_MS = 25;
const LOWEST = 0.4;
/** Bounds the effect of a few pictures that were made to be slow on every small one of the same kind. */
const HIGHEST = 4;
/** Weights of the latest pass: one that was slower than estimated is a warning, one that was quicker proves little. */
const SLOWER_WEIGHT = 0.5;
const QUICKER_WEIGHT = 0.05;

/**
 * The ratio of measured to estimated time of each kind of pass on this host. Six photographs took 0.15 to 1.07 of the
 * estimate, by encoder (GIF about 0.45): without the correction a GIF of 1.2 to 2.5 megapixels, which takes less than
 * 2 s, would wait for the few processes of heavy work.
 */
interface Pace {
  /** The estimate, corrected by the recorded passes of this kind. */
  corrected(kind: string, estimatedMs: number): number;
  record(kind: string, estimatedMs: number, tookMs: number): void;
}

export function createPace(): Pace {
  const factors = new Map<string, number>();
  const factorOf = (kind: string) => factors.get(kind) ?? 1;
  return {
    corrected: (kind, estimatedMs) => factorOf(kind) * estimatedMs,
    record(kind, estimatedMs, tookMs) {
      if (Math.max(estimatedMs, tookMs) < SHORTEST_MS) return;
      const known = factorOf(kind);
      const seen = Math.min(HIGHEST, Math.max(LOWEST, tookMs / estimatedMs));
      const weight = seen > known ? SLOWER_WEIGHT : QUICKER_WEIGHT;
      factors.set(kind, known + weight * (seen - known));
    },
  };
}
