import type { FastifyRequest } from 'fastify';
import { headerCorrections, misplacedFieldCorrections } from '../errors/corrections.ts';
import { ApiError, invalidParamError } from '../errors/errors.ts';

const SUPPORTED_MEDIA_TYPES = ['image/*', 'multipart/form-data', 'application/json'];
/** Media types that programs send by default, and that say nothing about the body. */
const UNSPECIFIC_MEDIA_TYPES = [
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
];
/** The media types of the formats that are read. */
export const READABLE_MEDIA_TYPES = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff', 'svg+xml'].map(
  (format) => `image/${format}`,
);

/** The media type of a body, in lower case and without parameters; empty when none was sent. */
export function mediaTypeOf({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The fields of a JSON body that name an image. */
const REFERENCE_NAMES = ['url', 'assetId', 'otherUrl', 'otherAssetId'];

/** Refuses a call without an image type whose query names the image. The body of such a call is JSON, or missing. */
function refuseReferenceInQuery({ query }: FastifyRequest, type: string): void {
  const sent = query as Record<string, unknown>;
  const named = REFERENCE_NAMES.filter((name) => sent[name] !== undefined);
  const [param] = named;
  if (param === undefined || !UNSPECIFIC_MEDIA_TYPES.includes(type)) return;
  const message = `${param} is not read in the query: send it in a body of JSON, with "Content-Type: application/json".`;
  throw invalidParamError(param, message, undefined, [
    ...headerCorrections('Content-Type', 'application/json'),
    ...named.flatMap((name) => misplacedFieldCorrections('body', name, sent[name])),
  ]);
}

/**
 * Refuses a body that cannot be an image according to its Content-Type, before it is read.
 * @throws ApiError 415 unsupported_media_type, or 400 unsupported_format for bytes without a media type.
 */
export function checkImageContentType(request: FastifyRequest): void {
  const type = mediaTypeOf(request);
  if (type === 'application/octet-stream') {
    throw new ApiError(
      'unsupported_format',
      'application/octet-stream names no image format: send the image\'s own type, such as "Content-Type: image/jpeg".',
      { param: 'file', details: { suggest: READABLE_MEDIA_TYPES } },
    );
  }
  if (type.startsWith('image/') || type === 'multipart/form-data' || type === 'application/json') return;
  refuseReferenceInQuery(request, type);
  const subject = type === '' ? 'A body without Content-Type' : `The Content-Type ${type}`;
  const hint =
    type === 'application/x-www-form-urlencoded'
      ? 'this is what curl sends with -d and --data-binary by default; add -H "Content-Type: image/jpeg" (the type of your file) and send with --data-binary, because -d strips line ends and breaks the file'
      : 'send an image with its own type (such as image/jpeg), multipart/form-data with a file part, or application/json with a reference such as url';
  throw new ApiError('unsupported_media_type', `${subject} is not supported: ${hint}.`, {
    param: 'Content-Type',
    details: {
      supported: SUPPORTED_MEDIA_TYPES,
      received: type,
      ...(UNSPECIFIC_MEDIA_TYPES.includes(type) && { suggest: READABLE_MEDIA_TYPES }),
    },
  });
}
