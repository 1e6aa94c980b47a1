import { type ServerResponse, STATUS_CODES } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  DocumentsFullError,
  DuplicateKeyError,
  StorageFullError,
  StoreUnavailableError,
} from '../../stores/documents/port.ts';
import { MEGABYTE_BYTES } from '../../values/units.ts';
import { discardBody } from '../bodies/streamed-body.ts';
import { closeAfterResponse } from '../connection/closing.ts';
import { ApiError, type ApiErrorContext, type ErrorCode } from './errors.ts';
import { withFixDetails } from './fix.ts';
import { validationFailure } from './validation.ts';

/**
 * Maps every thrown error to a response. An ApiError already contains its response. Errors of Fastify and of the stores
 * get a code from the closed set here.
 */
export function installErrorHandler(app: FastifyInstance): void {
  const refusalLog = new RefusalLog(app.log);
  app.addHook('onClose', async () => refusalLog.close());
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    const failure = await withFixDetails(asApiError(error), request);
    if (!refusalLog.addToSummary(request, failure) && failure.status >= 500)
      request.log.error({ err: error }, failure.message);
    if (failure.holdMs !== undefined) await pauseUnlessGone(reply.raw, failure.holdMs);
    return sendApiError(request, reply, failure);
  });
}

/** Waits for a time, or until the client goes away. */
async function pauseUnlessGone(response: ServerResponse, timeMs: number): Promise<void> {
  if (response.destroyed) return;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  await sleep(timeMs, undefined, { signal: gone.signal }).catch(() => undefined);
}

/**
 * The two authentication schemes of the API. Every 401 names both.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1
 */
const AUTHENTICATION_CHALLENGE = 'ApiKey realm="darkroom", Bearer realm="darkroom"';
const MAX_DISCARDED_BODY_BYTES = 64 * MEGABYTE_BYTES;
/** The Retry-After for a full disk. It is long, because an operator has to free space. */
const STORAGE_FULL_RETRY_SECONDS = 60;
const refusalByRequest = new WeakMap<FastifyRequest, ApiError>();

/** The error with which a request was refused, for the log and the metrics; undefined when it was not refused. */
export function recordedErrorOf(request: FastifyRequest): ApiError | undefined {
  return refusalByRequest.get(request);
}

/** Sends an error in the envelope, with its headers. */
export function sendApiError(request: FastifyRequest, reply: FastifyReply, failure: ApiError): FastifyReply {
  refusalByRequest.set(request, failure);
  // The rest of a refused body is read and dropped. The connection of a long body is closed after the response.
  if (!request.raw.complete) {
    discardBody(request.raw);
    closeAfterResponse(request.socket);
  }
  if (hasLongBody(request)) reply.header('connection', 'close');
  return reply
    .code(failure.status)
    .headers(failureHeaders(failure, request.id))
    .serializer(JSON.stringify)
    .send(apiErrorBody(failure, request.id));
}

/**
 * The headers of every refusal. No hook sets them, because no hook runs for refusals of the router and of Node's
 * parser. Without `no-store`, a cache could keep a 404 or a 405 for as long as it likes. A refusal that may be stored
 * has its own Cache-Control.
 */
export function failureHeaders(
  { status, retryAfterSeconds, headers }: ApiError,
  requestId: string,
): Record<string, string> {
  return {
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...(retryAfterSeconds !== undefined && {
      'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))),
    }),
    ...(status === 401 && { 'www-authenticate': AUTHENTICATION_CHALLENGE }),
    ...headers,
  };
}

/** The error envelope, which is the body of every refusal. */
export function apiErrorBody(failure: ApiError, requestId: string) {
  const { code, message, retryable, param, details } = failure;
  return {
    success: false,
    error: { code, message, retryable, param, details, requestId, docUrl: `/docs/errors/${code}` },
    timestamp: new Date().toISOString(),
  };
}

/** Maps any thrown value to an ApiError, whose code is one of ERROR_CODES. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StorageFullError || error instanceof DocumentsFullError) {
    return new ApiError(
      'internal_error',
      'The storage of this service is full: delete assets, or repeat the same call when its operator has made room.',
      { details: { reason: 'storage_full' }, retryAfterSeconds: STORAGE_FULL_RETRY_SECONDS, cause: error },
    );
  }
  if (error instanceof StoreUnavailableError) {
    return new ApiError(
      'internal_error',
      'A store did not answer in time: repeat the same call after a moment.',
      { details: { reason: 'store_unavailable' }, retryAfterSeconds: 2, cause: error },
    );
  }
  if (error instanceof DuplicateKeyError) {
    const message = 'Two calls changed the same record at once: repeat the same call.';
    return new ApiError('internal_error', message, { cause: error });
  }
  return fastifyErrorAsApiError(error as Partial<FastifyError>);
}

/**
 * Fastify's own errors by code. The errors of its body parsers are missing, because the service has its own parsers.
 */
const FASTIFY_FAILURES: Record<string, readonly [ErrorCode, string, ApiErrorContext?]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The Content-Type is not a media type: send the header "Content-Type: application/json".',
    { param: 'Content-Type', details: { supported: ['application/json'] } },
  ],
  FST_ERR_BAD_URL: ['invalid_param', 'The path is not a valid URL: percent-encode it.', { param: 'path' }],
};

function fastifyErrorAsApiError(error: Partial<FastifyError>): ApiError {
  if (error.validation !== undefined)
    return validationFailure(error.validation, error.validationContext ?? 'body');
  const known = FASTIFY_FAILURES[error.code ?? ''];
  if (known !== undefined) return new ApiError(...known);
  const status = error.statusCode ?? 500;
  if (status >= 400 && status < 500) {
    const message = `The request cannot be read: ${STATUS_CODES[status] ?? 'bad request'}.`;
    return new ApiError('invalid_param', message, { param: 'body', cause: error });
  }
  const message = 'The server failed to answer: repeat the same call, and report the requestId.';
  return new ApiError('internal_error', message, { cause: error });
}

function hasLongBody({ headers, raw }: FastifyRequest): boolean {
  const isLong = Number(headers['content-length'] ?? 0) > MAX_DISCARDED_BODY_BYTES;
  return !raw.complete && (isLong || headers['transfer-encoding'] !== undefined);
}

/** The interval between two summaries of refusals in the log. */
const REFUSAL_SUMMARY_INTERVAL_MS = 1_000;
/**
 * The reasons of refusals that are summarised in the log, as rate limits are. A loaded host or a full disk causes them
 * in large numbers.
 */
const SUMMARISED_REASONS = ['capacity', 'deadline_exceeded', 'storage_full'];

/** The reason of an error that is summarised; undefined for other errors. */
export function summarisedReasonOf({ code, details }: ApiError): string | undefined {
  const reason = String(details?.reason ?? code);
  return code === 'rate_limited' || SUMMARISED_REASONS.includes(reason) ? reason : undefined;
}

/**
 * Summarises refusals that a loaded host sends by the thousand, in one log line per second and reason with their
 * number.
 */
class RefusalLog {
  readonly #log: FastifyBaseLogger;
  readonly #summaries = new Map<string, { refused: number; requestId: string; route: string | undefined }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** Adds a refusal to the summary of its reason. Returns false for a refusal that gets its own log line. */
  addToSummary(request: FastifyRequest, failure: ApiError): boolean {
    const reason = summarisedReasonOf(failure);
    if (reason === undefined) return false;
    const sum = this.#summaries.get(reason) ?? {
      refused: 0,
      requestId: request.id,
      route: request.routeOptions.url,
    };
    sum.refused += 1;
    this.#summaries.set(reason, sum);
    this.#timer ??= setTimeout(() => this.#writeSummaries(), REFUSAL_SUMMARY_INTERVAL_MS).unref();
    return true;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#writeSummaries();
  }

  #writeSummaries(): void {
    this.#timer = undefined;
    for (const [reason, sum] of this.#summaries) this.#log.info({ reason, ...sum }, 'Calls were refused');
    this.#summaries.clear();
  }
}
