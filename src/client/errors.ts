import type { ErrorCode } from './schema.ts';

/** One change that corrects a refused call. If all changes of a `fix` are made, the call is accepted. */
export interface Fix {
  param: string;
  /**
   * Where the change is made, if not where the field was sent. `query` and `body`: the field is moved there. `header`
   * and `part`: a header, or a part of a form. `request`: the method or the path of the request.
   */
  in?: 'query' | 'body' | 'header' | 'part' | 'request';
  rename?: string;
  replace?: unknown;
  add?: unknown;
  remove?: unknown;
  /**
   * The encoding of the text in the field. Decode the text and send its bytes as the file of a form; if the text was
   * sent as the file, send the bytes in its place.
   */
  decode?: 'base64' | 'data-url';
  encode?: 'percent';
}

/** One of several mistakes in a refused call. */
export interface Mistake {
  param: string;
  fix?: Fix[];
  message?: string;
  suggest?: (string | number)[];
  /** Calls, or parts of them, that do what was probably meant. */
  instead?: object[];
}

/** The fields from which a DarkroomError is made. */
export interface DarkroomErrorInit {
  /** The HTTP status; 0 if there was no response. */
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
 * A call that failed. Programs should test `code` or the class of the error; each code has a class. `message` says in
 * one sentence how to correct the call.
 */
export class DarkroomError extends Error {
  readonly code: DarkroomErrorInit['code'];
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /**
   * Whether the same call may succeed later. The client's own retries, if it may repeat the call, have already failed.
   */
  readonly retryable: boolean;
  /** The parameter at fault. It is `body` if the body as a whole is. */
  readonly param: string | undefined;
  /** Details that a program can act on: allowed, min, max, limit, received, missing, reason and others. */
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;
  /** The address of a page that explains the failure. */
  readonly docUrl: string | undefined;
  /** The number of seconds after which the call may be made again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(facts: DarkroomErrorInit) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target === DarkroomError ? 'DarkroomError' : classNameOf(facts.code);
    this.code = facts.code;
    this.status = facts.status;
    this.retryable = facts.retryable;
    this.param = facts.param;
    this.details = facts.details ?? {};
    this.requestId = facts.requestId;
    this.docUrl = facts.docUrl;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }

  /** Changes after which the call is accepted; empty if the service is not certain of them. */
  get fix(): Fix[] {
    return toArray(this.details.fix) as Fix[];
  }

  /**
   * All mistakes of the call, if only some of them can certainly be corrected. Each has its own `fix`, or a `message`
   * that says what to decide. Empty otherwise.
   */
  get mistakes(): Mistake[] {
    return toArray(this.details.mistakes) as Mistake[];
  }

  /** Words or calls that the caller may have meant; empty if the service has no suggestion. */
  get suggest(): string[] {
    return toArray(this.details.suggest).map(String);
  }
}

function toArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/**
 * The name of the error class of a code, such as `InvalidParamError` for `invalid_param`. The name of the class itself
 * is not used, because a bundler may change it.
 */
function classNameOf(code: string): string {
  const name = code.replace(/_error$/, '').replaceAll(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
  return `${name}Error`;
}

export class InvalidParamError extends DarkroomError {}
export class InvalidStateError extends DarkroomError {}
export class UnsupportedFormatError extends DarkroomError {}
export class UnauthorizedError extends DarkroomError {}
export class InsufficientCreditError extends DarkroomError {}
export class ForbiddenError extends DarkroomError {}
/**
 * The error for an object that does not exist or belongs to another account. Assets, jobs and presets have classes of
 * their own that extend it.
 */
export class NotFoundError extends DarkroomError {}
export class AssetNotFoundError extends NotFoundError {}
export class JobNotFoundError extends NotFoundError {}
export class PresetNotFoundError extends NotFoundError {}
export class MethodNotAllowedError extends DarkroomError {}
export class NotAcceptableError extends DarkroomError {}
export class IdempotencyKeyReuseError extends DarkroomError {}
export class RequestInProgressError extends DarkroomError {}
export class SubscriptionNotActionableError extends DarkroomError {}
export class PayloadTooLargeError extends DarkroomError {}
export class UnsupportedMediaTypeError extends DarkroomError {}
export class AssetCountExceededError extends DarkroomError {}
export class ResourceLimitExceededError extends DarkroomError {}
export class JobNotResumableError extends DarkroomError {}
export class ProviderRejectedError extends DarkroomError {}
export class RateLimitedError extends DarkroomError {}
export class ServiceMisconfiguredError extends DarkroomError {}
export class InternalError extends DarkroomError {}
export class ProviderUnavailableError extends DarkroomError {}

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

/** The error when the service could not be reached, its response broke off, or a proxy responded instead. */
export class ConnectionError extends DarkroomError {
  override name = 'ConnectionError';

  constructor(
    message: string,
    facts: Partial<Pick<DarkroomErrorInit, 'status' | 'retryable' | 'cause'>> = {},
  ) {
    super({ status: 0, code: 'connection_failed', message, retryable: true, ...facts });
  }
}

/**
 * Converts the TypeError by which `fetch` reports a broken connection to a ConnectionError. Other errors are returned
 * unchanged.
 */
export function asConnectionError(error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  return new ConnectionError('The answer broke off before its end: repeat the call.', { cause: error });
}

/** The error for a response that a proxy made instead of the service. */
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

/**
 * The error code by HTTP status, for responses without an envelope. They come from a proxy between the client and the
 * service.
 */
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

/** Makes an error of the class that belongs to its code. */
export function createDarkroomError(facts: DarkroomErrorInit): DarkroomError {
  return new (CLASS_BY_CODE[facts.code as ErrorCode] ?? DarkroomError)(facts);
}

/**
 * Reads an unsuccessful response.
 * @param baseUrl the address of the service, to complete the path of the documentation page.
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

/**
 * The error for a redirect. Redirects are not followed, because the image would be sent to another address. Browsers do
 * not reveal that address.
 */
function redirectError({ status, headers }: Response): ConnectionError {
  const place = headers.get('location') ?? 'another address';
  const message = `The address of the service redirects to ${place}: set baseUrl (DARKROOM_URL) to where it is.`;
  return new ConnectionError(message, { status, retryable: false });
}

function foreignResponseMessage(status: number): string {
  return `The answer has status ${status} and does not come from Darkroom: look at what is between, such as a proxy.`;
}

/** Parses the error in an envelope; undefined if the text is not an envelope with an error. */
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
