import type { idempotencyKeyOf } from '../../../platform/http/hooks/idempotency.ts';
import { newId } from '../../../platform/ids/ids.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import type { Caller } from '../../accounts/authentication.ts';
import type { JobNeed } from '../../billing/holds.ts';
import type { StepWarning } from '../../catalogue/checks/warnings.ts';
import { type JobDefinition, sandboxModelsOf, serializeDefinition } from '../definitions.ts';
import { aboveMaxCreditsError } from '../errors.ts';
import { type ItemDocument, itemId, type JobDocument } from '../job.ts';

/** The fields of a job that describe its work briefly: its type, its op, its model and so on. */
export type JobOrderFields = Pick<
  JobDocument,
  'type' | 'op' | 'model' | 'collection' | 'presetId' | 'presetName' | 'presetVersion'
>;

export type NewItemFields = Pick<
  ItemDocument,
  'rootIndex' | 'assetId' | 'variant' | 'row' | 'progress' | 'inherits'
>;

/** A checked submit: the fields of the job, its work, and what it needs. */
export interface JobOrder {
  head: JobOrderFields;
  definition: JobDefinition;
  totalItems: number;
  need: JobNeed;
  /** The maximum number of assets that the job can make. */
  maxOutputs: number;
  /** Iterates over the items in order. Each call starts a new iteration. */
  iterateItems(): Iterable<NewItemFields>;
  warnings: StepWarning[];
  /** The highest price that the caller accepts, in credits; absent if there is no limit. */
  maxCredits?: number | undefined;
  /** For a resume: the indexes of at most 100 items that failed permanently in the previous attempt. */
  notRetryableItems?: readonly number[];
}

/**
 * Refuses an order whose price is above the limit that the caller set.
 * @throws ApiError 402 insufficient_credit
 */
export function refusePriceAboveMax({ maxCredits, totalItems }: JobOrder, price: number): void {
  if (maxCredits !== undefined && price > maxCredits)
    throw aboveMaxCreditsError(price, maxCredits, totalItems);
}

/** The Idempotency-Key of a submit, and the fingerprint of its request. */
export type SubmitIdempotencyKey = NonNullable<ReturnType<typeof idempotencyKeyOf>>;

type ResumedAttempt = Pick<JobDocument, '_id' | 'rootJobId' | 'attemptNumber'>;

export interface SubmitOptions {
  key?: SubmitIdempotencyKey | null;
  parent?: ResumedAttempt | null;
}

/** The document of a new job, in the phase `hidden`. */
export function newJob(
  { accountId, plan, apiKeyId }: Caller,
  order: JobOrder,
  { key = null, parent = null }: SubmitOptions,
  { retentionDays, submitter, now }: { retentionDays: number; submitter: string; now: Date },
): JobDocument {
  const _id = newId('job', now.getTime());
  const createdAt = now.toISOString();
  const { head, definition, totalItems, need, maxOutputs } = order;
  const keptBytes = keptBytesOf(order);
  return {
    _id,
    accountId,
    plan,
    apiKeyId,
    phase: 'hidden',
    phaseAt: createdAt,
    shown: 0,
    status: 'PENDING',
    ...head,
    ...(sandboxModelsOf(definition.variants).length > 0 && { sandbox: true as const }),
    usageKey: head.op ?? head.type,
    totalItems,
    completedItems: 0,
    failedItems: 0,
    cancelledItems: 0,
    settledItems: 0,
    usedRuns: 0,
    usedCredits: 0,
    outputs: 0,
    hold: { ...need, period: '', past: 0, overageCredits: 0 },
    ...(keptBytes >= MIN_COUNTED_BYTES && { keptBytes }),
    reservedAssets: maxOutputs,
    settlement: null,
    attemptNumber: (parent?.attemptNumber ?? 0) + 1,
    rootJobId: parent?.rootJobId ?? _id,
    ...withoutAbsentFields({
      parentJobId: parent?._id,
      idempotencyKey: key?.key,
      fingerprint: key?.fingerprint,
    }),
    createdAt,
    day: createdAt.slice(0, 10),
    submitter,
    expiresAt: new Date(now.getTime() + retentionDays * DAY_MS).toISOString(),
  };
}

/**
 * The size from which a job counts towards the account's limit of stored bytes. Smaller jobs are limited by the rate of
 * calls instead.
 */
const MIN_COUNTED_BYTES = 16 * 1024;
/** The estimated bytes of an item's document and its index entries, without the row. */
const BYTES_PER_ITEM = 512;

/** The number of bytes that a job stores for its request and its items. */
function keptBytesOf({ definition, totalItems, iterateItems }: JobOrder): number {
  let bytes = Buffer.byteLength(serializeDefinition(definition)) + totalItems * BYTES_PER_ITEM;
  if (definition.takes !== 'rows') return bytes;
  for (const { row = '' } of iterateItems()) bytes += Buffer.byteLength(row);
  return bytes;
}

/** A new item in the state `ready`. */
export function newItem(
  { _id: jobId, accountId }: JobDocument,
  index: number,
  seed: NewItemFields,
): ItemDocument {
  return {
    _id: itemId(jobId, index),
    jobId,
    accountId,
    index,
    ...seed,
    status: 'PENDING',
    queue: 'ready',
    epoch: 0,
    tries: 0,
    deaths: 0,
  };
}
