import { newId } from '../../../platform/ids/ids.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { jobChargeOf } from '../../billing/holds.ts';
import type { OutboxEvent, WebhookEventType } from '../../events/event.ts';
import type { JobsContext } from '../context.ts';
import { type EndedJob, hasEnded, type JobDocument, type OutcomeStatus, type UnfinishedJob } from '../job.ts';
import {
  failedItemsMessage,
  finalJobStatusOf,
  haveAllItemsSettled,
  jobOutcomeOf,
  type OutcomeSums,
} from '../rules.ts';
import { JOB_END_TRANSITIONS } from '../transitions.ts';

type EndContext = Pick<JobsContext, 'items' | 'events' | 'now'>;

/** The transition that ends a job, and the fields that the transition sets. */
interface JobEnd {
  transition: (typeof JOB_END_TRANSITIONS)[OutcomeStatus];
  set: Partial<EndedJob>;
}

/**
 * Prepares the end of a job, to be stored together with its last outcomes. Returns null if these outcomes do not end
 * the job. It also returns null if some items failed or were cancelled, because the job's error can be read only after
 * their outcomes are published.
 */
export async function prepareEndWithOutcomes(
  context: EndContext,
  job: JobDocument,
  sums: OutcomeSums,
): Promise<JobEnd | null> {
  if (hasEnded(job)) return null;
  const counted = {
    ...job,
    completedItems: job.completedItems + sums.completedItems,
    failedItems: job.failedItems + sums.failedItems,
    usedRuns: job.usedRuns + sums.usedRuns,
    usedCredits: job.usedCredits + sums.usedCredits,
  };
  const endsHere =
    counted.status === 'PROCESSING' && counted.failedItems === 0 && haveAllItemsSettled(counted);
  return endsHere ? prepareEnd(context, counted) : null;
}

/** The end of a job whose items have all ended: its final status, its error and its charge. */
export async function prepareEnd(context: EndContext, job: UnfinishedJob): Promise<JobEnd> {
  const { items, events, now } = context;
  const isCancelled = job.status === 'CANCELLING';
  const status = finalJobStatusOf(job);
  const [cancelledUsage, error, isAnnounced, cancelledItems] = await Promise.all([
    // An item that was cancelled between two segments of a chain has used runs and credits as well.
    isCancelled && job.type === 'chain' ? items.sumUsageOfCancelled(job._id) : { runs: 0, credits: 0 },
    readJobError(context, job),
    events.isWanted(job.accountId, jobEventTypeOf(status)),
    isCancelled ? items.countByStatus(job._id, 'CANCELLED') : 0,
  ]);
  const used = {
    runs: job.usedRuns + cancelledUsage.runs,
    credits: job.usedCredits + cancelledUsage.credits,
  };
  const { credits, overage } = jobChargeOf(job.hold, used);
  return {
    transition: JOB_END_TRANSITIONS[status],
    set: {
      ...error,
      ...(isCancelled && { usedRuns: used.runs, usedCredits: used.credits }),
      cancelledItems,
      actualCredits: credits,
      chargedCredits: credits + overage,
      endEventId: isAnnounced ? newId('evt', now().getTime()) : null,
      completedAt: now().toISOString(),
    },
  };
}

/** The error fields of the job, taken from one of its failed items; empty if no item failed. */
async function readJobError({ items }: EndContext, job: JobDocument): Promise<Partial<EndedJob>> {
  if (job.failedItems === 0) return {};
  const failure = await items.findFirstFailure(job._id);
  if (failure?.outcome?.errorCode === undefined) return {};
  const { errorCode, errorMessage: message = '', retryable = false } = failure.outcome;
  return { errorCode, retryable, errorMessage: failedItemsMessage(job, { index: failure.index, message }) };
}

function jobEventTypeOf(status: OutcomeStatus): WebhookEventType {
  return status === 'COMPLETED' ? 'job.completed' : 'job.failed';
}

export function jobEventOf(job: EndedJob, id: string): OutboxEvent {
  const { accountId, type, totalItems, completedItems, failedItems, chargedCredits } = job;
  const { status, errorCode, retryable, completedAt } = job;
  const outcome = jobOutcomeOf(job);
  const eventType = jobEventTypeOf(status);
  return {
    id,
    accountId,
    type: eventType,
    createdAt: completedAt,
    sequence: totalItems + 1,
    data: {
      jobId: job._id,
      type,
      status,
      totalItems,
      completedItems,
      failedItems,
      ...withoutAbsentFields({ outcome }),
      creditsCharged: chargedCredits,
      ...(errorCode !== undefined &&
        eventType === 'job.failed' && { errorCode, retryable: retryable ?? false }),
    },
  };
}
