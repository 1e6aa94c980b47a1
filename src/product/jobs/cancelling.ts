import type { JobDocument } from './job.ts';
import type { JobsStore } from './store.ts';
import { JOB_TRANSITIONS } from './transitions.ts';

/**
 * Begins the cancellation of a job, for its account or an operator. No further item of the job is claimed. The caller,
 * or the next sweep, must end the job.
 * @param stopClaims tells every process to claim no further items of the job.
 * @returns the job, CANCELLING; null when it has ended, or is already being cancelled.
 */
export async function beginCancellation(
  jobs: JobsStore,
  jobId: string,
  stopClaims: (jobId: string) => void,
): Promise<JobDocument | null> {
  const cancelling = await jobs.move(jobId, JOB_TRANSITIONS.cancel);
  if (cancelling !== null) stopClaims(jobId);
  return cancelling;
}
