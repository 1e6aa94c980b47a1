import { createHash } from 'node:crypto';
import { type ImageFacts, MAX_PIXELS, type Pass, type RawPixels } from '../../../workers/protocol.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { fewerFrames } from './alternatives.ts';
import { framesOf } from './estimates/following.ts';
import { unsupportedFormat } from './failures.ts';
import { headerOf } from './header/facts.ts';
import { type Header, readHeader } from './header/header.ts';
import type { ImageObject } from './image-object.ts';
import { detectUnsupportedFormat } from './unsupported-formats.ts';
import type { DrawnTimes } from './vector.ts';

/** A file that is still in a store: it is read when its call has a slot, so that a waiting call holds no bytes. */
export interface StoredFile {
  /** In bytes. */
  length: number;
  /** As they were measured when the file was stored. */
  facts: ImageObject;
  /** @throws ApiError when the file cannot be read. */
  read(): Promise<Uint8Array>;
}

export function isStored(file: Uint8Array | StoredFile): file is StoredFile {
  return !(file instanceof Uint8Array);
}

/** The header of a stored file by its facts: near enough for the estimates of memory and time. */
export function headerOfFacts(facts: ImageObject): Header {
  const { mimeType, orientation, frames, bitDepth, hasAlpha } = facts;
  // The facts give the size as displayed, a header as stored.
  const [width, height] = orientation > 4 ? [facts.height, facts.width] : [facts.width, facts.height];
  const format = facts.format as Header['format'];
  return headerOf({
    ...{ format, mimeType, width, height, frames, orientation, bitDepth, hasAlpha },
    channels: (facts.colorSpace === 'b-w' ? 1 : 3) + Number(hasAlpha),
    animated: frames > 1 && format !== 'tiff',
  });
}

/** The input of a thread: the file, or the pixels of a drawing. */
export interface Opened {
  file: { input: Uint8Array<ArrayBuffer>; raw?: RawPixels };
  /** The header of `file`; for an SVG that of its pixels. */
  header: Header;
}

export interface Source {
  /** The header that the work is estimated from; of a stored file, from its facts. */
  header: Header;
  /** Returns the input; reads it first if it is still in a store. */
  open(): Opened | Promise<Opened>;
  /** Begins to read the file before the call has its slot. */
  prepare?: () => void;
  /** Memory of the call while it waits, in bytes. */
  heldBytes: number;
  /** The times of the drawings that its pixels are. */
  drawn: readonly DrawnTimes[];
  /** The file of a drawing, whose pixels `open` answers, and its natural size. */
  drawing?: { bytes: Uint8Array; width: number; height: number };
}

/**
 * The input of bytes that were sent.
 * @param known the header, where it was already read from them.
 * @param passes none for a description and a comparison.
 * @param param the field of the call that brought a second picture.
 * @throws unsupported_format as `readable` does.
 */
export function openedFrom(
  bytes: Uint8Array,
  known: Header | null | undefined,
  passes: readonly Pass[],
  param?: string,
): Opened {
  const [first = null, ...others] = passes;
  const header = readable(bytes, known, first, param);
  for (const pass of others) readable(bytes, header, pass, param);
  return { file: { input: ownedBytes(bytes) }, header };
}

/**
 * A file in a store: it is read when the call has its slot, or is next to have one.
 * @param param as in `openedFrom`.
 */
export function storedSource(file: StoredFile, passes: readonly Pass[], param?: string): Source {
  let reading: Promise<Opened> | undefined;
  const open = () => {
    reading ??= file.read().then((bytes) => openedFrom(bytes, null, passes, param));
    return reading;
  };
  // If the reading fails, the call is refused later, when it has its slot.
  const prepare = () => void open().catch(() => undefined);
  return { header: headerOfFacts(file.facts), open, prepare, heldBytes: 0, drawn: [] };
}

/**
 * Bytes that can be handed to a thread without a copy: they own the whole of their memory. Others are copied once.
 * Bytes that were handed over must not be touched again.
 */
export function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsItsBuffer(bytes) ? bytes : new Uint8Array(bytes);
}

function ownsItsBuffer(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
}

/** Facts of the file of a drawing that its pixels do not hold. */
export function drawingFacts({ bytes, width, height }: NonNullable<Source['drawing']>): Partial<ImageFacts> {
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', width, height, bytes: bytes.length, sha1 };
}

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
  const file = detectUnsupportedFormat(bytes);
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
