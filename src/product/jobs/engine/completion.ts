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
import type { JobSignals } from './signals.ts';

interface CompletionOptions {
  outcomes: OutcomeRecorder;
  admission: JobAdmission;
  signals: JobSignals;
}

/**
 * Completes jobs, each once. One conditional update gives a job its final status and its charge: the update that
 * records its last outcomes if all of them succeeded (outcomes.ts), else a separate one. The clean-up needs only the
 * job's document. It charges the account, returns unused quota, and then stores the event. Each of these steps has its
 * own idempotency key, so that the sweep may repeat it.
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
   * Completes a job whose items have all ended, and cleans up. Any other job is returned unchanged.
   * @param terms.isPublished whether the events of the job's last recorded outcomes are already published.
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
    // The job has changed since it was read, perhaps because another process was faster.
    const other = (await jobs.get(job._id)) ?? job;
    if (other.phase === 'ended') await this.cleanUp(other);
    return other;
  }

  /** Completes a job that is being cancelled, if its last item has just been put back. */
  async completeIfCancelled(jobId: string): Promise<void> {
    const job = await this.#context.jobs.get(jobId);
    if (job?.status === 'CANCELLING') await this.completeIfOver(job);
  }

  /**
   * Cleans up after a job that has ended. Repeating it has no further effect.
   * @returns false when another process has done it.
   */
  cleanUp(job: EndedJob): Promise<boolean> {
    return this.#runOnce(job, async () => {
      await this.#settleAccount(job);
      return this.#finishCleanUp(job);
    });
  }

  /** Whether all items of an open job have ended. In a job that is being cancelled, unclaimed items end here. */
  async #haveItemsEnded(job: UnfinishedJob): Promise<boolean> {
    if (job.status !== 'CANCELLING') return haveAllItemsSettled(job);
    await this.#context.items.cancelWaiting(job._id);
    return !(await this.#context.items.hasUnsettled(job._id));
  }

  /** Updates the number of cancelled items in a job that is being cancelled. Any other job is returned unchanged. */
  async #updateCancelledCount(job: UnfinishedJob): Promise<JobDocument> {
    if (job.status !== 'CANCELLING') return job;
    const cancelledItems = await this.#context.items.countByStatus(job._id, 'CANCELLED');
    const asRead = { phase: 'open', status: 'CANCELLING' };
    return (await this.#context.jobs.update(job._id, asRead, { $max: { cancelledItems } })) ?? job;
  }

  /** Cleans up a job that has just ended, and starts the jobs that waited for its slot. */
  async #cleanUpAndStartWaiting(ended: EndedJob): Promise<JobDocument> {
    await Promise.all([
      this.#cleanUpAndNotify(ended),
      this.#options.admission.startWaiting(ended.accountId, ended.type),
    ]);
    return ended;
  }

  /**
   * Cleans up a job that has just ended. Calls in this process that wait for the job are answered after the first part
   * of the clean-up.
   */
  #cleanUpAndNotify(job: EndedJob): Promise<boolean> {
    return this.#runOnce(job, async () => {
      try {
        await this.#settleAccount(job);
        this.#context.onEnd(job._id, job);
        await nextTurn();
        return await this.#finishCleanUp(job);
      } finally {
        this.#options.signals.send('end', job._id);
      }
    });
  }

  /** Runs a clean-up, or joins the one that is running in this process. */
  #runOnce(job: EndedJob, steps: () => Promise<boolean>): Promise<boolean> {
    const known = this.#runningCleanUps.get(job._id);
    if (known !== undefined) return known;
    const cleaning = steps().finally(() => this.#runningCleanUps.delete(job._id));
    this.#runningCleanUps.set(job._id, cleaning);
    return cleaning;
  }

  /** The part of the clean-up that precedes the first response about the end: the charge and the return of quota. */
  async #settleAccount(job: EndedJob): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits } = job;
    await Promise.all([
      this.#context.holds.charge(accountId, _id, hold, { runs: usedRuns, credits: usedCredits }),
      this.#returnQuota(job),
    ]);
  }

  /** Gives back the quota of outputs that were reserved and not made. */
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
   * The part of the clean-up that no response depends on. The event about the end comes last.
   * @returns false when another process has done it.
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
