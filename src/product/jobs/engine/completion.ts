import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomText } from '../../../platform/ids/ids.ts';
import type { JobsContext } from '../context.ts';
import { deleteUnneededIntermediates } from '../intermediates.ts';
import type { EndedJob, JobDocument, UnfinishedJob } from '../job.ts';
import { haveAllItemsSettled } from '../rules.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';
import type { JobAdmission } from './admission.ts';
import { jobEventOf, prepareEnd } from './job-end.ts';
import type { OutcomeRecorder } from './outcomes.ts';
import { sendJobSignal } from './signals.ts';

export interface CompletionOptions {
  outcomes: OutcomeRecorder;
  admission: JobAdmission;
}

/**
 * Completes jobs, each once. One conditional update stores the final status and the charge of a job. If all items
 * succeeded, it is the same update that records the last outcomes (outcomes.ts). The clean-up that follows needs only
 * the job's document: it charges the account, returns unused quota, and then stores the event. Each of these steps
 * takes effect only once, so the sweep may repeat it.
 */
export class JobCompletion {
  readonly #context: JobsContext;
  readonly #options: CompletionOptions;
  readonly #runningCleanUps = new Map<string, Promise<boolean>>();

  constructor(context: JobsContext, options: CompletionOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Completes a job if all of its items have ended, and cleans up. Any other job is returned unchanged.
   * @param options.isPublished whether the events of the last recorded outcomes are already published.
   */
  async completeIfOver(job: JobDocument, { isPublished = false } = {}): Promise<JobDocument> {
    const { jobs } = this.#context;
    if (job.phase === 'ended') return this.#cleanUpAndStartWaiting(job);
    if (job.phase !== 'open') return job;
    if (!(await this.#haveItemsEnded(job))) return this.#updateCancelledCount(job);
    if (!isPublished) await this.#options.outcomes.publish(job);
    const { completedItems, failedItems } = job;
    const { transition, set } = await prepareEnd(this.#context, job);
    const asRead = { completedItems, failedItems };
    const ended = await jobs.move(job._id, transition, { asRead, $set: set });
    if (ended?.phase === 'ended') return this.#cleanUpAndStartWaiting(ended);
    // The update failed, because the job has changed since it was read. Another process may have completed it.
    const other = (await jobs.get(job._id)) ?? job;
    if (other.phase === 'ended') await this.cleanUp(other);
    return other;
  }

  /**
   * Completes a job that is being cancelled, if all of its items have ended. It is called after an item of the job was
   * put back.
   */
  async completeIfCancelled(jobId: string): Promise<void> {
    const job = await this.#context.jobs.get(jobId);
    if (job?.status === 'CANCELLING') await this.completeIfOver(job);
  }

  /**
   * Cleans up after a job that has ended. A repetition has no further effect.
   * @returns false when another process has already finished the clean-up.
   */
  cleanUp(job: EndedJob): Promise<boolean> {
    return this.#runCleanUpOnce(job, async () => {
      await this.#settleAccount(job);
      return this.#finishCleanUp(job);
    });
  }

  /**
   * Whether all items of an unfinished job have ended. If the job is being cancelled, its unclaimed items are cancelled
   * first.
   */
  async #haveItemsEnded(job: UnfinishedJob): Promise<boolean> {
    if (job.status !== 'CANCELLING') return haveAllItemsSettled(job);
    await this.#context.items.cancelWaiting(job._id);
    return !(await this.#context.items.hasUnsettled(job._id));
  }

  /** Updates the count of cancelled items of a job that is being cancelled. Any other job is returned unchanged. */
  async #updateCancelledCount(job: UnfinishedJob): Promise<JobDocument> {
    if (job.status !== 'CANCELLING') return job;
    const cancelledItems = await this.#context.items.countByStatus(job._id, 'CANCELLED');
    const asRead = { phase: 'open', status: 'CANCELLING' };
    return (await this.#context.jobs.update(job._id, asRead, { $max: { cancelledItems } })) ?? job;
  }

  /**
   * Cleans up a job that has just ended, and starts jobs that were waiting for its slot. Calls of this process that
   * wait for the job get their response after the first part of the clean-up.
   */
  async #cleanUpAndStartWaiting(job: EndedJob): Promise<JobDocument> {
    const cleaning = this.#runCleanUpOnce(job, async () => {
      try {
        await this.#settleAccount(job);
        this.#context.onEnd(job._id, job);
        await nextTurn();
        return await this.#finishCleanUp(job);
      } finally {
        sendJobSignal(this.#context, 'end', job._id);
      }
    });
    await Promise.all([cleaning, this.#options.admission.startWaiting(job.accountId, job.type)]);
    return job;
  }

  /** Runs a clean-up. If this process is already running one for the job, its promise is returned instead. */
  #runCleanUpOnce(job: EndedJob, cleanUp: () => Promise<boolean>): Promise<boolean> {
    const known = this.#runningCleanUps.get(job._id);
    if (known !== undefined) return known;
    const cleaning = cleanUp().finally(() => this.#runningCleanUps.delete(job._id));
    this.#runningCleanUps.set(job._id, cleaning);
    return cleaning;
  }

  /**
   * The first part of the clean-up: the charge and the return of quota. It comes before any response that reports the
   * end of the job.
   */
  async #settleAccount(job: EndedJob): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits } = job;
    await Promise.all([
      this.#context.holds.charge(accountId, _id, hold, { runs: usedRuns, credits: usedCredits }),
      this.#returnQuota(job),
    ]);
  }

  /** Returns the quota that was reserved for outputs which were not made. */
  async #returnQuota(job: EndedJob): Promise<void> {
    const { jobs, assets } = this.#context;
    const { _id, accountId } = job;
    const unused = job.reservedAssets - job.outputs;
    if (unused === 0) return;
    const token = job.releaseToken ?? randomText(12);
    if (job.releaseToken === undefined) {
      await assets.quota.confirm(accountId, _id);
      await assets.quota.markReturn(accountId, _id, token, unused);
    }
    await assets.quota.giveBack(accountId, _id, await jobs.keepReleaseToken(_id, token));
  }

  /**
   * The second part of the clean-up, for which no response waits. The event about the end of the job comes last.
   * @returns false when another process has already finished the clean-up.
   */
  async #finishCleanUp(job: EndedJob): Promise<boolean> {
    await Promise.all([
      this.#options.outcomes.publish(job),
      job.type === 'chain' ? deleteUnneededIntermediates(this.#context, job._id) : undefined,
    ]);
    if (job.endEventId !== null) await this.#context.events.write([jobEventOf(job, job.endEventId)]);
    return (await this.#context.jobs.move(job._id, JOB_TRANSITIONS.cleanUp)) !== null;
  }
}
