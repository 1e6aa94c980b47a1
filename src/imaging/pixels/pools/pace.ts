/** Shorter passes are mostly about what is not their pixels. */
const SHORTEST_MS = 25;
const LOWEST = 0.4;
/** No few pictures made to be slow send every small one of the same kind elsewhere. */
const HIGHEST = 4;
/**
 * How much the latest pass weighs: one that took longer than thought is a warning, one that was quicker proves little.
 */
const SLOWER_WEIGHT = 0.5;
const QUICKER_WEIGHT = 0.05;

/**
 * How long passes of a kind take on this host beside what they are estimated to take. Six photographs took 0.15 to 1.07
 * of it, by encoder (GIF about 0.45): without the correction a GIF of 1.2 to 2.5 megapixels, which takes less than 2 s,
 * would wait for the few processes of heavy work.
 */
interface Pace {
  /** The estimate, corrected by what was seen of this kind. */
  corrected(kind: string, estimatedMs: number): number;
  saw(kind: string, estimatedMs: number, tookMs: number): void;
}

export function createPace(): Pace {
  const factors = new Map<string, number>();
  const factorOf = (kind: string) => factors.get(kind) ?? 1;
  return {
    corrected: (kind, estimatedMs) => factorOf(kind) * estimatedMs,
    saw(kind, estimatedMs, tookMs) {
      if (Math.max(estimatedMs, tookMs) < SHORTEST_MS) return;
      const known = factorOf(kind);
      const seen = Math.min(HIGHEST, Math.max(LOWEST, tookMs / estimatedMs));
      const weight = seen > known ? SLOWER_WEIGHT : QUICKER_WEIGHT;
      factors.set(kind, known + weight * (seen - known));
    },
  };
}
