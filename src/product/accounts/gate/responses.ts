import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { RateWindowAnswer } from '../../../platform/stores/coordination/port.ts';
import { API_KEY_SCHEME_HINT, unauthorizedError } from '../authentication.ts';
import type { CallSlotKind } from './slots.ts';

/** Runs the check of a route. The error is returned instead of thrown, so that the rate limits are applied first. */
export function findRouteCheckError(
  request: FastifyRequest,
  { check }: FastifyContextConfig,
): ApiError | null {
  try {
    check?.(request);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The headers in which other services expect an API key. */
const MISPLACED_KEY_HEADERS = ['x-api-key', 'api-key', 'apikey', 'x-auth-token'];
const MISPLACED_KEY_FIELDS = ['apiKey', 'api_key', 'apikey', 'key', 'token', 'access_token'];

export function missingCredentialError(request: FastifyRequest): ApiError {
  const message = `${credentialPlaceMessage(request)}: send the header "Authorization: ApiKey <API_KEY>".`;
  return unauthorizedError(message, API_KEY_SCHEME_HINT);
}

function credentialPlaceMessage({ headers, query }: FastifyRequest): string {
  const header = MISPLACED_KEY_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined) return `A credential is missing, and the header ${header} is not read`;
  const field = MISPLACED_KEY_FIELDS.find((name) => Object.hasOwn(query as object, name));
  if (field !== undefined) return `A credential is missing, and the query field ${field} is not read`;
  return 'A credential is missing';
}

export function sessionRequiredError(): ApiError {
  const message =
    'Only a signed-in console session may call this endpoint, not an API key: sign in at POST /api/v1/auth/sign-in.';
  return new ApiError('forbidden', message, { param: 'Authorization' });
}

export function tooManyRequestsError(rate: RateWindowAnswer): ApiError {
  return new ApiError('rate_limited', 'Too many requests in this minute: wait for Retry-After seconds.', {
    details: { reason: 'request_rate' },
    retryAfterSeconds: rate.resetMs / 1000,
  });
}

/** The part of an error message that says what occupies all slots of an account. */
const SLOTS_IN_USE_TEXT: Readonly<Record<CallSlotKind, string>> = {
  calls: 'synchronous calls of this account are in flight',
  waits: 'waits for jobs of this account are open',
  downloads: 'downloads of this account are under way',
  linkDownloads: 'download by a link of this account is under way',
  longReads: 'long answers of this account are being sent',
};

export function noSlotLeftError(kind: CallSlotKind, limit: number): ApiError {
  const context = { details: { reason: 'account_concurrency', limit }, retryAfterSeconds: 1 };
  return new ApiError('rate_limited', `${limit} ${SLOTS_IN_USE_TEXT[kind]}: wait for one to end.`, context);
}

export function addressBlockedError(blockedMs: number): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many wrong credentials came from this address: wait for Retry-After seconds.',
    { details: { reason: 'failed_authentications' }, retryAfterSeconds: blockedMs / 1000 },
  );
}
