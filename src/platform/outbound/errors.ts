import { ApiError, invalidParam } from '../http/errors.ts';

/**
 * Why nothing came back. `refused`: the target breaks a rule, and will again. `dns`: its name does not resolve.
 * `connection`: refused, cut, or no HTTP. `timeout`: too slow.
 */
type OutboundFault = 'refused' | 'dns' | 'connection' | 'timeout';

const RETRY_AFTER_SECONDS = 2;

/** An exchange that brought no whole answer. The message is short and complete; delivery records carry it as it is. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;
  /** The status of an answer that began and did not come through. */
  readonly status: number | undefined;
  /** It says whether a name resolves, which callers are not to learn of names inside of the operator's network. */
  readonly isAboutName: boolean;

  constructor(
    fault: OutboundFault,
    message: string,
    context: { status?: number | undefined; cause?: unknown; isAboutName?: boolean } = {},
  ) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause });
    this.fault = fault;
    this.status = context.status;
    this.isAboutName = context.isAboutName ?? false;
  }
}

export function targetRefused(reason: string, cause?: unknown): OutboundError {
  return new OutboundError('refused', `target refused: ${reason}`, { cause });
}

/**
 * A name leads to an address that is not public: a delivery record says so, the caller of a url learns no more than of
 * a name that does not resolve.
 */
export function notPublic(hostname: string): OutboundError {
  return new OutboundError('refused', `target refused: ${hostname} is not a public address`, {
    isAboutName: true,
  });
}

export function tooSlow(what: string, status?: number): OutboundError {
  return new OutboundError('timeout', `timeout: it took too long ${what}`, { status });
}

/**
 * The error of an aborted signal: a deadline is a fault of the other side, anything else is the caller's own reason.
 */
export function abortionOf({ reason }: AbortSignal, what: string): unknown {
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? tooSlow(what) : reason;
}

/** The refusal for the client: mend the url, or try again. Any other error passes through as it is. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error;
  if (error.fault === 'connection' || error.fault === 'timeout') return unavailable(error.message);
  const why = error.isAboutName ? 'its host does not resolve to a public address' : error.message;
  const refusal = invalidParam('url', `The url cannot be used: ${why}. Send one with a public address.`);
  // For the log alone.
  refusal.cause = error;
  return refusal;
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
