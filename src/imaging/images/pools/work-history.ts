import type { Clock } from '../../../platform/clock.ts';

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

/** The minute slides in slices. */
const SLICE_MS = 10_000;
const SLICES = 6;
/** How long an account counts as present after its latest work arrived. */
const PRESENT_MS = 1_000;

/**
 * The CPU time that workers of this process spent on the calls of each account in the last minute. Time is counted and
 * not money: a refused, failed or late pass costs the caller nothing, but the host as much as any other. Items of jobs
 * are not counted, because jobs give way by themselves.
 */
export class WorkerTime {
  readonly #clock: Clock;
  readonly #budgetMs: () => number;
  /** Milliseconds of each account, by the number of the slice. */
  readonly #slices = new Map<number, Map<string, number>>();
  /** The two accounts whose work arrived last. */
  #latest = { accountId: '', atMs: Number.NEGATIVE_INFINITY };
  #before = this.#latest;

  /** @param budgetMs the time of an account in a minute. It is read each time, because an operator may change it. */
  constructor({ clock, budgetMs }: { clock: Clock; budgetMs: () => number }) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
  }

  /** Records that work of an account has arrived. */
  arrived(accountId: string): void {
    if (this.#latest.accountId !== accountId) this.#before = this.#latest;
    this.#latest = { accountId, atMs: this.#clock.elapsedMs() };
  }

  /** Records time that was spent on a call, whatever its answer was. */
  spent(accountId: string, cpuMs: number): void {
    const number = this.#sliceNow();
    const slice = this.#slices.get(number) ?? new Map<string, number>();
    this.#slices.set(number, slice.set(accountId, (slice.get(accountId) ?? 0) + cpuMs));
  }

  /**
   * Whether an account has used up its budget while other accounts are served, too: it then gives way to them. An
   * account that has the process for itself never does.
   */
  readonly isSpent = (accountId: string): boolean =>
    this.#usedMs(accountId) > this.#budgetMs() && !this.#isAlone(accountId);

  #sliceNow(): number {
    return Math.floor(this.#clock.elapsedMs() / SLICE_MS);
  }

  #usedMs(accountId: string): number {
    const oldest = this.#sliceNow() - SLICES;
    let usedMs = 0;
    for (const [number, ofAccounts] of this.#slices) {
      if (number <= oldest) this.#slices.delete(number);
      else usedMs += ofAccounts.get(accountId) ?? 0;
    }
    return usedMs;
  }

  #isAlone(accountId: string): boolean {
    const other = this.#latest.accountId === accountId ? this.#before : this.#latest;
    return this.#clock.elapsedMs() - other.atMs > PRESENT_MS;
  }
}
