import { ApiError } from '../../platform/http/errors/errors.ts';
import { MAX_SIGNING_KEYS } from './schema.ts';

/**
 * How long a cache may store an error, in seconds. It is short, so that the error disappears soon after its cause was
 * corrected.
 */
const ERROR_CACHE_SECONDS = 10;
const BRIEF_CACHE_HEADERS = { 'cache-control': `public, max-age=${ERROR_CACHE_SECONDS}` };

/**
 * The error 404 for every address that cannot be served. Its form, signature or width is wrong, it has expired, its key
 * is unknown or revoked, or its picture does not exist or belongs to another account. All cases look the same to the
 * caller.
 */
export function noSuchPictureError(): ApiError {
  const message =
    'There is no picture at this address: it was altered, has expired, or what it names is gone. Sign it again.';
  return new ApiError('not_found', message, { headers: BRIEF_CACHE_HEADERS });
}

/**
 * Adds caching headers to an error that the next request would get as well, so that caches store it for some seconds.
 * Other errors are returned unchanged.
 */
export function withDeliveryCaching(refusal: ApiError): ApiError {
  const isLasting = refusal.status !== 402 && refusal.status < 429;
  if (!isLasting) return refusal;
  const headers = { ...refusal.headers, ...BRIEF_CACHE_HEADERS };
  return new ApiError(refusal.code, refusal.message, { ...refusal, headers });
}

/** The `reason` of an error when the source is unavailable: its host, or the store that holds its bytes. */
const SOURCE_FAILURE_REASONS = ['url_unavailable', 'storage_read'];

/** Whether an error says that the source of a picture cannot be reached or read. */
export function isSourceError(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { code, param, details } = error;
  if (code === 'provider_unavailable') return SOURCE_FAILURE_REASONS.includes(String(details?.reason));
  return ['not_found', 'unsupported_format', 'payload_too_large'].includes(code) || param === 'url';
}

/** Whether an error is caused by the request or its source. Every process would return the same error now. */
export function isCallerError(error: unknown): error is ApiError {
  return isSourceError(error) || (error instanceof ApiError && error.status < 429);
}

/** The error 404 for a signing key that does not exist or belongs to another account. */
export function signingKeyNotFoundError(): ApiError {
  const message = 'There is no such signing key: GET /api/v1/signing-keys lists them.';
  return new ApiError('not_found', message, { param: 'keyId' });
}

/** The error 422 when an account already has the maximum number of signing keys. */
export function tooManySigningKeysError(): ApiError {
  const message = `An account has at most ${MAX_SIGNING_KEYS} signing keys: revoke one that is not needed.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit: MAX_SIGNING_KEYS } });
}

/** The error 500 when other calls took every slot that was tried for the new key. */
export function signingKeysContendedError(): ApiError {
  const message = 'Too many calls make signing keys of this account at once: call again.';
  return new ApiError('internal_error', message, { retryAfterSeconds: 1 });
}
