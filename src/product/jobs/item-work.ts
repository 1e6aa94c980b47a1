import type { ClaimedItem, ItemOutcome, JobDocument } from './job.ts';
import type { ItemWorkFailure } from './rules.ts';

/**
 * The result of the work on an item. An item that is put back, or that a store outage stopped, does not count as tried.
 */
export type ItemWorkResult =
  | { outcome: ItemOutcome }
  | { failure: ItemWorkFailure }
  | { putBackMs: number }
  | { outage: unknown };

/** Signals that the work on an item is no longer wanted. */
export interface WorkSignals {
  /** Ends all of it: the process stops. */
  signal: AbortSignal;
  /**
   * Ends the waits of the work, but not what a worker has begun, because the job is being cancelled. Its reason is
   * `Stopped`.
   */
  waitSignal: AbortSignal;
}

/**
 * Performs the work on an item. It resolves with the outcome, or with a failure that says whether a retry may succeed.
 * It never rejects.
 */
export type PerformItemWork = (
  item: ClaimedItem,
  job: JobDocument,
  signals: WorkSignals,
) => Promise<ItemWorkResult>;

/** Thrown when the work is no longer wanted because the claim was lost. */
export class ItemAbandonedError extends Error {
  override readonly name = 'ItemAbandonedError';
}

/** Thrown when the job is being cancelled, so that the item ends before any further work begins. */
export class ItemStoppedError extends Error {
  override readonly name = 'ItemStoppedError';
}
