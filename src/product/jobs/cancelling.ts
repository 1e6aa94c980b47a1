import type { Completion } from './engine/completion.ts';
import { notCancellable } from './errors.ts';
import type { JobDocument } from './job.ts';
import type { Reading } from './reading.ts';
import { isCancellable } from './rules.ts';
import type { JobsStore } from './store.ts';

/**
 * Begins the cancellation of a job, for its account and for an operator alike: no item of it is handed out any more.
 * Its end is the caller's, or the next sweep's.
 * @param stopClaims makes every process claim no more items of the job.
 * @returns the job, CANCELLING; null when it has ended, or is being cancelled.
 */
export async function beginCancellation(
  jobs: JobsStore,
  { _id, status }: JobDocument,
  stopClaims: (jobId: string) => void,
): Promise<JobDocument | null> {
  if (!isCancellable(status)) return null;
  const open = { shown: 1, phase: 'open', status: { $in: ['PENDING', 'PROCESSING'] } };
  const cancelling = await jobs.updateIf(_id, open, { $set: { status: 'CANCELLING' } });
  if (cancelling !== null) stopClaims(_id);
  return cancelling;
}

/**
 * @returns the job, CANCELLED already when nothing of it was running.
 * @throws ApiError job_not_found; invalid_state when it has ended, or is being cancelled.
 */
export type Cancelling = (accountId: string, jobId: string) => Promise<JobDocument>;

/** Stops jobs: what was not handed out is cancelled at once, what runs is let finish. */
export function createCancelling(options: {
  jobs: JobsStore;
  reading: Reading;
  completion: Completion;
  stopClaims: (jobId: string) => void;
}): Cancelling {
  const { jobs, reading, completion, stopClaims } = options;

  return async (accountId, jobId) => {
    const job = await reading.find(accountId, jobId);
    const cancelling = await beginCancellation(jobs, job, stopClaims);
    if (cancelling === null) throw notCancellable((await reading.find(accountId, jobId)).status);
    return completion.completeIfOver(cancelling);
  };
}
