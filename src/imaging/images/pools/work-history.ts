import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../platform/clock.ts';

/** The shortest pass whose time is recorded. A shorter one spends most of its time on other things than pixels. */
const MIN_RECORDED_MS = 25;
const MIN_CORRECTION_FACTOR = 0.4;
/** Limits how far a few deliberately slow pictures can raise the estimates of others of the same kind. */
const MAX_CORRECTION_FACTOR = 4;
/** The weight of the latest pass if it was slower than expected. A few quick passes outweigh a slow one. */
const SLOWER_SAMPLE_WEIGHT = 0.5;
const QUICKER_SAMPLE_WEIGHT = 0.25;
/** The number of kinds that are remembered. The least recently recorded kind is forgotten first. */
const MAX_WORK_KINDS = 1_000;

/**
 * The ratio of measured to estimated CPU time of each kind of pass. Photographs take 0.15 to 1.4 of the estimate,
 * depending on decoder, steps and encoder. Without this correction, most large photographs would wait for the few
 * processes of long work.
 */
export class EstimateCorrection {
  readonly #factors = new LRUCache<string, number>({ max: MAX_WORK_KINDS });

  /** The estimate, corrected by the recorded passes of this kind. */
  correctEstimate(kind: string, estimatedMs: number): number {
    return this.#factorOf(kind) * estimatedMs;
  }

  record(kind: string, estimatedMs: number, tookMs: number): void {
    if (Math.max(estimatedMs, tookMs) < MIN_RECORDED_MS) return;
    const factor = this.#factorOf(kind);
    const measuredFactor = Math.min(
      MAX_CORRECTION_FACTOR,
      Math.max(MIN_CORRECTION_FACTOR, tookMs / estimatedMs),
    );
    const weight = measuredFactor > factor ? SLOWER_SAMPLE_WEIGHT : QUICKER_SAMPLE_WEIGHT;
    this.#factors.set(kind, factor + weight * (measuredFactor - factor));
  }

  #factorOf(kind: string): number {
    return this.#factors.peek(kind) ?? 1;
  }
}

/** The length of a time slice. The budget of a minute is counted over six slices. */
const TIME_SLICE_MS = 10_000;
const TIME_SLICE_COUNT = 6;
/** The time for which an account counts as present after its latest work has arrived. */
const ACCOUNT_ACTIVE_WINDOW_MS = 1_000;

/**
 * The CPU time that workers of this process spent on the calls of each account in the last minute. Time is counted
 * instead of money: a refused, failed or late pass costs the caller nothing, but costs the host its CPU time.
 * Items of jobs are not counted, because jobs yield anyway.
 */
export class AccountWorkerTime {
  readonly #clock: Clock;
  readonly #budgetMs: () => number;
  /** The CPU milliseconds of each account in each time slice, by the number of the slice. */
  readonly #slices = new Map<number, Map<string, number>>();
  /** The latest arrival of work, and the latest one of another account. */
  #latestArrival = { accountId: '', atMs: Number.NEGATIVE_INFINITY };
  #arrivalBefore = this.#latestArrival;

  /**
   * @param budgetMs returns the CPU milliseconds per minute that an account may use. It is called each time, because an
   * operator may change the budget.
   */
  constructor({ clock, budgetMs }: { clock: Clock; budgetMs: () => number }) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
  }

  /** Records that work of an account has arrived. */
  recordArrival(accountId: string): void {
    if (this.#latestArrival.accountId !== accountId) this.#arrivalBefore = this.#latestArrival;
    this.#latestArrival = { accountId, atMs: this.#clock.elapsedMs() };
  }

  /** Records time that was spent on a call, whatever its result. */
  recordCpuTime(accountId: string, cpuMs: number): void {
    const number = this.#sliceNow();
    const slice = this.#slices.get(number) ?? new Map<string, number>();
    this.#slices.set(number, slice.set(accountId, (slice.get(accountId) ?? 0) + cpuMs));
  }

  /**
   * Whether an account has used up its budget while other accounts are served too. It then yields to them. An account
   * that has the process to itself never yields.
   */
  readonly mustYield = (accountId: string): boolean =>
    this.#usedMs(accountId) > this.#budgetMs() && !this.isOnlyActiveAccount(accountId);

  /** Whether no work of another account has arrived in the last second. */
  isOnlyActiveAccount(accountId: string): boolean {
    const other = this.#latestArrival.accountId === accountId ? this.#arrivalBefore : this.#latestArrival;
    return this.#clock.elapsedMs() - other.atMs > ACCOUNT_ACTIVE_WINDOW_MS;
  }

  #sliceNow(): number {
    return Math.floor(this.#clock.elapsedMs() / TIME_SLICE_MS);
  }

  #usedMs(accountId: string): number {
    const oldest = this.#sliceNow() - TIME_SLICE_COUNT;
    let usedMs = 0;
    for (const [number, ofAccounts] of this.#slices) {
      if (number <= oldest) this.#slices.delete(number);
      else usedMs += ofAccounts.get(accountId) ?? 0;
    }
    return usedMs;
  }
}
