import type { Completion } from './engine/completion.ts';
import { notCancellable } from './errors.ts';
import type { JobDocument } from './job.ts';
import type { Reading } from './reading.ts';
import type { JobsStore } from './store.ts';
import { JOB } from './transitions.ts';

/**
 * Begins the cancellation of a job, for its account or an operator: no further item of it is claimed. The caller ends
 * the job, or else the next sweep.
 * @param stopClaims tells every process to claim no further items of the job.
 * @returns the job, CANCELLING; null when it has ended, or is being cancelled.
 */
export async function beginCancellation(
  jobs: JobsStore,
  jobId: string,
  stopClaims: (jobId: string) => void,
): Promise<JobDocument | null> {
  const cancelling = await jobs.move(jobId, JOB.cancel);
  if (cancelling !== null) stopClaims(jobId);
  return cancelling;
}

/**
 * @returns the job, CANCELLED already when nothing of it was running.
 * @throws ApiError job_not_found; invalid_state when it has ended, or is being cancelled.
 */
export type Cancelling = (accountId: string, jobId: string) => Promise<JobDocument>;

/** Cancels jobs: unclaimed items are cancelled at once, running items are finished. */
export function createCancelling({
  jobs,
  reading,
  completion,
  stopClaims,
}: {
  jobs: JobsStore;
  reading: Reading;
  completion: Completion;
  stopClaims: (jobId: string) => void;
}): Cancelling {
  return async (accountId, jobId) => {
    await reading.find(accountId, jobId);
    const cancelling = await beginCancellation(jobs, jobId, stopClaims);
    if (cancelling === null) throw notCancellable((await reading.find(accountId, jobId)).status);
    return completion.completeIfOver(cancelling);
  };
}
