import { type ApiError, ERROR_CODES, type ErrorCode } from '../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  type ClaimedItem,
  hasEnded,
  type ItemDocument,
  type ItemError,
  type ItemOutcome,
  type JobDocument,
  type OutcomeStatus,
} from './job.ts';

/** The result of the work on an item. */
export type ItemWorkResult = { outcome: ItemOutcome } | UnfinishedItemWork;

/** Work without an outcome: it failed, there was no free slot for it, or a store was unavailable. */
export type UnfinishedItemWork = { failure: ItemWorkFailure } | { putBackMs: number } | { outage: unknown };

/** Signals that the work on an item is no longer wanted. */
export interface WorkSignals {
  /** Aborts all work on the item, because the process is stopping. */
  signal: AbortSignal;
  /**
   * Aborts when the job is being cancelled. It ends waits, but not what a worker has begun. The reason of the signal is
   * an ItemStoppedError.
   */
  waitSignal: AbortSignal;
}

/**
 * Works on an item. Resolves with the outcome, or with a failure that says whether a retry may succeed. Never rejects.
 */
export type PerformItemWork = (
  item: ClaimedItem,
  job: JobDocument,
  signals: WorkSignals,
) => Promise<ItemWorkResult>;

/** Thrown when the claim of the item was lost, so that the work on it is no longer wanted. */
export class ItemAbandonedError extends Error {
  override readonly name = 'ItemAbandonedError';
}

/** Thrown when the job is being cancelled. The item then ends before any further work on it begins. */
export class ItemStoppedError extends Error {
  override readonly name = 'ItemStoppedError';
}

/** How many times an item is tried if its failures are retryable. */
const MAX_ITEM_TRIES = 3;
/**
 * How many claims of an item may end because their process died. After that, the item is assumed to have killed the
 * processes.
 */
const MAX_DEATHS = 2;
/**
 * How many claims of an item may expire without a process that was seen to end. The limit is higher than MAX_DEATHS,
 * because an item rarely stops a whole host.
 */
const MAX_LAPSES = 5;
const FIRST_RETRY_PAUSE_MS = 1_000;
/**
 * How many threads or browsers may be lost while they work on an item. After that, the item is assumed to have crashed
 * them.
 */
const MAX_LOST_WORKERS = 3;
/** The pause of an item after a store outage, in milliseconds. It grows with each outage. */
const OUTAGE_PAUSE_MS = { first: 1_000, longest: 30_000 };

/** What the work on an item has used: billable runs and credits. */
type ItemUsage = Pick<ItemOutcome, 'runs' | 'credits'>;

export interface ItemWorkFailure {
  code: ErrorCode;
  message: string;
  /** Whether a retry may succeed, because the cause may pass. */
  mayPass: boolean;
  /** How long to wait before a retry, in milliseconds. If absent, the engine decides. */
  retryAfterMs?: number;
  /** Whether the item must not be tried again. If absent, the engine decides. */
  isLast?: boolean;
  /**
   * Whether the thread, the process or the browser was lost. Another item that it worked on may have been the cause.
   */
  lostWorker?: true;
  /** The usage that is billed in spite of the failure. */
  usage?: ItemUsage;
  failedStep?: number;
  /** Whether the work had not begun, so that no run is billed. */
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

/** The error that an item has while it waits for an unavailable store. */
const STORE_OUTAGE_ERROR: ItemError = {
  code: 'internal_error',
  message: 'A store of the service does not answer: the item waits for it.',
};

/** How an item is put back, to be tried again. */
export interface ItemRetry {
  pauseMs: number;
  /** The counter that increases; null when the item only lacked a slot. */
  counter: 'tries' | 'waits' | null;
  error?: ItemError;
}

/**
 * How an item without an outcome is tried again; null when it has failed permanently. Store outages do not count as
 * tries, and may be repeated without limit. A failure is not counted either if the worker was lost, and the item is
 * probably not the cause.
 */
export function itemRetryOf(
  result: UnfinishedItemWork,
  { tries, waits = 0 }: Pick<ItemDocument, 'tries' | 'waits'>,
): ItemRetry | null {
  if ('putBackMs' in result) return { pauseMs: result.putBackMs, counter: null };
  const wait = {
    pauseMs: Math.min(OUTAGE_PAUSE_MS.first * 2 ** waits, OUTAGE_PAUSE_MS.longest),
    counter: 'waits',
  } as const;
  if ('outage' in result) return { ...wait, error: STORE_OUTAGE_ERROR };
  const { code, message, mayPass, lostWorker, retryAfterMs, isLast } = result.failure;
  const error = { code, message };
  if (lostWorker === true && waits < MAX_LOST_WORKERS) return { ...wait, error };
  if (!mayPass || (isLast ?? tries + 1 >= MAX_ITEM_TRIES)) return null;
  return { pauseMs: retryAfterMs ?? FIRST_RETRY_PAUSE_MS * 4 ** tries, counter: 'tries', error };
}

/** The counter that increases when a claim is lost: `deaths` if its process was seen to end, or else `lapses`. */
export function claimLossCounterOf({ ownerEnded }: Pick<ItemDocument, 'ownerEnded'>): 'deaths' | 'lapses' {
  return ownerEnded === true ? 'deaths' : 'lapses';
}

/** Whether an item with an expired lease has now lost so many claims that it is assumed to crash its processes. */
export function isPoisonItem(item: Pick<ItemDocument, 'deaths' | 'lapses' | 'ownerEnded'>): boolean {
  if (claimLossCounterOf(item) === 'deaths') return item.deaths + 1 >= MAX_DEATHS;
  return (item.lapses ?? 0) + 1 >= MAX_LAPSES;
}

/** The outcome of an item that makes its workers crash. Finished segments are billed; a resume continues after them. */
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

/** The outcome of a permanent failure, with the usage that is billed in spite of it. */
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
 * The minimum number of items of a batch job, whose work is done by a child process. Fewer items take about half a
 * second, which is less than the start of a child process.
 */
const MIN_BATCH_ITEMS = 20;

/** Whether a job is so large that calls and smaller jobs have priority over it. */
export function isBatchJob({ totalItems }: Pick<JobDocument, 'totalItems'>): boolean {
  return totalItems >= MIN_BATCH_ITEMS;
}

/**
 * Whether all items of a running job have settled, according to its counters. For a job that is being cancelled, the
 * items must be read instead.
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

/** The sums over a batch of outcomes, by which the counters of the job increase. */
export type OutcomeSums = Pick<
  JobDocument,
  'completedItems' | 'failedItems' | 'settledItems' | 'usedRuns' | 'usedCredits' | 'outputs'
>;

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
