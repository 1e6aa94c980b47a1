import type { JobDocument } from './job.ts';
import type { JobsStore } from './store.ts';
import { JOB_TRANSITIONS } from './transitions.ts';

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
  const cancelling = await jobs.move(jobId, JOB_TRANSITIONS.cancel);
  if (cancelling !== null) stopClaims(jobId);
  return cancelling;
}
