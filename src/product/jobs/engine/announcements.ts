import { present } from '../../../platform/values/present.ts';
import type { EventType, OutboxEvent } from '../../events/event.ts';
import type { EndedJob, ItemDocument, JobDocument, Outcome, OutcomeStatus, Settlement } from '../job.ts';
import { outcomeOf } from '../rules.ts';

/** The event of an item's outcome; an item that a cancel stopped has none. */
export function itemEventTypeOf(status: OutcomeStatus): EventType | null {
  if (status === 'CANCELLED') return null;
  return status === 'COMPLETED' ? 'job.item.completed' : 'job.item.failed';
}

/** The event of a job's end. */
export function jobEventTypeOf(status: OutcomeStatus): EventType {
  return status === 'COMPLETED' ? 'job.completed' : 'job.failed';
}

type AnnouncedItem = Pick<ItemDocument, 'index' | 'assetId' | 'outcome' | 'progress'>;

/** The events of a settlement's items, each with how many items had settled by then. */
export function itemEventsOf(
  job: JobDocument,
  settlement: Settlement,
  documents: ReadonlyArray<Partial<AnnouncedItem>>,
): OutboxEvent[] {
  const byIndex = new Map(documents.map((item) => [item.index, item]));
  let settledItems = settlement.before;
  return settlement.items.flatMap(({ index, status, event }) => {
    if (status !== 'CANCELLED') settledItems += 1;
    const item = byIndex.get(index);
    if (event === undefined || item?.outcome === undefined) return [];
    return {
      id: event.id,
      accountId: job.accountId,
      type: event.type,
      createdAt: settlement.at,
      sequence: settledItems,
      data: itemData(job, { ...item, index, outcome: item.outcome }, settledItems),
    };
  });
}

function itemData(
  job: JobDocument,
  { index, assetId, outcome, progress }: Partial<AnnouncedItem> & { index: number; outcome: Outcome },
  settledItems: number,
): Record<string, unknown> {
  const { resultAssetId, output, errorCode, retryable, errorMessage, failedStep } = outcome;
  const isChain = job.type === 'chain';
  return {
    jobId: job._id,
    type: job.type,
    status: outcome.status,
    totalItems: job.totalItems,
    itemIndex: index,
    settledItems,
    ...(output !== undefined && outcome.status === 'COMPLETED' && { output: JSON.parse(output) }),
    ...(isChain && { step: failedStep ?? progress?.segment ?? 0 }),
    ...present({ sourceAssetId: assetId, resultAssetId }),
    ...present({ failedStep, errorCode, retryable, error: errorMessage }),
  };
}

/** The event of a job's end. */
export function jobEventOf(job: EndedJob, id: string): OutboxEvent {
  const { accountId, type, totalItems, completedItems, failedItems, chargedCredits } = job;
  const { status, errorCode, retryable, completedAt } = job;
  const outcome = outcomeOf(job);
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
      ...present({ outcome }),
      creditsCharged: chargedCredits,
      ...(errorCode !== undefined &&
        eventType === 'job.failed' && { errorCode, retryable: retryable ?? false }),
    },
  };
}
