import { ApiError, invalidParam } from '../http/errors.ts';

/**
 * Why nothing came back.
 * `refused`: the target breaks a rule, and will again. `dns`: its name does not resolve. `connection`: refused, cut, or no
 * HTTP. `timeout`: too slow.
 */
export type OutboundFault = 'refused' | 'dns' | 'connection' | 'timeout';

const RETRY_AFTER_SECONDS = 2;

/** An exchange that brought no whole answer. The message is short and complete; delivery records carry it as it is. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;
  /** The status of an answer that began and did not come through. */
  readonly status: number | undefined;

  constructor(
    fault: OutboundFault,
    message: string,
    context: { status?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause });
    this.fault = fault;
    this.status = context.status;
  }
}

export function targetRefused(reason: string, cause?: unknown): OutboundError {
  return new OutboundError('refused', `target refused: ${reason}`, { cause });
}

export function tooSlow(what: string, status?: number): OutboundError {
  return new OutboundError('timeout', `timeout: it took too long ${what}`, { status });
}

/** What an aborted signal means: a deadline is a fault of the other side, anything else is the caller's own reason. */
export function abortionOf({ reason }: AbortSignal, what: string): unknown {
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? tooSlow(what) : reason;
}

/** The refusal for the client: mend the url, or try again. Any other error passes through as it is. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error;
  if (error.fault === 'connection' || error.fault === 'timeout') return unavailable(error.message);
  return invalidParam('url', `The url cannot be used: ${error.message}. Send one with a public address.`);
}

/** 503: the host failed now and may answer later. */
export function unavailable(what: string, retryAfterSeconds = RETRY_AFTER_SECONDS): ApiError {
  const message = `The host of the url failed (${what}); send the same call again later.`;
  return new ApiError('provider_unavailable', message, {
    param: 'url',
    details: { reason: 'url_unavailable' },
    retryAfterSeconds,
  });
}
