import { createHash } from 'node:crypto';
import { isAnimationFormat, selectsFrames } from '../../../workers/image/frames.ts';
import { type ImageFacts, type ImagePass, MAX_PIXELS, type RasterInput } from '../../../workers/protocol.ts';
import type { RequestedDrawingSize } from '../../../workers/vector/protocol.ts';
import { READABLE_MEDIA_TYPES } from '../../platform/http/bodies/image-body.ts';
import type { CallCorrection } from '../../platform/http/errors/corrections.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { fewerFramesParameters, likelyPixelsWithinTarget, parametersText } from './alternatives.ts';
import type { CallDeadline } from './deadline.ts';
import { frameCountOf } from './estimates/prediction.ts';
import { unsupportedFormatError } from './failures.ts';
import { type ImageHeader, imageHeaderOf } from './header/facts.ts';
import { readImageHeader } from './header/header.ts';
import {
  type ImageCall,
  isStoredFile,
  type LayerFile,
  type LayerFiles,
  type StoredFile,
} from './image-call.ts';
import type { ImageObject } from './image-object.ts';
import { detectUnsupportedFormat } from './unsupported-formats.ts';
import { NATURAL_DRAWING_SIZE, type Rasterizer } from './vector.ts';

/** The header of a stored file, derived from its facts. It is exact enough to estimate memory and time. */
export function headerOfFacts(facts: ImageObject): ImageHeader {
  const { mimeType, orientation, frames, bitDepth, hasAlpha } = facts;
  // The facts give the size as displayed, but a header gives it as stored.
  const [width, height] = orientation > 4 ? [facts.height, facts.width] : [facts.width, facts.height];
  const format = facts.format as ImageHeader['format'];
  return imageHeaderOf({
    ...{ format, mimeType, width, height, frames, orientation, bitDepth, hasAlpha },
    channels: (facts.colorSpace === 'b-w' ? 1 : 3) + Number(hasAlpha),
    animated: frames > 1 && isAnimationFormat(format),
  });
}

/**
 * Whether the stored facts of a file suffice to check passes. Those of a drawing lack its content. Those of a PNG or an
 * AVIF lack the number of frames that no decoder reads, which matters to a pass that chooses frames.
 */
export function doFactsSuffice({ facts: { format } }: StoredFile, passes: readonly ImagePass[]): boolean {
  if (format === 'png' || format === 'avif')
    return passes.every(({ decode }) => (decode.frame ?? 'first') === 'first' && !selectsFrames(decode));
  return format !== 'svg';
}

/** A picture that can be sent to an image thread. */
export interface OpenedSource {
  file: RasterInput;
  /** The header of `file`. For an SVG, the header of its drawn pixels. */
  header: ImageHeader;
}

export interface ImageSourceFile {
  /** The header from which the work is estimated. For a stored file it is derived from its facts. */
  header: ImageHeader;
  /** Returns the input of the thread. A file that is still in a store is read first. */
  open(): OpenedSource | Promise<OpenedSource>;
  /** Begins to read the file before the call has its slot. */
  prepare?: () => void;
  /** The file of a vector drawing and its natural size; `open` returns its pixels. */
  drawing?: { bytes: Uint8Array; width: number; height: number };
}

/**
 * A pass that reads only the first frame. Steps read only the first frame of a second picture, so its pixels are
 * counted as for this pass.
 */
const FIRST_FRAME_PASS: ImagePass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

/** Reads the pictures of one call, and counts the bytes that they hold until the call has its slot. */
export class CallPictures {
  readonly #call: ImageCall;
  readonly #deadline: CallDeadline;
  readonly #rasterizer: Rasterizer;
  /** Bytes that the pictures hold while the call waits. Files that are still in a store hold none. */
  heldBytes = 0;
  /**
   * The time for which the vector drawings among the pictures waited for the rasterizer, and the time for which it drew
   * them.
   */
  readonly drawing = { queueMs: 0, drawnMs: 0 };

  constructor(call: ImageCall, deadline: CallDeadline, rasterizer: Rasterizer) {
    this.#call = call;
    this.#deadline = deadline;
    this.#rasterizer = rasterizer;
  }

  /**
   * Reads the header of a picture, and draws a vector drawing. A stored file is read when the call has its slot or is
   * next in the queue; one whose stored facts do not suffice is read at once.
   * @param size of a drawing.
   * @param passes over the picture; empty for a description and a comparison.
   * @throws unsupported_format as `requireReadableHeader` does; what the reading of a stored drawing throws.
   */
  async read(
    { bytes: file, header: known, param }: LayerFile,
    size: RequestedDrawingSize,
    passes: readonly ImagePass[],
  ): Promise<ImageSourceFile> {
    if (isStoredFile(file) && doFactsSuffice(file, passes)) return sourceOfStoredFile(file, passes, param);
    const bytes = isStoredFile(file) ? await file.read() : file;
    const opened = openSource(bytes, known, passes, param);
    if (opened.header.format === 'svg') return this.#draw(bytes, opened.header, size, param);
    this.heldBytes += bytes.length;
    return { header: opened.header, open: () => opened };
  }

  async readLayers(files: LayerFiles = {}): Promise<Record<string, ImageSourceFile>> {
    const layers: Record<string, ImageSourceFile> = {};
    for (const [id, file] of Object.entries(files))
      layers[id] = await this.read(file, NATURAL_DRAWING_SIZE, [FIRST_FRAME_PASS]);
    return layers;
  }

  async #draw(
    bytes: Uint8Array,
    ofFile: ImageHeader,
    size: RequestedDrawingSize,
    param: string | undefined,
  ): Promise<ImageSourceFile> {
    const { accountId, work } = this.#call;
    const caller = { accountId, work, deadline: this.#deadline };
    const drawn = await this.#rasterizer.draw({ bytes, size, param }, caller);
    const { width, height, naturalWidth, naturalHeight, channels, pixels: input } = drawn;
    this.heldBytes += input.length;
    this.drawing.queueMs += drawn.queueMs;
    this.drawing.drawnMs += drawn.drawnMs;
    const header = { ...ofFile, width, height, pixels: width * height };
    const pixels = { file: { input, raw: { width, height, channels } }, header };
    return { header, open: () => pixels, drawing: { bytes, width: naturalWidth, height: naturalHeight } };
  }
}

/** A file in a store, which is read when the call has its slot, or is next in the queue. */
function sourceOfStoredFile(file: StoredFile, passes: readonly ImagePass[], param?: string): ImageSourceFile {
  let reading: Promise<OpenedSource> | undefined;
  const open = () => {
    reading ??= file.read().then((bytes) => openSource(bytes, null, passes, param));
    return reading;
  };
  // If the reading fails, the call is refused later, when it has its slot.
  const prepare = () => void open().catch(() => undefined);
  return { header: headerOfFacts(file.facts), open, prepare };
}

/** @throws unsupported_format as `requireReadableHeader` does. */
function openSource(
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
 * Bytes that own their whole memory, so that they can be transferred to a thread without a copy. Other bytes are copied
 * once. Transferred bytes must not be used again.
 */
export function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isWhole = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
  return isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

/** The facts about the file of a vector drawing that cannot be derived from its pixels. */
export function drawingFacts(drawing: NonNullable<ImageSourceFile['drawing']>): Partial<ImageFacts> {
  const { bytes, width, height } = drawing;
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', width, height, bytes: bytes.length, sha1 };
}

const READABLE_FORMATS_TEXT = 'JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG';
/**
 * Reads the header of an image, so that an unsuitable image is refused before it is decoded.
 * @param known the header, if it was already read from these bytes.
 * @param pass decides how many frames are kept; only their pixels count. Null: all frames.
 * @param param the field of the call that brought a second picture. Without it, the picture is the call's own.
 * @throws unsupported_format when the service cannot read the image, or the kept frames have more than 50 megapixels.
 */
export function requireReadableHeader(
  bytes: Uint8Array,
  known?: ImageHeader | null,
  pass: ImagePass | null = null,
  param?: string,
): ImageHeader {
  const header = known ?? readImageHeader(bytes);
  if (!isSupported(header)) throw unsupportedFileError(bytes, param ?? 'file');
  checkPixelCount(header, pass, bytes.length, param);
  if (header.unreadableReason !== undefined)
    throw unsupportedFormatError(header.unreadableReason, { received: header.mimeType }, param);
  return header;
}

/**
 * Refuses bytes that are not an image of a supported format.
 * @param param the parameter of the call that brought them.
 * @throws unsupported_format on `param`.
 */
export function checkIsImage(bytes: Uint8Array, param: string): void {
  if (!isSupported(readImageHeader(bytes))) throw unsupportedFileError(bytes, param);
}

function isSupported(header: ImageHeader | null): header is ImageHeader {
  return header !== null && header.format !== 'heif';
}

function unsupportedFileError(bytes: Uint8Array, param: string): ApiError {
  if (bytes.length === 0)
    return unsupportedFormatError('The image is empty: send its bytes.', undefined, param);
  const file = detectUnsupportedFormat(bytes);
  if (file === undefined) {
    const message = `The bytes are not an image of a supported format: send ${READABLE_FORMATS_TEXT}.`;
    return unsupportedFormatError(message, { supported: READABLE_MEDIA_TYPES }, param);
  }
  const message = `This is ${file.name}, which is not supported: ${file.instead}. Supported: ${READABLE_FORMATS_TEXT}.`;
  const { mediaType: found, encoding } = file;
  const corrections: CallCorrection[] =
    encoding === undefined || param !== 'file' ? [] : [{ param, decode: encoding }];
  const details = { found, supported: READABLE_MEDIA_TYPES };
  return new ApiError('unsupported_format', message, { param, details, corrections });
}

/**
 * Checks the number of pixels. The size of a vector drawing is known only when it is drawn, and is checked then.
 * @param param as in `requireReadableHeader`.
 * @throws unsupported_format when the frames to read have more pixels than the limit.
 */
export function checkPixelCount(
  header: ImageHeader,
  pass: ImagePass | null,
  fileBytes: number,
  param?: string,
): void {
  const { format, pixels, frames, width, height } = header;
  const keptFrames = pass === null ? frames : frameCountOf(header, pass);
  // Pages of a document may differ in size. If all of them are read, the exact sum of their pixels is used.
  const keptPixels = keptFrames === frames ? pixels : keptFrames * width * height;
  if (format === 'svg' || keptPixels <= MAX_PIXELS) return;
  const size = `The image has ${keptPixels.toLocaleString('en')} pixels`;
  const details = { limit: MAX_PIXELS, received: keptPixels };
  if (keptFrames === 1)
    throw unsupportedFormatError(
      `${size}, and at most 50 megapixels are read: send a smaller one.`,
      details,
      param,
    );
  const fewer =
    pass === null || !header.animated
      ? []
      : fewerFramesParameters(header, pass, { mostPx: likelyPixelsWithinTarget(header, pass, fileBytes) });
  const words = fewer.map(({ parameters }) => parametersText(parameters));
  const instead =
    words.length === 0 ? 'transform one of its frames (frame=first)' : `read fewer (${words.join(', or ')})`;
  const message = `${size}, its ${keptFrames} frames together, and at most 50 megapixels are read: send one with fewer or smaller frames, or ${instead}.`;
  throw unsupportedFormatError(message, { ...details, ...(fewer.length > 0 && { instead: fewer }) }, param);
}
