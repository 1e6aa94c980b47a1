import { setImmediate as nextTurn } from 'node:timers/promises';
import { newId, randomText } from '../../../platform/ids/ids.ts';
import { chargeForJob } from '../../billing/holds.ts';
import type { JobsContext } from '../context.ts';
import { type EndedJob, hasEnded, type JobDocument, type OutcomeStatus, type UnfinishedJob } from '../job.ts';
import { failedItemsMessage, finalJobStatusOf, haveAllItemsSettled, type OutcomeSums } from '../rules.ts';
import { JOB_END_TRANSITIONS, JOB_TRANSITIONS } from '../transitions.ts';
import type { JobAdmission } from './admission.ts';
import { type JobEnd, jobEventOf, jobEventTypeOf, type OutcomeRecorder } from './outcomes.ts';
import type { JobSignals } from './signals.ts';

const OBJECTS_AT_A_TIME = 100;

interface CompletionOptions {
  outcomes: OutcomeRecorder;
  admission: JobAdmission;
  signals: JobSignals;
}

/**
 * Completes jobs, each once. One conditional update gives a job its final status and its charge: the update that
 * records its last outcomes if all of them succeeded (outcomes.ts), else a separate one. The clean-up follows from the
 * document alone: the charge, the quota, then the event. A key of its own guards each step, so that the sweep may
 * repeat them.
 */
export class JobCompletion {
  readonly #context: JobsContext;
  readonly #parts: CompletionOptions;
  /** Clean-ups of this process, by job. */
  readonly #underWay = new Map<string, Promise<boolean>>();

  constructor(context: JobsContext, parts: CompletionOptions) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Completes a job whose items have all ended, and cleans up. Any other job is returned unchanged. */
  completeIfOver(job: JobDocument): Promise<JobDocument> {
    return this.#completeAfter(job, () => this.#parts.outcomes.publish(job));
  }

  /** Does the same for a job whose last outcomes were just recorded and published. */
  completeRecorded(job: JobDocument): Promise<JobDocument> {
    return this.#completeAfter(job, async () => undefined);
  }

  /**
   * The end of a job, to be stored together with its last outcomes. Null if failures or cancelled items must be read
   * first, because items show them only once their outcomes are published.
   */
  async prepareWithRecording(job: JobDocument, tally: OutcomeSums): Promise<JobEnd | null> {
    if (hasEnded(job)) return null;
    const counted = {
      ...job,
      completedItems: job.completedItems + tally.completedItems,
      failedItems: job.failedItems + tally.failedItems,
      usedRuns: job.usedRuns + tally.usedRuns,
      usedCredits: job.usedCredits + tally.usedCredits,
    };
    const isComplete =
      counted.status === 'PROCESSING' && counted.failedItems === 0 && haveAllItemsSettled(counted);
    return isComplete ? this.#prepare(counted) : null;
  }

  /** Completes a job in one update. Null when the job has changed since it was read. */
  async #complete(job: UnfinishedJob): Promise<JobDocument | null> {
    const { completedItems, failedItems } = job;
    const { transition, set } = await this.#prepare(job);
    return this.#context.jobs.move(job._id, transition, {
      asRead: { completedItems, failedItems },
      $set: set,
    });
  }

  /** Releases the storage quota that was reserved for outputs which were not made. */
  async #returnQuota(job: EndedJob): Promise<void> {
    const { jobs, assets } = this.#context;
    const { _id, accountId } = job;
    const unused = job.reservedAssets - job.outputs;
    if (unused === 0) return;
    const token = job.releaseToken ?? randomText(12);
    if (job.releaseToken === undefined) {
      await assets.quota.confirm(accountId, _id);
      await assets.quota.announce(accountId, _id, token, unused);
    }
    await assets.quota.giveBack(accountId, _id, await jobs.keepReleaseToken(_id, token));
  }

  /** Deletes the intermediate pictures of finished items, which no segment needs any more. */
  async #deleteIntermediates(jobId: string): Promise<void> {
    const { items, objects } = this.#context;
    for (;;) {
      const finished = await items.finishedWithObject(jobId, OBJECTS_AT_A_TIME);
      if (finished.length === 0) return;
      await Promise.all(finished.map(({ progress }) => objects.delete(progress?.objectKey ?? '')));
      await items.forgetObjects(finished.map(({ _id }) => _id));
    }
  }

  /** The part of the clean-up that is done before a client sees the end. */
  async #charge(job: EndedJob): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits } = job;
    await Promise.all([
      this.#context.holds.charge(accountId, _id, hold, { runs: usedRuns, credits: usedCredits }),
      this.#returnQuota(job),
    ]);
  }

  /**
   * The part of the clean-up that no response depends on. The event about the end comes last.
   * @returns false when another process has done it.
   */
  async #tidy(job: EndedJob): Promise<boolean> {
    await Promise.all([
      this.#parts.outcomes.publish(job),
      job.type === 'chain' ? this.#deleteIntermediates(job._id) : undefined,
    ]);
    if (job.endEventId !== null) await this.#context.events.write([jobEventOf(job, job.endEventId)]);
    return (await this.#context.jobs.move(job._id, JOB_TRANSITIONS.cleanUp)) !== null;
  }

  /** Runs a clean-up, or joins the one that is running in this process. */
  #once(job: EndedJob, steps: () => Promise<boolean>): Promise<boolean> {
    const known = this.#underWay.get(job._id);
    if (known !== undefined) return known;
    const cleaning = steps().finally(() => this.#underWay.delete(job._id));
    this.#underWay.set(job._id, cleaning);
    return cleaning;
  }

  /**
   * Cleans up after a job that has ended. Repeating it has no further effect.
   * @returns false when another process has done it.
   */
  cleanUp(job: EndedJob): Promise<boolean> {
    return this.#once(job, async () => {
      await this.#charge(job);
      return this.#tidy(job);
    });
  }

  /** Cleans up a job that has just ended. Calls that wait for it here get their response between the two parts. */
  #cleanUpAndNotify(job: EndedJob): Promise<boolean> {
    return this.#once(job, async () => {
      try {
        await this.#charge(job);
        this.#context.onEnd(job._id, job);
        await nextTurn();
        return await this.#tidy(job);
      } finally {
        this.#parts.signals.end(job._id);
      }
    });
  }

  async #followUp(ended: EndedJob): Promise<JobDocument> {
    await Promise.all([
      this.#cleanUpAndNotify(ended),
      this.#parts.admission.startWaiting(ended.accountId, ended.type),
    ]);
    return ended;
  }

  /** Whether all items of an open job have ended. In a job that is being cancelled, unclaimed items end here. */
  async #isDue(job: UnfinishedJob): Promise<boolean> {
    if (job.status !== 'CANCELLING') return haveAllItemsSettled(job);
    await this.#context.items.cancelWaiting(job._id);
    return !(await this.#context.items.hasOpen(job._id));
  }

  /** Updates the number of cancelled items in a job that is being cancelled. Any other job is returned unchanged. */
  async #showCancelled(job: UnfinishedJob): Promise<JobDocument> {
    if (job.status !== 'CANCELLING') return job;
    const cancelledItems = await this.#context.items.count(job._id, 'CANCELLED');
    const asRead = { phase: 'open', status: 'CANCELLING' };
    return (await this.#context.jobs.update(job._id, asRead, { $max: { cancelledItems } })) ?? job;
  }

  async #completeAfter(job: JobDocument, publish: () => Promise<void>): Promise<JobDocument> {
    if (job.phase === 'ended') return this.#followUp(job);
    if (job.phase !== 'open') return job;
    if (!(await this.#isDue(job))) return this.#showCancelled(job);
    await publish();
    const ended = await this.#complete(job);
    if (ended?.phase === 'ended') return this.#followUp(ended);
    const other = (await this.#context.jobs.get(job._id)) ?? job;
    if (other.phase === 'ended') await this.cleanUp(other);
    return other;
  }

  /** The usage of items that a cancellation stopped between two segments of a chain. */
  async #usedByCancelled({ _id, type, status }: JobDocument) {
    if (status !== 'CANCELLING' || type !== 'chain') return { runs: 0, credits: 0 };
    return this.#context.items.usedByCancelled(_id);
  }

  async #readError(job: JobDocument): Promise<Partial<EndedJob>> {
    if (job.failedItems === 0) return {};
    const failure = await this.#context.items.firstFailure(job._id);
    if (failure?.outcome?.errorCode === undefined) return {};
    const { errorCode, errorMessage: message = '', retryable = false } = failure.outcome;
    return { errorCode, retryable, errorMessage: failedItemsMessage(job, { index: failure.index, message }) };
  }

  async #eventIdFor(job: JobDocument, status: OutcomeStatus): Promise<string | null> {
    const isWanted = await this.#context.events.isWanted(job.accountId, jobEventTypeOf(status));
    return isWanted ? newId('evt', this.#context.now().getTime()) : null;
  }

  /** The final status, error and charge of a job whose items have all ended. */
  async #prepare(job: UnfinishedJob): Promise<JobEnd> {
    const { status, hold } = job;
    const finalStatus = finalJobStatusOf(job);
    const [more, error, endEventId, cancelledItems] = await Promise.all([
      this.#usedByCancelled(job),
      this.#readError(job),
      this.#eventIdFor(job, finalStatus),
      status === 'CANCELLING' ? this.#context.items.count(job._id, 'CANCELLED') : 0,
    ]);
    const used = { runs: job.usedRuns + more.runs, credits: job.usedCredits + more.credits };
    const { credits, overage } = chargeForJob(hold, used);
    return {
      transition: JOB_END_TRANSITIONS[finalStatus],
      set: {
        ...error,
        ...(status === 'CANCELLING' && { usedRuns: used.runs, usedCredits: used.credits }),
        cancelledItems,
        actualCredits: credits,
        chargedCredits: credits + overage,
        endEventId,
        completedAt: this.#context.now().toISOString(),
      },
    };
  }
}
