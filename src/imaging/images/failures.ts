import { isLateFailure, type SearchDetails, type TaskFailure } from '../../../workers/protocol.ts';
import {
  ApiError,
  type ApiErrorContext,
  temporarilyUnavailableError,
} from '../../platform/http/errors/errors.ts';

/**
 * An alternative to a call that takes too long: other parameters, or jobs that together do the work. An attempt of a
 * job may take a minute.
 */
type Alternative =
  | { parameters: Record<string, unknown> }
  | { job: Record<string, unknown> }
  | { jobs: readonly Record<string, unknown>[] };

/** Alternatives to a call that takes too long. */
export interface CallAlternatives {
  /** The alternatives as data, for a program. */
  calls: Alternative[];
  /** The alternatives for a person, as words after "try". */
  words: string;
}

/** What is known of work that missed its deadline. */
export interface LateProgress {
  /** The share of the pixels that could be done in time, if the worker measured it. */
  doableShare?: number | undefined;
  /** Whether other work had the processor, so that the measured share says nothing about what a job can do. */
  wasStarved?: boolean;
}

/** The part of the work that the worker reports as late. */
export interface LatePart {
  /** Returns what to send instead of the part. */
  alternatives(progress?: LateProgress): CallAlternatives;
  doableShare?: number | undefined;
}

/** The CPU time that work has used, and the time that it had, in milliseconds. */
export interface WorkTime {
  cpuMs: number;
  allowedMs: number;
}

/** The error for a valid call when the pool has no slot. */
export function poolFullError(retryAfterSeconds: number): ApiError {
  const message = 'The image worker is full; make the same call again later.';
  return temporarilyUnavailableError('capacity', message, retryAfterSeconds);
}

/**
 * The error for a call with long work whose deadline passed while other work held all slots or all memory for long
 * work.
 */
export function longWorkFullError(retryAfterSeconds: number): ApiError {
  const message =
    'Work that may take longer than 2 s has few places, and other such work held them, or their memory, until the deadline; make the same call again later, or submit it as a job, which waits for a place.';
  return temporarilyUnavailableError('capacity', message, retryAfterSeconds);
}

/** The error for a call whose wait and work together exceed its deadline. Most of that time was the wait. */
export function deadlineExceededError(retryAfterSeconds: number): ApiError {
  const message =
    'The image was not done in time, and most of that time was the waiting for a worker, not the work: make the same call again later.';
  return temporarilyUnavailableError('deadline_exceeded', message, retryAfterSeconds);
}

/**
 * The error for a call whose work alone exceeds its deadline, and would again.
 * @param retryAfterSeconds the seconds for which equally long work is refused.
 */
export function tookTooLongError(retryAfterSeconds: number, alternatives: CallAlternatives): ApiError {
  const message = `The image was not done in time, and the work itself took that time, not the waiting for it${suggestionText(alternatives)}.`;
  return deadlineError(message, alternatives.calls, { retryAfterSeconds });
}

/** The error for a call whose work hardly got CPU time, so that it may be in time on a less busy host. */
export function starvedError(
  retryAfterSeconds: number,
  { cpuMs, allowedMs }: WorkTime,
  { calls, words }: CallAlternatives,
): ApiError {
  const [used, had] = [cpuMs, allowedMs].map((ms) => (ms / 1_000).toFixed(1));
  const message = `The image was not done in time, because other work had the processor: this work got ${used} s of it within ${had} s. Make the same call again later${words === '' ? '' : `, or try ${words}`}.`;
  return deadlineError(message, calls, { retryAfterSeconds });
}

/** The error for a call that resembles one which has just exceeded its deadline. Its work is not begun. */
export function likelyTooLongError(
  times: { retryAfterSeconds: number; holdMs: number },
  alternatives: CallAlternatives,
): ApiError {
  const message = `Similar work of this account, over as many pixels or fewer, missed its deadline less than a minute ago, so it is not started again yet${suggestionText(alternatives)}.`;
  return deadlineError(message, alternatives.calls, times);
}

/** The end of a sentence that names what to try; empty if there is no alternative. */
function suggestionText({ words }: CallAlternatives): string {
  return words === '' ? '' : `: try ${words}`;
}

function deadlineError(
  message: string,
  instead: readonly Alternative[],
  times: Pick<ApiErrorContext, 'retryAfterSeconds' | 'holdMs'>,
): ApiError {
  const details = { reason: 'deadline_exceeded', ...(instead.length > 0 && { instead }) };
  return new ApiError('provider_unavailable', message, { details, ...times });
}

/** The facts that decide the error of a call, in addition to the failure of its task. */
interface FailedCall extends Pick<LatePart, 'alternatives'> {
  deadline: { deadlineError(part: LatePart): ApiError };
  /** Maps a parameter of the pass to the field of the call. */
  paramOf?: ((passParam: string) => string) | undefined;
}

/**
 * The error of a call whose task failed in a worker. If a worker notices the deadline before this process does, the
 * error is the same.
 */
export function apiErrorOfFailedCall(
  failure: TaskFailure,
  { deadline, paramOf, alternatives }: FailedCall,
): ApiError {
  const { doableShare } = failure;
  if (isLateFailure(failure))
    return withSearchDetails(deadline.deadlineError({ alternatives, doableShare }), failure);
  const error = apiErrorOfFailure(failure, paramOf);
  const { calls } = doableShare === undefined ? { calls: [] } : alternatives({ doableShare });
  const instead = calls.filter((call) => 'parameters' in call);
  if (instead.length === 0) return error;
  return new ApiError(error.code, error.message, { ...error, details: { ...error.details, instead } });
}

/**
 * The refusal at the deadline, with the details that the worker reports, such as the nearest file that a search has
 * found.
 */
function withSearchDetails(refusal: ApiError, { details = {} }: TaskFailure): ApiError {
  const { achieved } = details as Partial<SearchDetails>;
  if (achieved === undefined) return refusal;
  const { bytes, quality } = achieved;
  const qualityWords = quality === undefined ? '' : ` of quality ${quality}`;
  const message = `${refusal.message} The nearest file${qualityWords} that the search had by then has ${bytes} bytes.`;
  return new ApiError(refusal.code, message, { ...refusal, details: { ...details, ...refusal.details } });
}

/** The error for a call whose thread or child process died. */
export function workerUnreachableError(cause: unknown): ApiError {
  const message = 'The image worker was lost; make the same call again.';
  return temporarilyUnavailableError('worker_unreachable', message, 1, cause);
}

/** The error for a file that is not an image of a supported format, or is too large. */
export function unsupportedFormatError(
  message: string,
  details?: Record<string, unknown>,
  param?: string,
): ApiError {
  return new ApiError('unsupported_format', message, { param, details });
}

/**
 * The API error for a failure of a pass, found in a worker or before it.
 * @param paramOf maps a parameter of the pass to the field of the call. By default, they have the same name.
 */
export function apiErrorOfFailure(
  failure: TaskFailure,
  paramOf = (passParam: string) => passParam,
): ApiError {
  return new ApiError(failure.code, failure.message, {
    param: failure.param === undefined ? undefined : paramOf(failure.param),
    details: failure.details,
  });
}

/** The result of a function, or the ApiError that it throws. */
export function resultOrApiError<T>(make: () => T): T | ApiError {
  try {
    return make();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Whether an outcome is the error of work that was not done by its deadline. */
export function isLateError(outcome: unknown): boolean {
  return outcome instanceof ApiError && outcome.details?.reason === 'deadline_exceeded';
}
