import type { Ending } from './engine/ending.ts';
import { notCancellable } from './errors.ts';
import type { JobDocument } from './job.ts';
import type { Reading } from './reading.ts';
import { isCancellable } from './rules.ts';
import type { JobsStore } from './store.ts';

/** Stops jobs: what was not handed out is cancelled at once, what runs is let finish. */
export function createCancelling(options: {
  jobs: JobsStore;
  reading: Reading;
  ending: Ending;
  /** Tells every process to take no more items of a job. */
  stopClaims: (jobId: string) => void;
}) {
  const { jobs, reading, ending, stopClaims } = options;

  /**
   * @returns the job, CANCELLED already when nothing of it was running.
   * @throws ApiError job_not_found; invalid_state when it has ended, or is being cancelled.
   */
  return async (accountId: string, jobId: string): Promise<JobDocument> => {
    const open = { accountId, shown: 1, phase: 'open', status: { $in: ['PENDING', 'PROCESSING'] } };
    const job = await reading.find(accountId, jobId);
    const cancelling = isCancellable(job.status)
      ? await jobs.change(jobId, open, { $set: { status: 'CANCELLING' } })
      : null;
    if (cancelling === null) throw notCancellable((await reading.find(accountId, jobId)).status);
    stopClaims(jobId);
    return ending.endIfOver(cancelling);
  };
}

export type Cancelling = ReturnType<typeof createCancelling>;
