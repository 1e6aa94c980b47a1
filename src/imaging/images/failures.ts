import type { SearchDetails, TaskFailure } from '../../../workers/protocol.ts';
import {
  ApiError,
  type ApiErrorContext,
  temporarilyUnavailableError,
} from '../../platform/http/errors/errors.ts';

/** An alternative to a call that takes too long: other parameters, or a job, whose tries have a minute each. */
type Alternative = { parameters: Record<string, unknown> } | { job: Record<string, unknown> };

/** Alternatives to a call that takes too long. */
export interface CallAlternatives {
  /** For a program. */
  calls: Alternative[];
  /** For a person: words that follow on "try". */
  words: string;
}

/** The error for a valid call when the pool has no slot. */
export function poolFullError(retryAfterSeconds: number): ApiError {
  return temporarilyUnavailableError(
    'capacity',
    'The image worker is full; make the same call again later.',
    retryAfterSeconds,
  );
}

/** The error for a call of long work when its slots or their memory were taken until its deadline. */
export function longWorkFullError(retryAfterSeconds: number): ApiError {
  return temporarilyUnavailableError(
    'capacity',
    'Work that may take longer than 2 s has few places, and other such work held them, or their memory, until the deadline; make the same call again later, or submit it as a job, which waits for a place.',
    retryAfterSeconds,
  );
}

/** The error for a call whose wait and work together exceed its deadline. */
export function deadlineExceededError(retryAfterSeconds: number): ApiError {
  return temporarilyUnavailableError(
    'deadline_exceeded',
    'The image was not done in time; try a smaller image or a cheaper output, or make the same call again later.',
    retryAfterSeconds,
  );
}

/**
 * The error for a call whose work alone exceeds its deadline, and would again.
 * @param retryAfterSeconds until when equally long work is refused.
 */
export function tookTooLongError(retryAfterSeconds: number, alternatives: CallAlternatives): ApiError {
  const message = `The image was not done in time, and the work itself took that time, not the waiting for it: try ${alternatives.words}.`;
  return deadlineRefusal(message, alternatives, { retryAfterSeconds });
}

/** The error for a call that resembles one which has just exceeded its deadline. Its work is not begun. */
export function likelyTooLongError(
  times: { retryAfterSeconds: number; holdMs: number },
  alternatives: CallAlternatives,
): ApiError {
  const message = `Similar work of this account, over as many pixels or fewer, missed its deadline less than a minute ago, so it is not started again yet: try ${alternatives.words}.`;
  return deadlineRefusal(message, alternatives, times);
}

function deadlineRefusal(
  message: string,
  { calls }: CallAlternatives,
  times: Pick<ApiErrorContext, 'retryAfterSeconds' | 'holdMs'>,
): ApiError {
  const details = { reason: 'deadline_exceeded', ...(calls.length > 0 && { instead: calls }) };
  return new ApiError('provider_unavailable', message, { details, ...times });
}

/**
 * The refusal at the deadline with what the worker tells of it: a search tells the nearest file that it had.
 * @param refusal of the deadline.
 */
export function lateWith(refusal: ApiError, { details = {} }: TaskFailure): ApiError {
  const { achieved } = details as Partial<SearchDetails>;
  if (achieved === undefined) return refusal;
  const { bytes, quality } = achieved;
  const by = quality === undefined ? '' : ` of quality ${quality}`;
  const message = `${refusal.message} The nearest file${by} that the search had by then has ${bytes} bytes.`;
  return new ApiError(refusal.code, message, { ...refusal, details: { ...details, ...refusal.details } });
}

/** The error for a call whose thread or child process died. */
export function workerUnreachableError(cause: unknown): ApiError {
  return temporarilyUnavailableError(
    'worker_unreachable',
    'The image worker was lost; make the same call again.',
    1,
    cause,
  );
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
 * The API error for a failure in a worker.
 * @param paramOf maps a parameter of the pass to the field of the call. Absent: they have the same name.
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

/** The error that a check throws; undefined if the check passes. */
export function errorThrownBy(check: () => void): ApiError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Whether a worker ended its task because the deadline was over. */
export function isLate({ details }: TaskFailure): boolean {
  return details?.reason === 'deadline_exceeded';
}
