import { MAX_PIXELS, type Pass } from '../../../workers/protocol.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { fewerFrames } from './alternatives.ts';
import { framesOf } from './estimates/following.ts';
import { unsupportedFormat } from './failures.ts';
import { type Header, readHeader } from './header/header.ts';
import { unsupportedFile } from './unsupported-formats.ts';

const READABLE = 'JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG';
/** Media types of the formats that are read. */
export const READABLE_TYPES = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/tiff',
  'image/svg+xml',
];

/**
 * The header of an image that the service reads, before any cost of decoding.
 * @param known the header, if it was already read from these bytes.
 * @param pass decides how many of its frames are kept, which are counted; null: all.
 * @param param the field of the call that brought a second picture; absent: it is the picture of the call.
 * @throws unsupported_format when it is not such an image, or these frames have more than 50 megapixels.
 */
export function readable(
  bytes: Uint8Array,
  known?: Header | null,
  pass: Pass | null = null,
  param?: string,
): Header {
  const header = known ?? readHeader(bytes);
  if (!isSupported(header)) throw unsupported(bytes, param ?? 'file');
  checkPixels(header, pass, param);
  if (header.unread !== undefined)
    throw unsupportedFormat(header.unread, { received: header.mimeType }, param);
  return header;
}

/**
 * Refuses bytes that are not an image of a supported format.
 * @param param the parameter of the call that brought them.
 * @throws unsupported_format on `param`.
 */
export function checkIsImage(bytes: Uint8Array, param: string): void {
  if (!isSupported(readHeader(bytes))) throw unsupported(bytes, param);
}

function isSupported(header: Header | null): header is Header {
  return header !== null && header.format !== 'heif';
}

function unsupported(bytes: Uint8Array, param: string): ApiError {
  if (bytes.length === 0) return unsupportedFormat('The image is empty: send its bytes.', undefined, param);
  const file = unsupportedFile(bytes);
  if (file === undefined) {
    const message = `The bytes are not an image of a supported format: send ${READABLE}.`;
    return unsupportedFormat(message, { supported: READABLE_TYPES }, param);
  }
  const message = `This is ${file.name}, which is not supported: ${file.instead}. Supported: ${READABLE}.`;
  return unsupportedFormat(message, { found: file.mediaType, supported: READABLE_TYPES }, param);
}

/**
 * A drawing is counted when it is drawn, because that decides its size.
 * @param param as in `readable`.
 * @throws unsupported_format when the frames to read have more pixels than the limit.
 */
export function checkPixels(header: Header, pass: Pass | null, param?: string): void {
  const { format, pixels, frames, width, height } = header;
  const kept = pass === null ? frames : framesOf(header, pass);
  // The pages of a document may differ in size.
  const counted = kept === frames ? pixels : kept * width * height;
  if (format === 'svg' || counted <= MAX_PIXELS) return;
  const size = `The image has ${counted.toLocaleString('en')} pixels`;
  const details = { limit: MAX_PIXELS, received: counted };
  if (kept === 1)
    throw unsupportedFormat(
      `${size}, and at most 50 megapixels are read: send a smaller one.`,
      details,
      param,
    );
  const fewer = pass === null || !header.animated ? [] : fewerFrames(header, pass);
  const words = fewer.flatMap(({ parameters }) =>
    Object.entries(parameters).map(([name, value]) => `${name}=${value}`),
  );
  const instead =
    words.length === 0 ? 'transform one of its frames (frame=first)' : `read fewer (${words.join(', or ')})`;
  const message = `${size}, its ${kept} frames together, and at most 50 megapixels are read: send one with fewer or smaller frames, or ${instead}.`;
  throw unsupportedFormat(message, { ...details, ...(fewer.length > 0 && { instead: fewer }) }, param);
}
