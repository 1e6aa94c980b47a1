import type { Claimed, JobDocument, Outcome } from './job.ts';
import type { Failure } from './rules.ts';

/** The result of the work on an item. An item that is put back, or for which a store was away, counts as not tried. */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: Failure }
  | { putBackMs: number }
  | { outage: unknown };

/**
 * The work itself: from an item to its outcome, or a failure that says whether it may pass. Never rejects.
 * @param accepted resolves when the job is accepted: before that, nothing may have an effect outside this process.
 *   Rejects when the
 *   work is not wanted after all. Absent: the job is accepted.
 */
export type Perform = (
  item: Claimed,
  job: JobDocument,
  signal: AbortSignal,
  accepted?: Promise<unknown>,
) => Promise<WorkResult>;

/** Nobody waits for this work any more: the claim was lost, its process ends, or there is no job after all. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}
