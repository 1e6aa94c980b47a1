import {
  ApiError,
  invalidParamError,
  temporarilyUnavailableError,
} from '../../platform/http/errors/errors.ts';
import { notFoundHint } from '../../platform/ids/ids.ts';
import type { AssetStatus } from './asset.ts';

/**
 * The error for an asset that does not exist or belongs to another account.
 * @param param the field of the call that contains the asset id.
 */
export function assetNotFoundError(assetId: string, param = 'assetId'): ApiError {
  const { says, details } = notFoundHint(assetId, 'ast');
  const message = `There is no such asset: GET /api/v1/assets lists yours.${says}`;
  return new ApiError('asset_not_found', message, { param, details });
}

export function collectionNotFoundError(): ApiError {
  return new ApiError('not_found', 'There is no such collection: GET /api/v1/collections lists yours.', {
    param: 'name',
  });
}

/** The error 422 when an account already has the maximum number of collections. */
export function tooManyCollectionsError(limit: number): ApiError {
  const message = `An account has at most ${limit} collections: delete one that is not needed.`;
  return new ApiError('resource_limit_exceeded', message, { param: 'name', details: { limit } });
}

/**
 * The error for an asset without bytes: its upload has not happened yet, or was not an image.
 * @param param the field of the call that contains the asset id.
 */
export function assetWithoutContentError(status: AssetStatus, param = 'assetId'): ApiError {
  const reason =
    status === 'PENDING'
      ? 'has not finished uploading: put its bytes to the upload url first'
      : 'got bytes that are not a readable image: upload another one';
  return new ApiError('invalid_state', `This asset ${reason}.`, { param, details: { status } });
}

/** The error for a second upload to a reserved asset, which accepts only one. */
export function alreadyUploadedError(status: AssetStatus): ApiError {
  const message = 'This upload url was used already: reserve another asset by POST /api/v1/assets.';
  return new ApiError('invalid_state', message, { param: 'assetId', details: { status } });
}

/**
 * The error for a ticket's upload address that was altered, was used or has expired. All three cases look the same to
 * the caller.
 */
export function ticketNotAcceptedError(): ApiError {
  const message =
    'This upload address is not accepted: it was altered, was used or has expired. Ask for another one by POST /api/v1/upload-tickets.';
  return new ApiError('not_found', message, { param: 'ticket' });
}

/** The error for a call to a ticket's address that sends no bytes. */
export function ticketWithoutBytesError(): ApiError {
  return invalidParamError(
    'file',
    'The body is empty: POST the bytes of the image to this url, as curl -F file=@photo.jpg URL or curl --data-binary @photo.jpg URL do. The url can still be used.',
  );
}

/** The error for a readable image whose type its ticket does not accept. */
export function wrongContentTypeError(found: string, supported: readonly string[]): ApiError {
  const message = `The image is ${found}, and this ticket takes ${supported.join(', ')}: ask for another ticket and send one of these.`;
  return new ApiError('unsupported_format', message, { param: 'file', details: { found, supported } });
}

export function assetCountExceededError(limit: number, left: number, topUpUrl: string): ApiError {
  const message = `The plan stores ${limit} assets, and ${left} more fit: delete some, or change the plan.`;
  return new ApiError('asset_count_exceeded', message, { details: { limit, left, upgradeUrl: topUpUrl } });
}

/** The error when the object store did not return the bytes of an existing asset. */
export function storageUnreadableError(cause?: unknown): ApiError {
  const message = 'The stored bytes of the asset could not be read: make the same call again.';
  return temporarilyUnavailableError('storage_read', message, 2, cause);
}

/** The error for an upload that waited too long in the queue. */
export function uploadsBusyError(): ApiError {
  const message =
    'The upload was not done in time, because many others are under way: make the same call again later.';
  return temporarilyUnavailableError('deadline_exceeded', message, 5);
}
