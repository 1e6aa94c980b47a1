import { truncatedJson } from '../../values/json.ts';
import type { CallCorrection } from './corrections.ts';

/**
 * The closed set of error codes, each with its HTTP status and whether the same call may be repeated.
 * Adding a code is a minor change of the interface; renaming or removing one breaks it.
 */
export const ERROR_CODES = {
  invalid_param: { status: 400, retryable: false },
  invalid_state: { status: 400, retryable: false },
  unsupported_format: { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  insufficient_credit: { status: 402, retryable: false },
  forbidden: { status: 403, retryable: false },
  asset_not_found: { status: 404, retryable: false },
  job_not_found: { status: 404, retryable: false },
  preset_not_found: { status: 404, retryable: false },
  not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  not_acceptable: { status: 406, retryable: false },
  idempotency_key_reuse: { status: 409, retryable: false },
  request_in_progress: { status: 409, retryable: true },
  subscription_not_actionable: { status: 409, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  asset_count_exceeded: { status: 422, retryable: false },
  resource_limit_exceeded: { status: 422, retryable: false },
  job_not_resumable: { status: 422, retryable: false },
  provider_rejected: { status: 422, retryable: false },
  rate_limited: { status: 429, retryable: true },
  service_misconfigured: { status: 500, retryable: false },
  internal_error: { status: 500, retryable: true },
  provider_unavailable: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ApiErrorContext {
  /** The invalid parameter; `body` for the body itself. */
  param?: string | undefined;
  /** The place at which the parameter was sent, if that differs from its name. */
  path?: string | undefined;
  /** Context that a program can act on: limits, allowed values, the sub-reason. */
  details?: Record<string, unknown> | undefined;
  /**
   * Changes that certainly correct this fault. If the corrected call passes all checks, `details.fix` contains them
   * together with the changes for all other faults.
   */
  corrections?: readonly CallCorrection[] | undefined;
  /** Seconds for the Retry-After header. Always given for rate_limited. */
  retryAfterSeconds?: number | undefined;
  /** By how many milliseconds the response is delayed. The call takes no slot of its account meanwhile. */
  holdMs?: number | undefined;
  /** Extra response headers, such as Allow. */
  headers?: Record<string, string> | undefined;
  cause?: unknown;
}

/**
 * An error of the API with everything that its response needs. The message is one sentence for a person and says how to
 * correct the call. It repeats long values of the caller only in part, so that the size of a response does not depend
 * on the refused value.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly param: string | undefined;
  readonly path: string;
  readonly details: Record<string, unknown> | undefined;
  readonly corrections: readonly CallCorrection[];
  readonly retryAfterSeconds: number | undefined;
  readonly holdMs: number | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, message: string, context: ApiErrorContext = {}) {
    const options = context.cause === undefined ? undefined : { cause: context.cause };
    super(truncateMiddle(message, MAX_MESSAGE_CHARACTERS), options);
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.retryable = ERROR_CODES[code].retryable;
    this.param =
      context.param === undefined ? undefined : truncateMiddle(context.param, MAX_PARAM_CHARACTERS);
    this.path = context.path ?? context.param ?? '';
    this.details = context.details && truncateDetails(context.details);
    this.corrections = context.corrections ?? [];
    this.retryAfterSeconds = context.retryAfterSeconds;
    this.holdMs = context.holdMs;
    this.headers = context.headers;
  }

  /** Returns this error with more details, or this error itself if these are too long. */
  withDetails(details: Record<string, unknown>): ApiError {
    if (JSON.stringify(details).length > MAX_DETAIL_CHARACTERS) return this;
    return new ApiError(this.code, this.message, { ...this, details: { ...this.details, ...details } });
  }
}

/** 400 invalid_param on one parameter. */
export function invalidParamError(
  param: string,
  message: string,
  details?: Record<string, unknown>,
  corrections?: readonly CallCorrection[],
): ApiError {
  return new ApiError('invalid_param', message, { param, details, corrections });
}

/** 400 invalid_param on one of several fields that exclude each other. `details.suggest` names these fields. */
export function exclusiveFieldError(param: string, message: string, fields: readonly string[]): ApiError {
  return invalidParamError(param, message, { suggest: fields });
}

/** An error with a temporary reason: the same call may succeed after the given time. */
export function temporarilyUnavailableError(
  reason: string,
  message: string,
  retryAfterSeconds: number,
  cause?: unknown,
): ApiError {
  return new ApiError('provider_unavailable', message, { details: { reason }, retryAfterSeconds, cause });
}

/** The most characters of an error message. Longer messages are shortened in the middle. */
const MAX_MESSAGE_CHARACTERS = 1_500;
const MAX_PARAM_CHARACTERS = 200;
const MAX_DETAIL_CHARACTERS = 4_000;

/** Shortens the middle of a long message, because its end says how to correct the call. */
function truncateMiddle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = Math.floor((longest - 3) / 2);
  return `${text.slice(0, half)} … ${text.slice(-half)}`.toWellFormed();
}

function truncateDetails(details: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => {
      if (typeof value === 'string') return [name, truncateMiddle(value, MAX_DETAIL_CHARACTERS)];
      if (name === 'missing' && Array.isArray(value)) return [name, value.map(truncateId)];
      const text = truncatedJson(value, MAX_DETAIL_CHARACTERS + 1);
      if (text.length <= MAX_DETAIL_CHARACTERS) return [name, value];
      return [name, `${text.slice(0, MAX_DETAIL_CHARACTERS - 2)} …`.toWellFormed()];
    }),
  );
}

/**
 * Shortens a long id in the list of missing ids. The list itself is not shortened, so that a caller can correct all of
 * them at once; the limits of a call bound its length.
 */
function truncateId(id: unknown): unknown {
  return typeof id === 'string' ? truncateMiddle(id, MAX_PARAM_CHARACTERS) : id;
}

/** A field of a call: its name, and where it was sent. */
export interface SentField {
  /** The path of the field as errors name it, such as `steps[1].model`. */
  param: string;
  /** The name of the field within sentences. */
  name: string;
  /** The place at which the value was sent, for its corrections. */
  path: string;
  refuse(
    message: string,
    details?: Record<string, unknown>,
    corrections?: readonly CallCorrection[],
  ): ApiError;
}

/** Finds a field by its name within a part of the call, wherever the part was sent. */
export type SentFieldFinder = (key: string) => SentField;

/**
 * A field of the call itself, by its full name, such as `steps[1].model`.
 * @param path where it was sent, if that differs from its name.
 */
export function sentFieldAt(param: string, path = param): SentField {
  return {
    ...{ param, name: param, path },
    refuse: (message, details, corrections) =>
      new ApiError('invalid_param', message, { param, path, details, corrections }),
  };
}

/**
 * Converts corrections with paths within a part of the call to corrections of the whole call. A renamed field stays in
 * the place where it was sent.
 * @param at finds a field of the part.
 */
export function correctionsAtSentFields(
  corrections: readonly CallCorrection[],
  at: SentFieldFinder,
): CallCorrection[] {
  return corrections.map((correction) => {
    const param = at(correction.param).path;
    if (!('rename' in correction)) return { ...correction, param };
    return { param, rename: `${param.slice(0, param.length - correction.param.length)}${correction.rename}` };
  });
}
