import { type ApiError, ERROR_CODES, type ErrorCode } from '../../platform/http/errors.ts';
import { present } from '../../platform/names/present.ts';
import {
  type ItemDocument,
  isTerminal,
  type JobDocument,
  type JobStatus,
  type Outcome,
  type OutcomeStatus,
} from './job.ts';

/** Tries of an item that fails for a reason that may pass. */
const MOST_TRIES = 3;
/** Claims of an item that ended with the death of their process: the item is then taken to be the cause. */
const MOST_DEATHS = 2;
/**
 * Claims whose lease ran out unseen: a host that stood still, or one that was lost whole, is rarely the item's doing.
 */
const MOST_LAPSES = 5;
const FIRST_RETRY_MS = 1_000;
/** Times that a thread or browser may be lost with an item in it before the item is taken to be the cause. */
const MOST_LOST_WORKERS = 3;
/** The pause of an item for which a store was away. */
const WAIT_MS = { first: 1_000, longest: 30_000 };

/** The usage of the work on an item, in runs and credits to pay. */
interface Usage {
  runs: number;
  credits: number;
}

/** How work on an item failed. */
export interface Failure {
  code: ErrorCode;
  message: string;
  /** Whether the same try may succeed later. */
  mayPass: boolean;
  /** When the next try makes sense; the engine's own pause when left out. */
  retryAfterMs?: number;
  /** Whether this was the last try, where that is not for the engine to say. */
  isLast?: boolean;
  /** The thread, process or browser that worked on it was lost, perhaps for another item's sake. */
  lostWorker?: true;
  /** Usage to pay though the item failed. */
  usage?: Usage;
  /** The step of a chain that failed. */
  failedStep?: number;
  /** Nothing of the item was begun: there is no run to pay for. */
  isUnstarted?: true;
}

const NOTHING_USED: Usage = { runs: 0, credits: 0 };

/** A refusal of the interface as the failure of an item. */
export function failureOf(error: ApiError): Failure {
  const { code, message, retryable, retryAfterSeconds, details } = error;
  return {
    code,
    message,
    mayPass: retryable,
    ...(retryAfterSeconds !== undefined && { retryAfterMs: retryAfterSeconds * 1_000 }),
    ...(details?.reason === 'worker_unreachable' && { lostWorker: true }),
  };
}

/** Whether a failure is no try of its item: its worker was lost, and not so often that the item may be the cause. */
export function isForgiven({ lostWorker }: Failure, { waits = 0 }: Pick<ItemDocument, 'waits'>): boolean {
  return lostWorker === true && waits < MOST_LOST_WORKERS;
}

/** Milliseconds until an item that failed is tried again; null when it has failed for good. */
export function retryAfterMs(failure: Failure, triesBefore: number): number | null {
  const isLast = failure.isLast ?? triesBefore + 1 >= MOST_TRIES;
  if (!failure.mayPass || isLast) return null;
  return failure.retryAfterMs ?? FIRST_RETRY_MS * 4 ** triesBefore;
}

/**
 * Milliseconds until an item is taken up again for which a store was away. That is no try: it waits as often as it
 * must.
 */
export function waitMs({ waits = 0 }: Pick<ItemDocument, 'waits'>): number {
  return Math.min(WAIT_MS.first * 2 ** waits, WAIT_MS.longest);
}

/** How a claim ended whose lease is over: with its process, or only in the eyes of others. */
export function endOfLease({ ownerEnded }: Pick<ItemDocument, 'ownerEnded'>): 'deaths' | 'lapses' {
  return ownerEnded === true ? 'deaths' : 'lapses';
}

/** Whether an item whose lease is over lost one claim too many. */
export function isPoison(item: Pick<ItemDocument, 'deaths' | 'lapses' | 'ownerEnded'>): boolean {
  if (endOfLease(item) === 'deaths') return item.deaths + 1 >= MOST_DEATHS;
  return (item.lapses ?? 0) + 1 >= MOST_LAPSES;
}

/** The outcome of a poison item. Segments that it finished before are paid: a resume begins behind them. */
export function poisoned(
  item: Pick<ItemDocument, 'startedAt' | 'progress' | 'ownerEnded'>,
  now: Date,
): Outcome {
  const [what, times] =
    endOfLease(item) === 'deaths'
      ? ['ended with it', MOST_DEATHS]
      : ['did not finish it in time', MOST_LAPSES];
  const message = `The process that worked on this item ${what} ${times} times, so it is not tried again.`;
  const { runs, credits } = item.progress ?? NOTHING_USED;
  return failed({ code: 'internal_error', message, mayPass: true, usage: { runs, credits } }, item, now);
}

/**
 * A failure for good. A run that was handed out is paid for, unless the cause was ours, one that may pass: then only
 * finished segments of a chain are paid.
 */
export function failed(
  { code, message, usage = NOTHING_USED, failedStep }: Failure,
  item: Pick<ItemDocument, 'startedAt'>,
  now: Date,
): Outcome {
  return {
    status: 'FAILED',
    errorCode: code,
    errorMessage: message,
    retryable: ERROR_CODES[code].retryable,
    ...present({ failedStep }),
    ...timesOf(item, now),
    ...usage,
  };
}

/** When an item ended, and how long it was worked on. */
export function timesOf({ startedAt }: Pick<ItemDocument, 'startedAt'>, now: Date) {
  const durationMs = startedAt === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(startedAt));
  return { durationMs, completedAt: now.toISOString() };
}

/** Fewer items take about half a second, less than a child process would take to start. */
const BATCH_ITEMS = 20;

/** Whether a job is so large that it gives way to calls and to smaller jobs. */
export function isBatch({ totalItems }: Pick<JobDocument, 'totalItems'>): boolean {
  return totalItems >= BATCH_ITEMS;
}

/** Whether every item of a running job has settled. Items of a job that is being cancelled are looked at themselves. */
export function isOver({ totalItems, completedItems, failedItems }: JobDocument): boolean {
  return completedItems + failedItems >= totalItems;
}

/** How a job ends whose items have all settled. */
export function finalStatusOf({
  status,
  failedItems,
}: Pick<JobDocument, 'status' | 'failedItems'>): OutcomeStatus {
  if (status === 'CANCELLING') return 'CANCELLED';
  return failedItems > 0 ? 'FAILED' : 'COMPLETED';
}

/** How many items of a job that has ended completed: all, some or none; undefined while it is under way. */
export function outcomeOf({
  status,
  totalItems,
  completedItems,
}: Pick<JobDocument, 'status' | 'totalItems' | 'completedItems'>): 'all' | 'some' | 'none' | undefined {
  if (!isTerminal(status)) return undefined;
  if (completedItems === 0) return 'none';
  return completedItems === totalItems ? 'all' : 'some';
}

/** Whether a job that is leaving was never shown, so that its submit is undone: unlike one whose record has expired. */
export function isUndone({ shown, completedAt }: Pick<JobDocument, 'shown' | 'completedAt'>): boolean {
  return shown === 0 && completedAt === null;
}

/** Whether a job can be cancelled. */
export function isCancellable(status: JobStatus): boolean {
  return status === 'PENDING' || status === 'PROCESSING';
}

/** Whether a job can be resumed, as far as its own status says. */
export function isResumable(status: JobStatus): boolean {
  return status === 'FAILED' || status === 'CANCELLED';
}

/** The sums of a batch of outcomes, for the counters of its job. */
export interface Tally {
  completedItems: number;
  failedItems: number;
  settledItems: number;
  usedRuns: number;
  usedCredits: number;
  outputs: number;
}

export function tallyOf(outcomes: readonly Outcome[]): Tally {
  const count = (matches: (outcome: Outcome) => boolean) => outcomes.filter(matches).length;
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

/** One line for a person, of a job of which items failed. */
export function errorMessageOf(
  { failedItems, totalItems }: Pick<JobDocument, 'failedItems' | 'totalItems'>,
  first: { index: number; message: string },
): string {
  if (totalItems === 1) return first.message;
  return `${failedItems} of ${totalItems} items failed; item ${first.index}: ${first.message}`;
}
