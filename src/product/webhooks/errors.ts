import { ApiError } from '../../platform/http/errors/errors.ts';
import { missingHint } from '../../platform/ids/ids.ts';
import { MAX_ENDPOINTS_PER_ACCOUNT } from './schema.ts';

/** 404: no such endpoint, or another account's: the answer is the same. */
export function endpointNotFound(endpointId: string): ApiError {
  const { says, details } = missingHint(endpointId, 'whe');
  const message = `No webhook endpoint of this account has this id: GET /api/v1/webhook-endpoints lists them.${says}`;
  return new ApiError('not_found', message, { param: 'endpointId', details });
}

/** 404: no such record at this endpoint; records are kept 14 days. */
export function deliveryNotFound(): ApiError {
  const message =
    'No delivery of this endpoint has this id, or its record is older than 14 days: list its deliveries.';
  return new ApiError('not_found', message, { param: 'deliveryId' });
}

/** 422: every slot of the account is taken. */
export function tooManyEndpoints(): ApiError {
  return new ApiError(
    'resource_limit_exceeded',
    `An account has at most ${MAX_ENDPOINTS_PER_ACCOUNT} webhook endpoints: delete one that is not needed.`,
    { details: { limit: MAX_ENDPOINTS_PER_ACCOUNT } },
  );
}

/** 500: other writers won every attempt to change the same thing. */
export function tooContended(): ApiError {
  const message = 'Too many calls change the webhook endpoints of this account at once: call again.';
  return new ApiError('internal_error', message, { retryAfterSeconds: 1 });
}

/** 400: a disabled endpoint sends nothing again. */
export function endpointDisabled(): ApiError {
  const message =
    'The endpoint is disabled: enable it with PUT {"enabled": true}, then ask for the delivery again.';
  return new ApiError('invalid_state', message, { param: 'endpointId', details: { enabled: false } });
}

/** 429: the account's share of attempts in flight is taken. */
export function tooManyAttempts(limit: number): ApiError {
  return new ApiError(
    'rate_limited',
    `${limit} webhook attempts of this account are in flight: wait for one to end.`,
    { details: { reason: 'account_concurrency', limit }, retryAfterSeconds: 1 },
  );
}
