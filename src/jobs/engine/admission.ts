import type { JobDocument, JobType } from '../job.ts';
import type { JobsStore } from '../store.ts';

/**
 * Lets waiting jobs run: of an account and type so many at once, the one that has waited longest first. The places are a
 * unique index over the running jobs themselves, so that there is nothing to count and nothing to give back.
 */
export function createJobAdmission(jobs: JobsStore, onStarted: (job: JobDocument) => void) {
  return {
    /** Starts as many waiting jobs as there are places. */
    async startWaiting(accountId: string, type: JobType): Promise<void> {
      for (;;) {
        const oldest = await jobs.oldestWaiting(accountId, type);
        if (oldest === null) return;
        const started = await jobs.start(oldest);
        if (started !== null) onStarted(started);
        else if ((await jobs.get(oldest._id))?.status === 'PENDING') return;
      }
    },
  };
}

export type JobAdmission = ReturnType<typeof createJobAdmission>;
