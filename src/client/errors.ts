import type { ErrorCode } from './schema.ts';

/** One change to a call that was refused. All changes of a `fix` together make the call pass. */
export interface Fix {
  param: string;
  /**
   * The place of the change, if it is not that of the sent field: the query or the body to which a field is moved, a
   * header, or a part.
   */
  in?: 'query' | 'body' | 'header' | 'part';
  rename?: string;
  replace?: unknown;
  add?: unknown;
  remove?: unknown;
}

/** The facts of a failure. */
export interface DarkroomErrorInit {
  /** HTTP status; 0 when there was no answer. */
  status: number;
  code: ErrorCode | 'connection_failed' | 'timed_out';
  message: string;
  retryable: boolean;
  param?: string | undefined;
  details?: Record<string, unknown> | undefined;
  requestId?: string | undefined;
  docUrl?: string | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/**
 * A call that failed. Branch on `code`, or on the class: there is one class per code. `message` says in one sentence
 * how to correct the call.
 */
export class DarkroomError extends Error {
  override name = 'DarkroomError';
  readonly code: DarkroomErrorInit['code'];
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Whether the same call may succeed later. The client has repeated it `maxRetries` times already. */
  readonly retryable: boolean;
  /** The parameter at fault; `body` if it is the body itself. */
  readonly param: string | undefined;
  /** Details for a program: allowed, min, max, limit, received, missing, reason and others. */
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;
  /** Address of a page that explains the failure. */
  readonly docUrl: string | undefined;
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(facts: DarkroomErrorInit) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code;
    this.status = facts.status;
    this.retryable = facts.retryable;
    this.param = facts.param;
    this.details = facts.details ?? {};
    this.requestId = facts.requestId;
    this.docUrl = facts.docUrl;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }

  /** Changes that make the call pass, if the service is certain of them; otherwise empty. */
  get fix(): Fix[] {
    return listOrEmpty(this.details.fix) as Fix[];
  }

  /** The words or calls that the caller may have meant, if several are likely. */
  get suggest(): string[] {
    return listOrEmpty(this.details.suggest).map(String);
  }
}

function listOrEmpty(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

export class InvalidParamError extends DarkroomError {
  override name = 'InvalidParamError';
}
export class InvalidStateError extends DarkroomError {
  override name = 'InvalidStateError';
}
export class UnsupportedFormatError extends DarkroomError {
  override name = 'UnsupportedFormatError';
}
export class UnauthorizedError extends DarkroomError {
  override name = 'UnauthorizedError';
}
export class InsufficientCreditError extends DarkroomError {
  override name = 'InsufficientCreditError';
}
export class ForbiddenError extends DarkroomError {
  override name = 'ForbiddenError';
}
/**
 * The error for an object that does not exist, or is not the caller's. Classes for assets, jobs and presets extend it.
 */
export class NotFoundError extends DarkroomError {
  override name = 'NotFoundError';
}
export class AssetNotFoundError extends NotFoundError {
  override name = 'AssetNotFoundError';
}
export class JobNotFoundError extends NotFoundError {
  override name = 'JobNotFoundError';
}
export class PresetNotFoundError extends NotFoundError {
  override name = 'PresetNotFoundError';
}
export class MethodNotAllowedError extends DarkroomError {
  override name = 'MethodNotAllowedError';
}
export class NotAcceptableError extends DarkroomError {
  override name = 'NotAcceptableError';
}
export class IdempotencyKeyReuseError extends DarkroomError {
  override name = 'IdempotencyKeyReuseError';
}
export class RequestInProgressError extends DarkroomError {
  override name = 'RequestInProgressError';
}
export class SubscriptionNotActionableError extends DarkroomError {
  override name = 'SubscriptionNotActionableError';
}
export class PayloadTooLargeError extends DarkroomError {
  override name = 'PayloadTooLargeError';
}
export class UnsupportedMediaTypeError extends DarkroomError {
  override name = 'UnsupportedMediaTypeError';
}
export class AssetCountExceededError extends DarkroomError {
  override name = 'AssetCountExceededError';
}
export class ResourceLimitExceededError extends DarkroomError {
  override name = 'ResourceLimitExceededError';
}
export class JobNotResumableError extends DarkroomError {
  override name = 'JobNotResumableError';
}
export class ProviderRejectedError extends DarkroomError {
  override name = 'ProviderRejectedError';
}
export class RateLimitedError extends DarkroomError {
  override name = 'RateLimitedError';
}
export class ServiceMisconfiguredError extends DarkroomError {
  override name = 'ServiceMisconfiguredError';
}
export class InternalError extends DarkroomError {
  override name = 'InternalError';
}
export class ProviderUnavailableError extends DarkroomError {
  override name = 'ProviderUnavailableError';
}

const CLASS_BY_CODE: Readonly<Record<ErrorCode, typeof DarkroomError>> = {
  invalid_param: InvalidParamError,
  invalid_state: InvalidStateError,
  unsupported_format: UnsupportedFormatError,
  unauthorized: UnauthorizedError,
  insufficient_credit: InsufficientCreditError,
  forbidden: ForbiddenError,
  asset_not_found: AssetNotFoundError,
  job_not_found: JobNotFoundError,
  preset_not_found: PresetNotFoundError,
  not_found: NotFoundError,
  method_not_allowed: MethodNotAllowedError,
  not_acceptable: NotAcceptableError,
  idempotency_key_reuse: IdempotencyKeyReuseError,
  request_in_progress: RequestInProgressError,
  subscription_not_actionable: SubscriptionNotActionableError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  asset_count_exceeded: AssetCountExceededError,
  resource_limit_exceeded: ResourceLimitExceededError,
  job_not_resumable: JobNotResumableError,
  provider_rejected: ProviderRejectedError,
  rate_limited: RateLimitedError,
  service_misconfigured: ServiceMisconfiguredError,
  internal_error: InternalError,
  provider_unavailable: ProviderUnavailableError,
};

/** The error if the service could not be reached, if its response broke off, or if something else responded. */
export class ConnectionError extends DarkroomError {
  override name = 'ConnectionError';

  constructor(
    message: string,
    facts: Partial<Pick<DarkroomErrorInit, 'status' | 'retryable' | 'cause'>> = {},
  ) {
    super({ status: 0, code: 'connection_failed', message, retryable: true, ...facts });
  }
}

/** The error of reading a response, as a ConnectionError if the connection broke. */
export function asConnectionError(error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  return new ConnectionError('The answer broke off before its end: repeat the call.', { cause: error });
}

/** The error for a response that came from a proxy between the client and the service. */
export function foreignResponseError(status: number): ConnectionError {
  return new ConnectionError(foreignResponseMessage(status), { status });
}

/** The error of an attempt that took longer than `timeoutMs`. */
export class TimeoutError extends DarkroomError {
  override name = 'TimeoutError';

  constructor(timeoutMs: number) {
    const message = `The service did not answer within ${timeoutMs} ms: set timeoutMs higher, or repeat the call.`;
    super({ status: 0, code: 'timed_out', message, retryable: true });
  }
}

/** The codes of failures without an envelope, which come from a proxy between the client and the service. */
const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  429: 'rate_limited',
  500: 'internal_error',
};

/** The error object of an envelope, as the service sends it. */
interface ErrorObject extends Omit<DarkroomErrorInit, 'status' | 'code'> {
  code: ErrorCode;
}

/** The error for an error object, as an instance of the class of its code. */
export function createDarkroomError(facts: DarkroomErrorInit): DarkroomError {
  return new (CLASS_BY_CODE[facts.code as ErrorCode] ?? DarkroomError)(facts);
}

/**
 * Reads a response that is not a success.
 * @param baseUrl the address against which the path of the documentation page is resolved.
 */
export async function readFailure(response: Response, baseUrl: string): Promise<DarkroomError> {
  const { status, headers } = response;
  const text = await response.text();
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  const known = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  };
  const sent = parseErrorEnvelope(text);
  if (sent !== undefined)
    return createDarkroomError({ ...known, ...sent, docUrl: resolveDocUrl(sent.docUrl, baseUrl) });
  if (status < 400) return redirectError(response);
  const code = CODE_BY_STATUS[status] ?? (status >= 500 ? 'provider_unavailable' : 'invalid_param');
  return createDarkroomError({
    ...{ ...known, code, message: foreignResponseMessage(status) },
    retryable: status >= 500 || status === 429,
  });
}

/** A redirect is not followed, because it would carry the image to another address. Browsers do not tell its target. */
function redirectError({ status, headers }: Response): ConnectionError {
  const place = headers.get('location') ?? 'another address';
  const message = `The address of the service redirects to ${place}: set baseUrl (DARKROOM_URL) to where it is.`;
  return new ConnectionError(message, { status, retryable: false });
}

function foreignResponseMessage(status: number): string {
  return `The answer has status ${status} and does not come from Darkroom: look at what is between, such as a proxy.`;
}

/** The error object of an envelope; undefined if the text is no envelope of an error. */
export function parseErrorEnvelope(text: string): ErrorObject | undefined {
  try {
    const { error } = JSON.parse(text);
    return typeof error?.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

function resolveDocUrl(docUrl: string | undefined, baseUrl: string): string | undefined {
  return docUrl?.startsWith('/') ? baseUrl + docUrl : docUrl;
}
