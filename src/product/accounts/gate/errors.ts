import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { RateAnswer } from '../../../platform/stores/coordination/port.ts';
import { AS_API_KEY, unauthorized } from '../authentication.ts';
import type { SlotKind } from './slots.ts';

/** Runs a route's own check. It returns the error instead of throwing it, so that the rate limits are applied first. */
export function findRefusal(request: FastifyRequest, { check }: FastifyContextConfig): ApiError | null {
  try {
    check?.(request);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Headers in which other services expect the key. */
const OTHER_HEADERS = ['x-api-key', 'api-key', 'apikey', 'x-auth-token'];
const OTHER_QUERY_FIELDS = ['apiKey', 'api_key', 'apikey', 'key', 'token', 'access_token'];

export function missingCredential(request: FastifyRequest): ApiError {
  const message = `${whereItIsNotRead(request)}: send the header "Authorization: ApiKey <API_KEY>".`;
  return unauthorized(message, AS_API_KEY);
}

function whereItIsNotRead({ headers, query }: FastifyRequest): string {
  const header = OTHER_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined) return `A credential is missing, and the header ${header} is not read`;
  const field = OTHER_QUERY_FIELDS.find((name) => Object.hasOwn(query as object, name));
  if (field !== undefined) return `A credential is missing, and the query field ${field} is not read`;
  return 'A credential is missing';
}

export function sessionRequired(): ApiError {
  return new ApiError(
    'forbidden',
    'Only a signed-in console session may call this endpoint, not an API key: sign in at POST /api/v1/auth/sign-in.',
    { param: 'Authorization' },
  );
}

export function tooManyRequests(rate: RateAnswer): ApiError {
  return new ApiError('rate_limited', 'Too many requests in this minute: wait for Retry-After seconds.', {
    details: { reason: 'request_rate' },
    retryAfterSeconds: rate.resetMs / 1000,
  });
}

/** What takes the slots of an account. */
const IN_USE: Readonly<Record<SlotKind, string>> = {
  calls: 'synchronous calls of this account are in flight',
  waits: 'waits for jobs of this account are open',
  downloads: 'downloads of this account are under way',
  linkDownloads: 'download by a link of this account is under way',
};

export function noSlotLeft(kind: SlotKind, limit: number): ApiError {
  return new ApiError('rate_limited', `${limit} ${IN_USE[kind]}: wait for one to end.`, {
    details: { reason: 'account_concurrency', limit },
    retryAfterSeconds: 1,
  });
}

export function addressBlocked(blockedMs: number): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many wrong credentials came from this address: wait for Retry-After seconds.',
    { details: { reason: 'failed_authentications' }, retryAfterSeconds: blockedMs / 1000 },
  );
}
