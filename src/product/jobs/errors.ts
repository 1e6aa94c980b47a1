import {
  ApiError,
  invalidParamError,
  temporarilyUnavailableError,
} from '../../platform/http/errors/errors.ts';
import type { FieldHint } from '../../platform/http/errors/violations.ts';
import { notFoundHint } from '../../platform/ids/ids.ts';
import type { JobDocument, JobStatus } from './job.ts';

/** The maximum number of attempts of a job after the first one. */
export const MAX_RESUMES = 5;

/**
 * The error for a job that does not exist, belongs to another account, or has expired. All three cases look the same to
 * the caller.
 */
export function jobNotFoundError(jobId: string): ApiError {
  const { says, details } = notFoundHint(jobId, 'job');
  const message = `There is no such job: GET /api/v1/jobs lists yours.${says}`;
  return new ApiError('job_not_found', message, { param: 'jobId', details });
}

/** The error 400 for a call that a job with this status does not allow. */
function invalidStateError(status: JobStatus, message: string): ApiError {
  return new ApiError('invalid_state', message, { param: 'jobId', details: { status } });
}

export function notCancellableError(status: JobStatus): ApiError {
  const message = `The job is ${status}: only one that is PENDING or PROCESSING can be cancelled.`;
  return invalidStateError(status, message);
}

export function notResumableYetError({ _id, status }: JobDocument): ApiError {
  const next = status === 'COMPLETED' ? '' : `; wait by GET /api/v1/jobs/${_id}?wait=60, then resume`;
  const message = `The job is ${status}: only one that is FAILED or CANCELLED can be resumed${next}.`;
  return invalidStateError(status, message);
}

export function nothingToResumeError(status: JobStatus): ApiError {
  const message = 'The job has no item that failed or was cancelled: there is nothing to resume.';
  return invalidStateError(status, message);
}

export function resultsNotReadyError({ _id, status }: JobDocument): ApiError {
  const message = `The job is ${status}: its results can be downloaded when it has ended; wait by GET /api/v1/jobs/${_id}?wait=60.`;
  return invalidStateError(status, message);
}

export function noResultsError(): ApiError {
  const message =
    'The job has no picture to download: none was made, or all were deleted since; answers in JSON are in its items.';
  return new ApiError('invalid_state', message, { param: 'jobId' });
}

export function tooManyResultsError(limit: number): ApiError {
  const message = `The job made more than ${limit} pictures, and one archive holds at most ${limit}: read GET /api/v1/assets?jobId= page by page.`;
  return new ApiError('invalid_state', message, { param: 'jobId', details: { limit } });
}

function notResumableError(reason: string, message: string): ApiError {
  const details = { reason, job: { maxResumes: MAX_RESUMES } };
  return new ApiError('job_not_resumable', message, { param: 'jobId', details });
}

export function notLatestAttemptError(): ApiError {
  const message =
    'This attempt was resumed already: resume the latest one, which GET /api/v1/jobs?rootJobId= lists first.';
  return notResumableError('NOT_LATEST_ATTEMPT', message);
}

/**
 * The error for resuming an attempt that another call is already resuming. The other call may still fail, or its
 * process may have died.
 */
export function jobBeingResumedError(): ApiError {
  const message = 'Another call is resuming this attempt: make the same call again after a moment.';
  return new ApiError('request_in_progress', message, { param: 'jobId', retryAfterSeconds: 1 });
}

export function resumedTooOftenError(): ApiError {
  const message = `The job was resumed ${MAX_RESUMES} times: submit what is left as a new one.`;
  return notResumableError('RESUME_LIMIT_EXCEEDED', message);
}

/** The error 402: the price of all items together is above the limit that the caller has set, in credits. */
export function aboveMaxCreditsError(price: number, maxCredits: number, items: number): ApiError {
  const remedy = price > maxCredits * items ? 'raise it' : 'raise it, or send fewer items';
  const message = `The job costs ${price} credits, and maxCredits is ${maxCredits}: ${remedy}.`;
  const context = { param: 'maxCredits', details: { price, maxCredits } };
  return new ApiError('insufficient_credit', message, context);
}

/**
 * The error for assets that do not exist.
 * @param missing every id that is not an asset of the account.
 */
export function assetsMissingError(missing: readonly string[]): ApiError {
  const [first, ...others] = missing;
  const more = others.length === 0 ? '' : ` and ${others.length} more, listed in details.missing`;
  const { says, details } = notFoundHint(first ?? '', 'ast');
  const message = `There is no asset ${first}${more}: send ids of your own assets.${says}`;
  const context = { param: 'assetIds', details: { missing: [...missing], ...details } };
  return new ApiError('asset_not_found', message, context);
}

/**
 * The error for an asset that has no stored bytes.
 * @param index the position of the first such asset in `assetIds`.
 */
export function assetUnreadyError(index: number, status: string): ApiError {
  const message = `assetIds[${index}] has no picture yet, or got none: it is ${status}; leave it out until it is DONE.`;
  return new ApiError('invalid_state', message, { param: 'assetIds', details: { index, status } });
}

export function additionalAssetMissingError(param: string, assetId: string): ApiError {
  const message = `${param} names ${assetId}, which is not one of your assets.`;
  return new ApiError('not_found', message, { param, details: { missing: [assetId] } });
}

export function additionalAssetUnreadyError(param: string, assetId: string, status: string): ApiError {
  const message = `${param} names ${assetId}, whose bytes have not arrived or are not an image: it is ${status}.`;
  return new ApiError('invalid_state', message, { param, details: { status } });
}

export function referenceMissingError(param: string, missing: readonly string[]): ApiError {
  const message = `${param} refers to ${missing.join(', ')}: send ids of your own assets with status DONE.`;
  return invalidParamError(param, message, { missing: [...missing] });
}

/** The error 422: the outputs would exceed the quota of the plan. */
export function outputsExceedQuotaError(outputs: number, left: number, topUpUrl: string): ApiError {
  const message = `The job would make ${outputs} assets, and the plan has room for ${left}: delete some, or change the plan.`;
  return new ApiError('asset_count_exceeded', message, { details: { left, upgradeUrl: topUpUrl } });
}

/** The error 422: the stored requests of the account's jobs would exceed their limit. */
export function jobBytesExceededError(sentBytes: number, keptBytes: number, limit: number): ApiError {
  return new ApiError(
    'resource_limit_exceeded',
    `Your jobs keep ${keptBytes} bytes of parameters, steps, rows and items, this one would add ${sentBytes}, and ${limit} are allowed: wait until earlier jobs expire (expiresAt), or send less.`,
    { details: { limit, kept: keptBytes, received: sentBytes } },
  );
}

/** The error 503: too many calls wait for jobs on this host. */
export function tooManyWaitsError(): ApiError {
  const message =
    'Too many calls wait for jobs here: make the same call again, or read the job without waiting.';
  return temporarilyUnavailableError('capacity', message, 5);
}

/** The error of a submit that timed out before the job was stored. */
export function submitTimedOutError(): ApiError {
  const context = { details: { reason: 'store_unavailable' }, retryAfterSeconds: 5 };
  return new ApiError('internal_error', 'The job took too long to be stored: submit it again.', context);
}

const UPLOAD_HINT: FieldHint = {
  says: 'a job works on assets; upload each picture (POST /api/v1/assets/upload takes a url too) and send their ids as assetIds',
  suggest: ['POST /api/v1/assets/upload'],
};
const WEBHOOK_HINT: FieldHint = {
  says: 'register the address once (POST /api/v1/webhook-endpoints), and the end of every job is sent to it',
  suggest: ['POST /api/v1/webhook-endpoints'],
};

/** Fields that callers often send with a job although they belong to another call or service. */
export const MISPLACED_JOB_FIELDS: Record<string, FieldHint> = {
  url: UPLOAD_HINT,
  urls: UPLOAD_HINT,
  file: UPLOAD_HINT,
  files: UPLOAD_HINT,
  image: UPLOAD_HINT,
  images: UPLOAD_HINT,
  webhook: WEBHOOK_HINT,
  webhookUrl: WEBHOOK_HINT,
  callback: WEBHOOK_HINT,
  callbackUrl: WEBHOOK_HINT,
  n: { says: 'the number of pictures that generate makes is count', rename: 'count' },
  data: {
    says: 'the rows of a template are items, a list with an object of values for each picture',
    suggest: ['items'],
  },
};
