import type { Claimed, JobDocument, Outcome } from '../job.ts';
import type { Bill, Failure } from '../rules.ts';

/** A failure, and what was used up before it. */
export interface FailedWork extends Failure {
  bill?: Bill;
  failedStep?: number;
  /** Nothing of it was begun: there is no run to pay for. */
  isUnstarted?: boolean;
}

/** What came of an item; one that is put back, or for which a store was away, was not tried at all. */
export type WorkResult =
  | { outcome: Outcome }
  | { failure: FailedWork }
  | { putBackMs: number }
  | { outage: unknown };

/**
 * The work itself: from an item to its outcome, or a failure that says whether it may pass. Never rejects.
 * @param shown resolves when the job is shown: nothing may have an effect outside this process before. Rejects when the work is not
 *   wanted after all. Absent: the job is shown.
 */
export type Perform = (
  item: Claimed,
  job: JobDocument,
  signal: AbortSignal,
  shown?: Promise<unknown>,
) => Promise<WorkResult>;

/** Nobody waits for this work any more: the claim was lost, its process ends, or there is no job after all. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}
