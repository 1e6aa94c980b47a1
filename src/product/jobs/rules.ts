import { type ApiError, ERROR_CODES, type ErrorCode } from '../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  type ClaimedItem,
  hasEnded,
  type ItemDocument,
  type ItemOutcome,
  type JobDocument,
  type OutcomeStatus,
} from './job.ts';

/**
 * The result of the work on an item. An item that is put back, or that a store outage stopped, does not count as tried.
 */
export type ItemWorkResult =
  | { outcome: ItemOutcome }
  | { failure: ItemWorkFailure }
  | { putBackMs: number }
  | { outage: unknown };

/** Signals that the work on an item is no longer wanted. */
export interface WorkSignals {
  /** Aborts all of the work, because the process stops. */
  signal: AbortSignal;
  /**
   * Aborts the waits of the work, but not what a worker has begun, because the job is being cancelled. Its reason is an
   * ItemStoppedError.
   */
  waitSignal: AbortSignal;
}

/**
 * Performs the work on an item. It resolves with the outcome, or with a failure that says whether a retry may succeed.
 * It never rejects.
 */
export type PerformItemWork = (
  item: ClaimedItem,
  job: JobDocument,
  signals: WorkSignals,
) => Promise<ItemWorkResult>;

/** Thrown when the work is no longer wanted because the claim was lost. */
export class ItemAbandonedError extends Error {
  override readonly name = 'ItemAbandonedError';
}

/** Thrown when the job is being cancelled, so that the item ends before any further work begins. */
export class ItemStoppedError extends Error {
  override readonly name = 'ItemStoppedError';
}

/** The most tries of an item with retryable failures. */
const MAX_TRIES = 3;
/** Number of claims that may end with the death of their process before the item counts as the cause. */
const MAX_DEATHS = 2;
/**
 * The same limit for claims whose lease expired without a known death. The limit is higher, because an item rarely
 * stops a whole host.
 */
const MAX_LAPSES = 5;
const FIRST_RETRY_PAUSE_MS = 1_000;
/** Number of threads or browsers that may be lost before the item that they worked on counts as the cause. */
const MAX_LOST_WORKERS = 3;
/** The pause of an item after a store outage. */
const OUTAGE_PAUSE_MS = { first: 1_000, longest: 30_000 };

/** The usage of the work on an item: billable runs and credits. */
interface ItemUsage {
  runs: number;
  credits: number;
}

export interface ItemWorkFailure {
  code: ErrorCode;
  message: string;
  /** Whether a retry may succeed. */
  mayPass: boolean;
  /** Milliseconds after which a retry makes sense. If absent, the engine decides. */
  retryAfterMs?: number;
  /** Whether this was the last try. Absent when the engine decides. */
  isLast?: boolean;
  /** Whether the thread, process or browser was lost, perhaps because of another item. */
  lostWorker?: true;
  /** The usage that is billed in spite of the failure. */
  usage?: ItemUsage;
  failedStep?: number;
  /** True when no work was begun, so that no run is billed. */
  isUnstarted?: true;
}

const NO_USAGE: ItemUsage = { runs: 0, credits: 0 };

/** Converts an API error to the failure that is stored with an item. */
export function itemWorkFailureOf(error: ApiError): ItemWorkFailure {
  const { code, message, retryable, retryAfterSeconds, details } = error;
  return {
    code,
    message,
    mayPass: retryable,
    ...(retryAfterSeconds !== undefined && { retryAfterMs: retryAfterSeconds * 1_000 }),
    ...(details?.reason === 'worker_unreachable' && { lostWorker: true }),
  };
}

/** Whether a failed try is not counted, because the worker was lost and the item is probably not the cause. */
export function isUncountedTry(
  { lostWorker }: ItemWorkFailure,
  { waits = 0 }: Pick<ItemDocument, 'waits'>,
): boolean {
  return lostWorker === true && waits < MAX_LOST_WORKERS;
}

/** Milliseconds until a failed item is retried; null when it has failed permanently. */
export function itemRetryDelayMs(failure: ItemWorkFailure, triesBefore: number): number | null {
  const isLast = failure.isLast ?? triesBefore + 1 >= MAX_TRIES;
  if (!failure.mayPass || isLast) return null;
  return failure.retryAfterMs ?? FIRST_RETRY_PAUSE_MS * 4 ** triesBefore;
}

/**
 * Milliseconds until an item is retried after a store outage, which does not count as a try and may repeat without a
 * limit.
 */
export function storeOutageDelayMs({ waits = 0 }: Pick<ItemDocument, 'waits'>): number {
  return Math.min(OUTAGE_PAUSE_MS.first * 2 ** waits, OUTAGE_PAUSE_MS.longest);
}

/** The counter for the loss of an expired claim: `deaths` if its process was seen to end, else `lapses`. */
export function claimLossCounterOf({ ownerEnded }: Pick<ItemDocument, 'ownerEnded'>): 'deaths' | 'lapses' {
  return ownerEnded === true ? 'deaths' : 'lapses';
}

/** Whether an item with an expired lease has lost so many claims that it is the probable cause. */
export function isPoisonItem(item: Pick<ItemDocument, 'deaths' | 'lapses' | 'ownerEnded'>): boolean {
  if (claimLossCounterOf(item) === 'deaths') return item.deaths + 1 >= MAX_DEATHS;
  return (item.lapses ?? 0) + 1 >= MAX_LAPSES;
}

/**
 * The outcome of an item that makes its workers crash. The segments that it finished are billed, and a resume begins
 * after them.
 */
export function poisonItemOutcome(
  item: Pick<ItemDocument, 'startedAt' | 'progress' | 'ownerEnded'>,
  now: Date,
): ItemOutcome {
  const [what, times] =
    claimLossCounterOf(item) === 'deaths'
      ? ['ended with it', MAX_DEATHS]
      : ['did not finish it in time', MAX_LAPSES];
  const message = `The process that worked on this item ${what} ${times} times, so it is not tried again.`;
  const { runs, credits } = item.progress ?? NO_USAGE;
  return permanentFailureOutcome(
    { code: 'internal_error', message, mayPass: true, usage: { runs, credits } },
    item,
    now,
  );
}

/**
 * The outcome of a permanent failure. A run that was begun is billed, unless the service itself was the cause: then
 * only finished segments of a chain are billed.
 */
export function permanentFailureOutcome(
  { code, message, usage = NO_USAGE, failedStep }: ItemWorkFailure,
  item: Pick<ItemDocument, 'startedAt'>,
  now: Date,
): ItemOutcome {
  return {
    status: 'FAILED',
    errorCode: code,
    errorMessage: message,
    retryable: ERROR_CODES[code].retryable,
    ...withoutAbsentFields({ failedStep }),
    ...itemTimesOf(item, now),
    ...usage,
  };
}

/** The end time of an item, and the duration of the work on it. */
export function itemTimesOf({ startedAt }: Pick<ItemDocument, 'startedAt'>, now: Date) {
  const durationMs = startedAt === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(startedAt));
  return { durationMs, completedAt: now.toISOString() };
}

/**
 * The number of items from which a job is a batch. Fewer items take about half a second, less than the start of a child
 * process.
 */
const MIN_BATCH_ITEMS = 20;

/** Whether a job is so large that it yields to calls and to smaller jobs. */
export function isBatchJob({ totalItems }: Pick<JobDocument, 'totalItems'>): boolean {
  return totalItems >= MIN_BATCH_ITEMS;
}

/**
 * Whether every item of a running job has settled, by its counters. For a job that is being cancelled, the items are
 * read instead.
 */
export function haveAllItemsSettled({ totalItems, completedItems, failedItems }: JobDocument): boolean {
  return completedItems + failedItems >= totalItems;
}

/** The final status of a job whose items have all settled. */
export function finalJobStatusOf({ status, failedItems }: JobDocument): OutcomeStatus {
  if (status === 'CANCELLING') return 'CANCELLED';
  return failedItems > 0 ? 'FAILED' : 'COMPLETED';
}

/** Whether all, some or no items of an ended job completed; undefined before its end. */
export function jobOutcomeOf(job: JobDocument): 'all' | 'some' | 'none' | undefined {
  if (!hasEnded(job)) return undefined;
  if (job.completedItems === 0) return 'none';
  return job.completedItems === job.totalItems ? 'all' : 'some';
}

/** The sums of a batch of outcomes, for the counters of its job. */
export interface OutcomeSums {
  completedItems: number;
  failedItems: number;
  settledItems: number;
  usedRuns: number;
  usedCredits: number;
  outputs: number;
}

export function sumOutcomes(outcomes: readonly ItemOutcome[]): OutcomeSums {
  const count = (matches: (outcome: ItemOutcome) => boolean) => outcomes.filter(matches).length;
  const completedItems = count(({ status }) => status === 'COMPLETED');
  const failedItems = count(({ status }) => status === 'FAILED');
  return {
    completedItems,
    failedItems,
    settledItems: completedItems + failedItems,
    usedRuns: outcomes.reduce((sum, { runs }) => sum + runs, 0),
    usedCredits: outcomes.reduce((sum, { credits }) => sum + credits, 0),
    outputs: count(({ resultAssetId }) => resultAssetId !== undefined),
  };
}

export function failedItemsMessage(
  { failedItems, totalItems }: JobDocument,
  first: { index: number; message: string },
): string {
  if (totalItems === 1) return first.message;
  return `${failedItems} of ${totalItems} items failed; item ${first.index}: ${first.message}`;
}
