import { ApiError } from '../../platform/http/errors/errors.ts';
import { notFoundHint } from '../../platform/ids/ids.ts';
import { MAX_ENDPOINTS_PER_ACCOUNT } from './schema.ts';

/** The error 404 for an endpoint that does not exist or belongs to another account. */
export function endpointNotFoundError(endpointId: string): ApiError {
  const { says, details } = notFoundHint(endpointId, 'whe');
  const message = `No webhook endpoint of this account has this id: GET /api/v1/webhook-endpoints lists them.${says}`;
  return new ApiError('not_found', message, { param: 'endpointId', details });
}

/** The error 404 when the endpoint has no record of this delivery. Records are kept for 14 days. */
export function deliveryNotFoundError(): ApiError {
  const message =
    'No delivery of this endpoint has this id, or its record is older than 14 days: list its deliveries.';
  return new ApiError('not_found', message, { param: 'deliveryId' });
}

/** The error 422 when an account already has the maximum number of endpoints. */
export function tooManyEndpointsError(): ApiError {
  const message = `An account has at most ${MAX_ENDPOINTS_PER_ACCOUNT} webhook endpoints: delete one that is not needed.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit: MAX_ENDPOINTS_PER_ACCOUNT } });
}

/** The error 500 when other calls were faster in every attempt to change the document. */
export function endpointsContendedError(): ApiError {
  const message = 'Too many calls change the webhook endpoints of this account at once: call again.';
  return new ApiError('internal_error', message, { retryAfterSeconds: 1 });
}

/** The error 400 for sending a delivery again to a disabled endpoint. */
export function endpointDisabledError(): ApiError {
  const message =
    'The endpoint is disabled: enable it with PUT {"enabled": true}, then ask for the delivery again.';
  return new ApiError('invalid_state', message, { param: 'endpointId', details: { enabled: false } });
}

/** The error 429 when the account already has the maximum number of attempts in flight. */
export function tooManyAttemptsError(limit: number): ApiError {
  return new ApiError(
    'rate_limited',
    `${limit} webhook attempts of this account are in flight: wait for one to end.`,
    { details: { reason: 'account_concurrency', limit }, retryAfterSeconds: 1 },
  );
}
