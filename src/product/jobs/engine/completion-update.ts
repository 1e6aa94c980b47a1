import { newId } from '../../../platform/ids/ids.ts';
import { chargeOf } from '../../billing/holds.ts';
import { type EndedJob, hasEnded, type JobDocument, type OutcomeStatus, type UnfinishedJob } from '../job.ts';
import { errorMessageOf, finalStatusOf, isOver, type OutcomeSums } from '../rules.ts';
import { JOB_ENDS } from '../transitions.ts';
import { jobEventTypeOf } from './announcements.ts';
import type { EngineOptions } from './options.ts';

/** The transition that ends a job, and what the job has from then on. */
interface CompletionUpdate {
  transition: (typeof JOB_ENDS)[OutcomeStatus];
  set: Partial<EndedJob>;
}

/** The final status, error and charge of a job whose items have all ended. */
export interface CompletionUpdates {
  /** The update that completes a job as it was read. */
  of(job: UnfinishedJob): Promise<CompletionUpdate>;
  /**
   * The update that completes a job together with the recording of its last outcomes. Null where failures or cancelled
   * items have to be read first, because the items show them only once their outcomes are published.
   */
  ofRecording(job: JobDocument, tally: OutcomeSums): Promise<CompletionUpdate | null>;
}

export function createCompletionUpdates({
  items,
  events,
  now,
}: Pick<EngineOptions, 'items' | 'events' | 'now'>): CompletionUpdates {
  /** The usage of items that a cancel stopped between two segments of a chain. */
  async function usedByCancelled({ _id, type, status }: JobDocument) {
    if (status !== 'CANCELLING' || type !== 'chain') return { runs: 0, credits: 0 };
    return items.usedByCancelled(_id);
  }

  async function readError(job: JobDocument): Promise<Partial<EndedJob>> {
    if (job.failedItems === 0) return {};
    const failure = await items.firstFailure(job._id);
    if (failure?.outcome?.errorCode === undefined) return {};
    const { errorCode, errorMessage: message = '', retryable = false } = failure.outcome;
    return { errorCode, retryable, errorMessage: errorMessageOf(job, { index: failure.index, message }) };
  }

  async function eventIdFor(job: JobDocument, status: OutcomeStatus): Promise<string | null> {
    const isWanted = await events.isWanted(job.accountId, jobEventTypeOf(status));
    return isWanted ? newId('evt', now().getTime()) : null;
  }

  async function prepareUpdate(job: UnfinishedJob): Promise<CompletionUpdate> {
    const { status, hold } = job;
    const finalStatus = finalStatusOf(job);
    const [more, error, endEventId, cancelledItems] = await Promise.all([
      usedByCancelled(job),
      readError(job),
      eventIdFor(job, finalStatus),
      status === 'CANCELLING' ? items.count(job._id, 'CANCELLED') : 0,
    ]);
    const used = { runs: job.usedRuns + more.runs, credits: job.usedCredits + more.credits };
    const { credits, overage } = chargeOf(hold, used);
    return {
      transition: JOB_ENDS[finalStatus],
      set: {
        ...error,
        ...(status === 'CANCELLING' && { usedRuns: used.runs, usedCredits: used.credits }),
        cancelledItems,
        actualCredits: credits,
        chargedCredits: credits + overage,
        endEventId,
        completedAt: now().toISOString(),
      },
    };
  }

  return {
    of: prepareUpdate,

    async ofRecording(job, tally) {
      if (hasEnded(job)) return null;
      const counted = {
        ...job,
        completedItems: job.completedItems + tally.completedItems,
        failedItems: job.failedItems + tally.failedItems,
        usedRuns: job.usedRuns + tally.usedRuns,
        usedCredits: job.usedCredits + tally.usedCredits,
      };
      const isComplete = counted.status === 'PROCESSING' && counted.failedItems === 0 && isOver(counted);
      return isComplete ? prepareUpdate(counted) : null;
    },
  };
}
