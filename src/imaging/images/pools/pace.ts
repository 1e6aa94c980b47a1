/** The time of shorter passes is mostly not spent on pixels. */
const MIN_MEASURED_MS = 25;
const MIN_FACTOR = 0.4;
/** Bounds the effect of a few pictures that were made to be slow on the others of the same kind. */
const MAX_FACTOR = 4;
/** Weights of the latest pass: a few quick ones make up for one that was slower than estimated. */
const SLOWER_WEIGHT = 0.5;
const QUICKER_WEIGHT = 0.25;
/** Kinds that are remembered; the one that was recorded least recently is forgotten first. */
const MAX_KINDS = 1_000;

/**
 * The ratio of measured to estimated CPU time of each kind of pass. Photographs take 0.15 to 1.4 of the estimate, by
 * decoder, steps and encoder: without the correction most of those that are large would wait for the few processes of
 * long work.
 */
export class Pace {
  /** The least recently recorded kind first. */
  readonly #factors = new Map<string, number>();

  /** The estimate, corrected by the recorded passes of this kind. */
  corrected(kind: string, estimatedMs: number): number {
    return this.#factorOf(kind) * estimatedMs;
  }

  record(kind: string, estimatedMs: number, tookMs: number): void {
    if (Math.max(estimatedMs, tookMs) < MIN_MEASURED_MS) return;
    const known = this.#factorOf(kind);
    const seen = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, tookMs / estimatedMs));
    const weight = seen > known ? SLOWER_WEIGHT : QUICKER_WEIGHT;
    this.#factors.delete(kind);
    this.#factors.set(kind, known + weight * (seen - known));
    const [oldest] = this.#factors.keys();
    if (this.#factors.size > MAX_KINDS && oldest !== undefined) this.#factors.delete(oldest);
  }

  #factorOf(kind: string): number {
    return this.#factors.get(kind) ?? 1;
  }
}
