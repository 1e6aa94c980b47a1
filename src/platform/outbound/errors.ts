import { ApiError, invalidParamError } from '../http/errors/errors.ts';

/**
 * The kind of failure. `refused`: the target is not allowed. `dns`: the name of the target does not resolve.
 * `connection`: the connection was refused or broken, or the answer is not HTTP. `timeout`: the target was too slow.
 */
type OutboundFault = 'refused' | 'dns' | 'connection' | 'timeout';

const DEFAULT_RETRY_AFTER_SECONDS = 2;

/** The error of an exchange without a complete response. Delivery records contain its message unchanged. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;
  /** The HTTP status, if it was received before the response broke off. */
  readonly status: number | undefined;
  /**
   * Whether the message reveals that a name resolves. Callers must not learn that about names in the operator's
   * network.
   */
  readonly isAboutName: boolean;
  /** The corrected address that was probably meant; undefined if there is none. */
  readonly meant: string | undefined;

  constructor(
    fault: OutboundFault,
    message: string,
    context: {
      status?: number | undefined;
      cause?: unknown;
      isAboutName?: boolean;
      meant?: string | undefined;
    } = {},
  ) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause });
    this.fault = fault;
    this.status = context.status;
    this.isAboutName = context.isAboutName ?? false;
    this.meant = context.meant;
  }
}

export function targetRefusedError(reason: string, cause?: unknown): OutboundError {
  return new OutboundError('refused', `target refused: ${reason}`, { cause });
}

/** The error for an address in a form that is not accepted. */
export function malformedTargetError(reason: string, meant: string | undefined): OutboundError {
  return new OutboundError('refused', `target refused: ${reason}`, { meant });
}

/**
 * The error for a name with an address that is not public. A delivery record says so, but the sender of a URL gets the
 * same message as for a name that does not resolve.
 */
export function notPublicError(hostname: string): OutboundError {
  return new OutboundError('refused', `target refused: ${hostname} is not a public address`, {
    isAboutName: true,
  });
}

export function tooSlowError(what: string, status?: number): OutboundError {
  return new OutboundError('timeout', `timeout: it took too long ${what}`, { status });
}

/**
 * The error of an aborted signal. A timeout is a fault of the other side; any other reason of the signal is returned as
 * it is.
 */
export function errorOfAbortedSignal({ reason }: AbortSignal, what: string): unknown {
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? tooSlowError(what) : reason;
}

/**
 * Maps an outbound error to an API error for the client, who can correct the URL or try again. Any other error is
 * passed on.
 * @param param the field of the call that contains the URL.
 */
export function apiErrorOfOutbound(error: unknown, param = 'url'): unknown {
  if (!(error instanceof OutboundError)) return error;
  if (error.fault === 'connection' || error.fault === 'timeout')
    return hostUnavailableError(error.message, { param });
  const why = error.isAboutName ? 'its host does not resolve to a public address' : error.message;
  const correction =
    'Send one with a public address. Only the operator can allow others, by OUTBOUND_ALLOWED_SUBNETS and OUTBOUND_ALLOW_HTTP.';
  const details = error.meant === undefined ? undefined : { suggest: [error.meant] };
  const refusal = invalidParamError(param, `The url cannot be used: ${why}. ${correction}`, details);
  // The cause is logged, but never sent to the caller.
  refusal.cause = error;
  return refusal;
}

/** The error 503 for a host that failed, perhaps only for a while. */
export function hostUnavailableError(
  what: string,
  {
    param,
    retryAfterSeconds = DEFAULT_RETRY_AFTER_SECONDS,
  }: { param: string; retryAfterSeconds?: number | undefined },
): ApiError {
  const message = `The host of the url failed (${what}); send the same call again later.`;
  const context = { param, details: { reason: 'url_unavailable' }, retryAfterSeconds };
  return new ApiError('provider_unavailable', message, context);
}
