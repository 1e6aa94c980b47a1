import type { Claimed, JobDocument, Outcome } from './job.ts';
import type { FailedWork } from './rules.ts';

/**
 * The result of the work on an item. An item that is put back, or that a store outage stopped, does not count as tried.
 */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: FailedWork }
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
export type Perform = (item: Claimed, job: JobDocument, signals: WorkSignals) => Promise<WorkResult>;

/** Thrown when the work is no longer wanted because the claim was lost. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** Thrown when the job is being cancelled, so that the item ends before any further work begins. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}
