import type { Claimed, JobDocument, Outcome } from './job.ts';
import type { FailedWork } from './rules.ts';

/** The result of the work on an item. An item that is put back, or that a store outage stopped, counts as not tried. */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: FailedWork }
  | { putBackMs: number }
  | { outage: unknown };

/**
 * Performs the work on an item. It resolves with the outcome, or with a failure that says whether a retry may succeed;
 * it never rejects.
 */
export type Perform = (item: Claimed, job: JobDocument, signal: AbortSignal) => Promise<WorkResult>;

/** The work is no longer wanted: the claim was lost. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}
