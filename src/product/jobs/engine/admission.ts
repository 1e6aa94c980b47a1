import type { JobDocument, JobType } from '../job.ts';
import type { JobsStore } from '../store.ts';
import { JOB } from '../transitions.ts';
import type { Preclaim } from './preclaim.ts';

/**
 * Lets jobs run: a fixed number per account and type at once, the one that has waited longest first. The slots are a
 * unique index over the running jobs themselves, so that there is nothing to count and nothing to give back.
 */
export interface JobAdmission {
  /** Starts as many waiting jobs as there are slots. */
  startWaiting(accountId: string, type: JobType): Promise<void>;
  /** Whether a job of this account and type waits for a slot. */
  hasWaiting(accountId: string, type: JobType): Promise<boolean>;
  /**
   * Shows a hidden job, and has it run as soon as it is its turn.
   * @param turn.isNext no other waits: with a slot that is free, it is shown running, in one update.
   * @param turn.preclaim of its only item: it is begun where the job runs, else given back before it is shown.
   * @returns the job as it is then; null when it was given up meanwhile.
   */
  show(
    job: JobDocument,
    set: Partial<JobDocument>,
    turn: { isNext: boolean; preclaim: Preclaim | undefined },
  ): Promise<JobDocument | null>;
}

export function createJobAdmission(jobs: JobsStore, onStarted: (job: JobDocument) => void): JobAdmission {
  async function startWaiting(accountId: string, type: JobType): Promise<void> {
    for (;;) {
      const oldest = await jobs.oldestWaiting(accountId, type);
      if (oldest === null) return;
      const started = await jobs.start(oldest);
      if (started !== null) onStarted(started);
      else if ((await jobs.get(oldest._id))?.status === 'PENDING') return;
    }
  }

  return {
    startWaiting,

    async hasWaiting(accountId, type) {
      return (await jobs.oldestWaiting(accountId, type)) !== null;
    },

    async show(job, set, { isNext, preclaim }) {
      const running = isNext ? await jobs.showRunning(job, set) : null;
      if (running !== null) {
        if (preclaim === undefined) onStarted(running);
        else preclaim.begin(running);
        return running;
      }
      await preclaim?.giveBack();
      const shown = await jobs.move(job._id, JOB.show, { $set: set });
      if (shown === null) return null;
      await startWaiting(job.accountId, job.type);
      return (await jobs.get(job._id)) ?? shown;
    },
  };
}
