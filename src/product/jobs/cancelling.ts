import type { Completion } from './engine/completion.ts';
import { notCancellable } from './errors.ts';
import type { JobDocument, JobStatus } from './job.ts';
import type { Reading } from './reading.ts';
import type { JobsStore } from './store.ts';

const CANCELLABLE: readonly JobStatus[] = ['PENDING', 'PROCESSING'];

/**
 * Begins the cancellation of a job, for its account or an operator: no further item of it is claimed. The caller ends
 * the job, or else the next sweep.
 * @param stopClaims tells every process to claim no further items of the job.
 * @returns the job, CANCELLING; null when it has ended, or is being cancelled.
 */
export async function beginCancellation(
  jobs: JobsStore,
  { _id, status }: JobDocument,
  stopClaims: (jobId: string) => void,
): Promise<JobDocument | null> {
  if (!CANCELLABLE.includes(status)) return null;
  const open = { shown: 1, phase: 'open', status: { $in: CANCELLABLE } };
  const cancelling = await jobs.updateIf(_id, open, { $set: { status: 'CANCELLING' } });
  if (cancelling !== null) stopClaims(_id);
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
    const job = await reading.find(accountId, jobId);
    const cancelling = await beginCancellation(jobs, job, stopClaims);
    if (cancelling === null) throw notCancellable((await reading.find(accountId, jobId)).status);
    return completion.completeIfOver(cancelling);
  };
}
