import type { JobDocument, JobType } from '../job.ts';
import type { JobsStore } from '../store.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';
import type { PendingClaim } from './active-job.ts';

/**
 * Starts waiting jobs, the oldest first. The number of running jobs per account and type is limited by a unique index
 * over their slots instead of a counter, because a crash could make a counter wrong.
 */
export class JobAdmission {
  readonly #jobs: JobsStore;
  readonly #onStarted: (job: JobDocument) => void;

  constructor(jobs: JobsStore, onStarted: (job: JobDocument) => void) {
    this.#jobs = jobs;
    this.#onStarted = onStarted;
  }

  /** Starts as many waiting jobs as there are free slots. */
  async startWaiting(accountId: string, type: JobType): Promise<void> {
    for (;;) {
      const oldest = await this.#jobs.findOldestWaiting(accountId, type);
      if (oldest === null) return;
      const started = await this.#jobs.start(oldest);
      if (started !== null) this.#onStarted(started);
      else if ((await this.#jobs.get(oldest._id))?.status === 'PENDING') return;
    }
  }

  /**
   * Makes a hidden job visible, and starts it if a slot is free and no other job is waiting.
   * @param turn.isNext whether no other job is waiting. If a slot is free, one update then makes the job visible and
   * running.
   * @param turn.claim the claim of its only item. If the job is started here, the work on the item begins; otherwise
   * the item is given back before the job becomes visible.
   * @returns the job afterwards; null when it was given up in the meantime.
   */
  async show(
    job: JobDocument,
    set: Partial<JobDocument>,
    { isNext, claim }: { isNext: boolean; claim: PendingClaim | undefined },
  ): Promise<JobDocument | null> {
    const running = isNext ? await this.#jobs.showAndStart(job, set) : null;
    if (running !== null) {
      if (claim === undefined) this.#onStarted(running);
      else claim.begin(running);
      return running;
    }
    await claim?.giveBack();
    const shown = await this.#jobs.move(job._id, JOB_TRANSITIONS.show, { $set: set });
    if (shown === null) return null;
    await this.startWaiting(job.accountId, job.type);
    return (await this.#jobs.get(job._id)) ?? shown;
  }
}
