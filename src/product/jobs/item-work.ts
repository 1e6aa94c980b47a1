import type { Claimed, JobDocument, Outcome } from './job.ts';
import type { Failure } from './rules.ts';

/** The result of the work on an item. An item that is put back, or that a store outage stopped, counts as not tried. */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: Failure }
  | { putBackMs: number }
  | { outage: unknown };

/**
 * Performs the work on an item. It resolves with the outcome, or with a failure that says whether a retry may succeed;
 * it never rejects.
 * @param accepted resolves when the job is accepted; before that, the work has no effect outside this process. Rejects
 *   when the work is not wanted. Absent: the job is accepted.
 */
export type Perform = (
  item: Claimed,
  job: JobDocument,
  signal: AbortSignal,
  accepted?: Promise<unknown>,
) => Promise<WorkResult>;

/** The work is no longer wanted: the claim was lost, the process ends, or the job was refused. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}
