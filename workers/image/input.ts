import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import type { Size } from '../formats/size.ts';
import { type InputHeader, MAX_PIXELS, type TransformTask } from '../protocol.ts';
import type { Chosen } from './chosen-frames.ts';
import { batchesOf, isMoving } from './frames.ts';
import { type DeepPixels, framesOf, joinFrames, type Pixels, readPixels } from './pixels/pixels.ts';
import { readableFile } from './readable.ts';
import { pictureTooLarge, unreadablePicture } from './refusal.ts';

/** The loaders that may read input. libvips has more (SVG, PDF, its own formats); they stay blocked as a risk. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'];

/**
 * Blocks every loader except those on the list, in the whole process. For a moment it blocks these as well: no other
 * thread may be reading a picture.
 */
export function closeOtherLoaders(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS.map((name) => `VipsForeignLoad${name}`) });
}

/** Facts from the header of an input. */
export interface InputFacts extends Size {
  /** The format as named by libvips; `raw` for pixels. */
  format: string;
  /** Number of frames or pages in the file. Width and height are of one of them, upright. */
  frames: number;
  hasAlpha: boolean;
  /** EXIF value, 1 to 8; at 1 its stored frames are upright. */
  orientation: number;
  /** Whether the pixels are RGB, and so may keep their own ICC profile. */
  isRgb: boolean;
  /** Whether it has one channel besides alpha. */
  isGrey: boolean;
  /** Whether its pixels are indexed: a palette, or fewer than 8 bits of grey. */
  isIndexed: boolean;
  /** Whether channels have more than 8 bits. */
  isDeep: boolean;
  /** Whether it is a PNG or TIFF of 16 bits; its result can then have 16 bits as well. */
  is16Bit: boolean;
  hasProfile: boolean;
  /** Display time of each frame, in milliseconds. */
  delays?: number[];
  /** Number of times that an animation plays; 0 for ever. */
  loop?: number;
}

/** Corrupt and truncated files fail; junk between JPEG segments, which cameras write, is tolerated. */
const STRICT: SharpOptions = { failOn: 'error', limitInputPixels: MAX_PIXELS };

/**
 * Reads the header, or uses the one that the sender has read.
 * @throws Refusal unsupported_format when the file is not a readable image, or one frame of it is too large.
 */
export async function readSource(task: TransformTask, keepsMetadata: boolean): Promise<InputFacts> {
  const { raw, header } = task;
  if (raw !== undefined) return sourceOfHeader({ ...RAW_HEADER, ...raw });
  // The sender's header lacks the colour space and the profile, which matter only for kept metadata and deep channels.
  if (header !== undefined && !keepsMetadata && header.bitDepth <= 8) return sourceOfHeader(header);
  const source = await readHeader(task.input);
  if (source.format === 'heif' && task.pictures !== undefined) source.frames = task.pictures;
  return source;
}

async function readHeader(input: Uint8Array, page = 0): Promise<InputFacts> {
  const header = await sharp(input, { ...STRICT, page })
    .metadata()
    .catch((error: Error) => {
      throw error.message.includes('exceeds pixel limit') ? pictureTooLarge() : unreadablePicture();
    });
  return sourceOfMetadata(header);
}

function sourceOfMetadata(header: Metadata): InputFacts {
  const { width, height } = header.autoOrient;
  return {
    format: header.format,
    width,
    height: header.pageHeight ?? height,
    frames: header.pages ?? 1,
    hasAlpha: header.hasAlpha,
    orientation: header.orientation ?? 1,
    isRgb: header.space === 'srgb' || header.space === 'rgb16',
    isGrey: header.space === 'b-w' || header.space === 'grey16',
    isIndexed: header.format === 'png' && (header.isPalette || (header.bitsPerSample ?? 8) < 8),
    isDeep: header.depth !== 'uchar',
    is16Bit: header.depth === 'ushort' && (header.format === 'png' || header.format === 'tiff'),
    hasProfile: header.hasProfile,
    ...(header.delay !== undefined && { delays: header.delay }),
    ...(header.loop !== undefined && { loop: header.loop }),
  };
}

/** The facts of pixels that have no file. */
const RAW_HEADER = { format: 'raw', orientation: 1, hasAlpha: true, isGrey: false, isIndexed: false };

function sourceOfHeader(header: Omit<InputHeader, 'format' | 'bitDepth'> & { format: string }): InputFacts {
  const { format, width, height, orientation, hasAlpha, isGrey, isIndexed } = header;
  const isSideways = orientation >= 5;
  return {
    format,
    width: isSideways ? height : width,
    height: isSideways ? width : height,
    frames: 1,
    hasAlpha,
    orientation,
    isRgb: !isGrey,
    isGrey,
    isIndexed,
    isDeep: false,
    is16Bit: false,
    hasProfile: false,
  };
}

/**
 * The facts of the chosen page, which are read again because the pages of a document may differ in size.
 * @throws Refusal unsupported_format when the chosen frames have too many pixels in total.
 */
export async function chosenPage(
  source: InputFacts,
  input: Uint8Array,
  { first, count, delays }: Chosen,
): Promise<InputFacts> {
  if (source.width * source.height * count > MAX_PIXELS) throw pictureTooLarge();
  if (first === 0 || isMoving(source.format)) return { ...source, ...(delays && { delays }) };
  return { ...(await readHeader(input, first)), frames: source.frames };
}

/**
 * Decodes frames between which others are left out. Those are decoded too, because each frame is drawn over the one
 * before, but only a batch of them is in memory at a time.
 * @param secondsLeft returns the whole seconds that a pipeline started now may take.
 */
export async function readKept(
  input: Uint8Array,
  kept: readonly number[],
  { width, height, hasAlpha }: InputFacts,
  ignoreIcc: boolean,
  secondsLeft: () => number,
): Promise<Pixels> {
  const wanted = new Set(kept);
  const frames: Pixels[] = [];
  for (const { first, count } of batchesOf(kept, width * height)) {
    const pipeline = sharp(input, { ...STRICT, ignoreIcc, page: first, pages: count });
    pipeline.toColourspace('srgb').timeout({ seconds: secondsLeft() });
    const strip = framesOf(await readPixels(hasAlpha ? pipeline.ensureAlpha() : pipeline, count));
    const chosen = strip.filter((_, index) => wanted.has(first + index));
    // A copy of the frames lets go of those that are left out.
    frames.push(...chosen.map((frame) => ({ ...frame, data: frame.data.slice() })));
  }
  return joinFrames(frames);
}

/** sharp's options to open the chosen frames, upright. */
export function openOptions(
  task: Pick<TransformTask, 'raw'>,
  { first, count }: Chosen,
  ignoreIcc: boolean,
): SharpOptions {
  if (task.raw !== undefined) return { raw: task.raw, limitInputPixels: false };
  // Several frames lie in one strip, which cannot be turned as a whole: the picture turns each by itself.
  return {
    ...STRICT,
    ignoreIcc,
    autoOrient: count === 1,
    ...(first > 0 && { page: first }),
    ...(count > 1 && { pages: count }),
  };
}

/** Opens a still picture whose header was not read before, upright and in the colours of sRGB, and tells its size. */
export async function openFile(file: Uint8Array<ArrayBuffer>): Promise<[opened: Sharp, size: Size]> {
  const { input } = await readableFile(file);
  const opened = sharp(input, { ...STRICT, autoOrient: true });
  const { depth, hasProfile, autoOrient } = await opened.metadata();
  return [depth !== 'uchar' && hasProfile ? toSrgb(opened) : opened, autoOrient];
}

/** Converts 16-bit pictures with a profile to sRGB, because sharp converts them to Display P3. */
export function toSrgb(pipeline: Sharp): Sharp {
  return pipeline.withIccProfile('srgb', { attach: false });
}

/** The blocks of metadata of a file whose size was checked before. */
export function readMetadata(input: Uint8Array): Promise<Metadata> {
  return sharp(input, { failOn: 'error', limitInputPixels: false }).metadata();
}

/** Opens a pipeline on pixels; grey pixels are treated as RGB. */
export function openPixels({ data, width, height, channels, frames }: Pixels | DeepPixels): Sharp {
  const raw = { width, height: height * frames, channels, ...(frames > 1 && { pageHeight: height }) };
  const pipeline = sharp(data, { raw, limitInputPixels: false, ...(frames > 1 && { pages: -1 }) });
  return channels === 1 ? pipeline.pipelineColourspace('srgb') : pipeline;
}
