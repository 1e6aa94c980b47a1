import type { Failure } from '../../../workers/protocol.ts';
import { ApiError, unavailable } from '../../platform/http/errors.ts';

/** Nothing is wrong with the call: there is no room for it now. */
export function capacity(retryAfterSeconds: number): ApiError {
  return unavailable(
    'capacity',
    'The image worker is full; make the same call again later.',
    retryAfterSeconds,
  );
}

/** The call took longer than it may, waiting and working together. */
export function deadlineExceeded(retryAfterSeconds: number): ApiError {
  return unavailable(
    'deadline_exceeded',
    'The image was not done in time; try a smaller image or a cheaper output, or make the same call again later.',
    retryAfterSeconds,
  );
}

/**
 * The work itself took the time of the call, and would take it again.
 * @param instead what ends sooner, each as a caller can act on it.
 */
export function tookTooLong(retryAfterSeconds: number, instead: readonly string[]): ApiError {
  const ways = instead.join(', or ');
  const message = `The image was not done in time, and the work itself took that time, not the waiting for it: try ${ways}.`;
  const details = { reason: 'deadline_exceeded', instead };
  return new ApiError('provider_unavailable', message, { details, retryAfterSeconds });
}

/** A thread or process died with the call inside. */
export function workerUnreachable(cause: unknown): ApiError {
  return unavailable('worker_unreachable', 'The image worker was lost; make the same call again.', 1, cause);
}

/** The bytes are no image that the service reads, or one that is too large. */
export function unsupportedFormat(
  message: string,
  details?: Record<string, unknown>,
  param?: string,
): ApiError {
  return new ApiError('unsupported_format', message, { param, details });
}

/** A worker's refusal as the API shows it; `paramOf` names the pass-relative parameter in the caller's words. */
export function refusalOf(failure: Failure, paramOf: (passParam: string) => string): ApiError {
  return new ApiError(failure.code, failure.message, {
    param: failure.param === undefined ? undefined : paramOf(failure.param),
    details: failure.details,
  });
}
