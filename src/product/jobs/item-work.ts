import type { Claimed, JobDocument, Outcome } from './job.ts';
import type { FailedWork } from './rules.ts';

/** The result of the work on an item. An item that is put back, or that a store outage stopped, counts as not tried. */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: FailedWork }
  | { putBackMs: number }
  | { outage: unknown };

/** When the work on an item is no longer wanted. */
export interface WorkSignals {
  /** Ends all of it: the process stops. */
  signal: AbortSignal;
  /** Ends its waits, and not what a worker has begun: the job is being cancelled. Its reason is `Stopped`. */
  waitSignal: AbortSignal;
}

/**
 * Performs the work on an item. It resolves with the outcome, or with a failure that says whether a retry may succeed;
 * it never rejects.
 */
export type Perform = (item: Claimed, job: JobDocument, signals: WorkSignals) => Promise<WorkResult>;

/** The work is no longer wanted: the claim was lost. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The job is being cancelled: the item is given up before any further work begins. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}
