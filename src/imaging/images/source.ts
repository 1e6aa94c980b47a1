import { createHash } from 'node:crypto';
import { type ImageFacts, type ImagePass, MAX_PIXELS, type RawPixels } from '../../../workers/protocol.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { fewerFramesParameters } from './alternatives.ts';
import { frameCountOf } from './estimates/following.ts';
import { unsupportedFormatError } from './failures.ts';
import { type ImageHeader, imageHeaderOf } from './header/facts.ts';
import { readImageHeader } from './header/header.ts';
import type { ImageObject } from './image-object.ts';
import { detectUnsupportedFormat } from './unsupported-formats.ts';
import type { DrawingTimes } from './vector.ts';

/** A file that is still in a store. It is read when its call has a slot, so that a waiting call holds no bytes. */
export interface StoredFile {
  /** In bytes. */
  length: number;
  /** The facts as measured when the file was stored. */
  facts: ImageObject;
  /** @throws ApiError when the file cannot be read. */
  read(): Promise<Uint8Array>;
}

export function isStoredFile(file: Uint8Array | StoredFile): file is StoredFile {
  return !(file instanceof Uint8Array);
}

/** The header of a stored file, derived from its facts. It is exact enough to estimate memory and time. */
export function headerOfFacts(facts: ImageObject): ImageHeader {
  const { mimeType, orientation, frames, bitDepth, hasAlpha } = facts;
  // The facts give the size as displayed, but a header gives it as stored.
  const [width, height] = orientation > 4 ? [facts.height, facts.width] : [facts.width, facts.height];
  const format = facts.format as ImageHeader['format'];
  return imageHeaderOf({
    ...{ format, mimeType, width, height, frames, orientation, bitDepth, hasAlpha },
    channels: (facts.colorSpace === 'b-w' ? 1 : 3) + Number(hasAlpha),
    animated: frames > 1 && format !== 'tiff',
  });
}

/** The input of a thread: the file, or the pixels of a drawing. */
export interface OpenedSource {
  file: { input: Uint8Array<ArrayBuffer>; raw?: RawPixels };
  /** The header of `file`. For an SVG, the header of its drawn pixels. */
  header: ImageHeader;
}

export interface ImageSourceFile {
  /** The header from which the work is estimated. For a stored file it is derived from its facts. */
  header: ImageHeader;
  /** Returns the input. A file that is still in a store is read first. */
  open(): OpenedSource | Promise<OpenedSource>;
  /** Begins to read the file before the call has its slot. */
  prepare?: () => void;
  /** Bytes that the call holds while it waits. */
  heldBytes: number;
  /** The draw times of the vector drawings behind the pixels. */
  drawn: readonly DrawingTimes[];
  /** The file of a vector drawing and its natural size; `open` returns its pixels. */
  drawing?: { bytes: Uint8Array; width: number; height: number };
}

/**
 * The input of a call from bytes that were sent.
 * @param known the header, if it was already read from these bytes.
 * @param passes empty for a description and a comparison.
 * @param param the field of the call that brought a second picture.
 * @throws unsupported_format as `requireReadableHeader` does.
 */
export function openSourceFile(
  bytes: Uint8Array,
  known: ImageHeader | null | undefined,
  passes: readonly ImagePass[],
  param?: string,
): OpenedSource {
  const [first = null, ...others] = passes;
  const header = requireReadableHeader(bytes, known, first, param);
  for (const pass of others) requireReadableHeader(bytes, header, pass, param);
  return { file: { input: ownedBytes(bytes) }, header };
}

/**
 * The input of a call from a file in a store. It is read when the call has its slot, or is next in the queue.
 * @param param as in `openSourceFile`.
 */
export function storedSource(
  file: StoredFile,
  passes: readonly ImagePass[],
  param?: string,
): ImageSourceFile {
  let reading: Promise<OpenedSource> | undefined;
  const open = () => {
    reading ??= file.read().then((bytes) => openSourceFile(bytes, null, passes, param));
    return reading;
  };
  // If the reading fails, the call is refused later, when it has its slot.
  const prepare = () => void open().catch(() => undefined);
  return { header: headerOfFacts(file.facts), open, prepare, heldBytes: 0, drawn: [] };
}

/**
 * Bytes that own their whole memory, so that they can be transferred to a thread without a copy. Other bytes are copied
 * once. Transferred bytes must not be used again.
 */
export function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsItsBuffer(bytes) ? bytes : new Uint8Array(bytes);
}

function ownsItsBuffer(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
}

/** Facts about the file of a vector drawing that its pixels cannot tell. */
export function drawingFacts({
  bytes,
  width,
  height,
}: NonNullable<ImageSourceFile['drawing']>): Partial<ImageFacts> {
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', width, height, bytes: bytes.length, sha1 };
}

const READABLE = 'JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG';
/** Media types of the formats that are read. */
export const READABLE_MEDIA_TYPES = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/tiff',
  'image/svg+xml',
];

/**
 * Reads the header of an image before any cost of decoding.
 * @param known the header, if it was already read from these bytes.
 * @param pass decides how many frames are kept; only their pixels count. Null: all frames.
 * @param param the field of the call that brought a second picture. Absent: it is the call's own picture.
 * @throws unsupported_format when the service cannot read the image, or these frames have more than 50 megapixels.
 */
export function requireReadableHeader(
  bytes: Uint8Array,
  known?: ImageHeader | null,
  pass: ImagePass | null = null,
  param?: string,
): ImageHeader {
  const header = known ?? readImageHeader(bytes);
  if (!isSupported(header)) throw unsupported(bytes, param ?? 'file');
  checkPixelCount(header, pass, param);
  if (header.unread !== undefined)
    throw unsupportedFormatError(header.unread, { received: header.mimeType }, param);
  return header;
}

/**
 * Refuses bytes that are not an image of a supported format.
 * @param param the parameter of the call that brought them.
 * @throws unsupported_format on `param`.
 */
export function checkIsImage(bytes: Uint8Array, param: string): void {
  if (!isSupported(readImageHeader(bytes))) throw unsupported(bytes, param);
}

function isSupported(header: ImageHeader | null): header is ImageHeader {
  return header !== null && header.format !== 'heif';
}

function unsupported(bytes: Uint8Array, param: string): ApiError {
  if (bytes.length === 0)
    return unsupportedFormatError('The image is empty: send its bytes.', undefined, param);
  const file = detectUnsupportedFormat(bytes);
  if (file === undefined) {
    const message = `The bytes are not an image of a supported format: send ${READABLE}.`;
    return unsupportedFormatError(message, { supported: READABLE_MEDIA_TYPES }, param);
  }
  const message = `This is ${file.name}, which is not supported: ${file.instead}. Supported: ${READABLE}.`;
  return unsupportedFormatError(message, { found: file.mediaType, supported: READABLE_MEDIA_TYPES }, param);
}

/**
 * Checks the number of pixels. A vector drawing is checked when it is drawn, because that decides its size.
 * @param param as in `requireReadableHeader`.
 * @throws unsupported_format when the frames to read have more pixels than the limit.
 */
export function checkPixelCount(header: ImageHeader, pass: ImagePass | null, param?: string): void {
  const { format, pixels, frames, width, height } = header;
  const kept = pass === null ? frames : frameCountOf(header, pass);
  // The pages of a document may differ in size.
  const counted = kept === frames ? pixels : kept * width * height;
  if (format === 'svg' || counted <= MAX_PIXELS) return;
  const size = `The image has ${counted.toLocaleString('en')} pixels`;
  const details = { limit: MAX_PIXELS, received: counted };
  if (kept === 1)
    throw unsupportedFormatError(
      `${size}, and at most 50 megapixels are read: send a smaller one.`,
      details,
      param,
    );
  const fewer = pass === null || !header.animated ? [] : fewerFramesParameters(header, pass);
  const words = fewer.flatMap(({ parameters }) =>
    Object.entries(parameters).map(([name, value]) => `${name}=${value}`),
  );
  const instead =
    words.length === 0 ? 'transform one of its frames (frame=first)' : `read fewer (${words.join(', or ')})`;
  const message = `${size}, its ${kept} frames together, and at most 50 megapixels are read: send one with fewer or smaller frames, or ${instead}.`;
  throw unsupportedFormatError(message, { ...details, ...(fewer.length > 0 && { instead: fewer }) }, param);
}
