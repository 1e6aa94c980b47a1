import type { ErrorCode } from '../errors/errors.ts';

/** What a caller can do about each error, for the page of errors. */
export const REMEDIES: Readonly<Record<ErrorCode, string>> = {
  invalid_param: 'Fix the field in `param`; `details` has the bounds or the allowed values.',
  invalid_state: 'Read the resource: it has ended, is not ready yet, or was used already.',
  unsupported_format:
    'Send a JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG of at most 50 megapixels, with its own Content-Type.',
  unauthorized: 'Send `Authorization: ApiKey <key>` with a whole key that was not revoked.',
  insufficient_credit: 'Send less, raise `maxCredits`, or top up; `details` has the price.',
  forbidden: 'Ask for a new link, copy the built-in, or sign in: the message says which.',
  asset_not_found: 'Take an id of GET /api/v1/assets; it begins with `ast_`.',
  job_not_found: 'Take an id of GET /api/v1/jobs; it begins with `job_`.',
  preset_not_found: 'Take a slug or id of GET /api/v1/presets, with a version that exists, or without one.',
  not_found: 'Correct the path or the id: the message names the list, or the nearest path.',
  method_not_allowed: 'Use a method of `details.allowed`.',
  not_acceptable: 'Leave out `Accept`, or accept one of `details.supported`.',
  idempotency_key_reuse: 'Send a new Idempotency-Key: a corrected call is another call.',
  request_in_progress: 'Wait, then make the same call with the same key.',
  subscription_not_actionable: 'Read GET /api/v1/account: no subscription can be changed so.',
  payload_too_large: 'Send at most `details.limit` bytes.',
  unsupported_media_type: 'Send one of `details.supported` as Content-Type.',
  asset_count_exceeded: 'Delete assets or change the plan; `details.left` says how many more fit.',
  resource_limit_exceeded: 'Delete what is not needed; the message names the limit.',
  job_not_resumable: 'Resume the latest attempt, or submit a new job: see `details.reason`.',
  provider_rejected: 'Change the prompt or the picture: the model refused it.',
  rate_limited: 'Wait Retry-After seconds, and send fewer calls at once.',
  service_misconfigured: 'Tell the operator: the same call will fail again.',
  internal_error: 'Repeat it a few times; then report `requestId` to the operator.',
  provider_unavailable: 'Wait Retry-After seconds; `details.reason` says what is full or unavailable.',
};
