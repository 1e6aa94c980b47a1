import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { HOUR_MS } from '../../../platform/values/units.ts';
import type { JobsContext } from '../context.ts';
import type { JobDocument } from '../job.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';

const INTERVAL_MS = 15_000;
/** The process of an older submit has died. */
const SUBMITTING_MS = 5 * 60_000;
/** Longer than the work on any item. */
const WORKING_MS = HOUR_MS;
const SWEEP_BATCH_SIZE = 200;
const ITEMS_A_CALL = 500;

/**
 * Undoes an unfinished submit, whose job was never shown. The hidden document is claimed first, so that a slow submit
 * can no longer show it. It is deleted last, so that after a crash the submit is undone again.
 */
export class SubmissionUndoing {
  readonly task: SweepTask = {
    name: 'unfinished submits',
    sweep: (now) => this.#submits(now),
    intervalMs: INTERVAL_MS,
  };
  readonly #context: JobsContext;

  constructor(context: JobsContext) {
    this.#context = context;
  }

  /** Removes the remains of a submit, once its job is `undone`. */
  async finish({ _id, accountId }: Pick<JobDocument, '_id' | 'accountId'>): Promise<void> {
    await this.#context.holds.undo(accountId, _id);
    await this.#context.assets.quota.undo(accountId, _id);
    while ((await this.#context.items.erase(_id, ITEMS_A_CALL)) > 0);
    await this.#context.jobs.erase(_id);
  }

  /** Undoes a hidden job. False when the job was shown; it is left unchanged then. */
  async undo(job: JobDocument): Promise<boolean> {
    const claimed = await this.#context.jobs.move(job._id, JOB_TRANSITIONS.undo);
    const isOurs = claimed !== null || (await this.#context.jobs.get(job._id)) === null;
    if (isOurs) await this.finish(job);
    return isOurs;
  }

  /** Undoes submits of dead processes: hidden jobs, and their reservations in the quota of the account. */
  async #submits(now: Date): Promise<number> {
    const before = new Date(now.getTime() - SUBMITTING_MS);
    const hidden = await this.#context.jobs.inPhaseSince('hidden', before, SWEEP_BATCH_SIZE);
    let undone = 0;
    for (const job of hidden) if (await this.undo(job)) undone += 1;
    const left = await this.#context.jobs.inPhaseSince('undone', before, SWEEP_BATCH_SIZE);
    for (const job of left) await this.finish(job);
    for (const { accountId, jobId } of await this.#context.assets.quota.leftOver(
      new Date(now.getTime() - WORKING_MS),
    )) {
      const job = await this.#context.jobs.get(jobId);
      if (job === null) await this.#context.assets.quota.undo(accountId, jobId);
      else if (job.phase === 'done') await this.#context.assets.quota.withdraw(accountId, jobId);
    }
    return undone + left.length;
  }
}
