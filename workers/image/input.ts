import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import type { Size } from '../formats/size.ts';
import { type InputHeader, MAX_PIXELS, type RasterInput, type TransformTask } from '../protocol.ts';
import { hasSrgbProfile } from './colour/srgb-profile.ts';
import { type ChosenFrames, frameBatchesOf, isAnimationFormat } from './frames.ts';
import { type DeepPixels, joinFrames, type Pixels, readPixels, splitFrames } from './pixels/pixels.ts';
import { makeFileReadable } from './readable.ts';
import {
  BadArgumentError,
  isDeadlineError,
  pictureTooLargeRefusal,
  secondsLeft,
  unreadablePictureRefusal,
} from './refusal.ts';

/**
 * The libvips loaders that may read input. Its other loaders (SVG, PDF, its own formats) stay blocked, because they are
 * a security risk.
 */
const ALLOWED_LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'];

/**
 * Blocks every loader except those on the list, in the whole process. All loaders are blocked for a moment, so no other
 * thread may be reading a picture.
 */
export function blockUnusedLoaders(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ALLOWED_LOADERS.map((name) => `VipsForeignLoad${name}`) });
}

/** What a pass needs to know from the header of its input. */
export interface InputFacts extends Size {
  /** The format as named by libvips; `raw` for pixels. */
  format: string;
  /** The number of frames or pages in the file. Width and height are those of one upright frame. */
  frames: number;
  /** The number of frames of an animation that the codec does not read; see `FrameFacts`. */
  unreadFrames?: number | undefined;
  hasAlpha: boolean;
  /** EXIF orientation, 1 to 8. At 1 the stored frames are upright. */
  orientation: number;
  /** Whether the pixels are RGB, so that they may keep their own ICC profile. */
  isRgb: boolean;
  /** Whether the picture is grey: it has one channel, not counting alpha. */
  isGrey: boolean;
  /** Whether the pixels are indexed: they use a palette, or fewer than 8 bits of grey. */
  isIndexed: boolean;
  /** Whether each channel has more than 8 bits. */
  isDeep: boolean;
  /** Whether the file is a 16-bit PNG or TIFF; its result can then have 16 bits as well. */
  is16Bit: boolean;
  hasProfile: boolean;
  /** The whole header; absent if the image header that came with the task was used. */
  header?: Metadata;
  /** Display time of each frame, in milliseconds. */
  delays?: number[];
  /** The number of times that an animation plays; 0 means endlessly. */
  loop?: number;
}

/**
 * With these options, corrupt and truncated files fail. Junk between JPEG segments is tolerated, because cameras write
 * it.
 */
const STRICT_INPUT_OPTIONS: SharpOptions = { failOn: 'error', limitInputPixels: MAX_PIXELS };

/**
 * Reads the header of the file, or uses the image header that came with the task.
 * @throws PassRefusal unsupported_format when the file is not a readable image, or when one frame has too many pixels.
 */
export async function readInputFacts(task: TransformTask, keepsMetadata: boolean): Promise<InputFacts> {
  const { raw, header, unreadFrames } = task;
  if (raw !== undefined) return inputFactsFromHeader({ ...RAW_PIXELS_HEADER, ...raw });
  // The image header that came with the task lacks the colour space and the profile. They matter only for kept metadata
  // and for 16-bit channels.
  if (header !== undefined && !keepsMetadata && header.bitDepth <= 8)
    return { ...inputFactsFromHeader(header), unreadFrames };
  const source = await readHeader(task.input);
  if (source.format === 'heif' && task.pictures !== undefined) source.frames = task.pictures;
  return { ...source, unreadFrames };
}

async function readHeader(input: Uint8Array, page = 0): Promise<InputFacts> {
  const header = await sharp(input, { ...STRICT_INPUT_OPTIONS, page })
    .metadata()
    .catch((error: Error) => {
      throw error.message.includes('exceeds pixel limit')
        ? pictureTooLargeRefusal()
        : unreadablePictureRefusal();
    });
  return inputFactsFromMetadata(header);
}

function inputFactsFromMetadata(header: Metadata): InputFacts {
  const { width, height } = header.autoOrient;
  return {
    header,
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

/** The header facts of raw pixels, which have no file. */
const RAW_PIXELS_HEADER = { format: 'raw', orientation: 1, hasAlpha: true, isGrey: false, isIndexed: false };

function inputFactsFromHeader(
  header: Omit<InputHeader, 'format' | 'bitDepth'> & { format: string },
): InputFacts {
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
 * The facts of the chosen page, whose header is read because the pages of a document may differ in size.
 * @throws PassRefusal unsupported_format when the chosen frames have too many pixels in total.
 */
export async function readChosenPageFacts(
  source: InputFacts,
  input: Uint8Array,
  { first, count, delays }: ChosenFrames,
): Promise<InputFacts> {
  if (source.width * source.height * count > MAX_PIXELS) throw pictureTooLargeRefusal();
  if (first === 0 || isAnimationFormat(source.format)) return { ...source, ...(delays && { delays }) };
  return { ...(await readHeader(input, first)), frames: source.frames };
}

/**
 * Decodes frames between which other frames are dropped. Dropped frames are decoded too, because each frame is drawn
 * over the one before, but only one batch is in memory at a time.
 * @param secondsLeft returns the whole seconds that a pipeline started now may take.
 */
export async function decodeKeptFrames(
  input: Uint8Array,
  kept: readonly number[],
  { width, height, hasAlpha }: InputFacts,
  ignoreIcc: boolean,
  secondsLeft: () => number,
): Promise<Pixels> {
  const wanted = new Set(kept);
  const frames: Pixels[] = [];
  for (const { first, count } of frameBatchesOf(kept, width * height)) {
    const pipeline = sharp(input, { ...STRICT_INPUT_OPTIONS, ignoreIcc, page: first, pages: count });
    pipeline.toColourspace('srgb').timeout({ seconds: secondsLeft() });
    const strip = splitFrames(await readPixels(hasAlpha ? pipeline.ensureAlpha() : pipeline, count));
    const chosen = strip.filter((_, index) => wanted.has(first + index));
    // The kept frames are copied, so that the memory of the dropped frames is freed.
    frames.push(...chosen.map((frame) => ({ ...frame, data: frame.data.slice() })));
  }
  return joinFrames(frames);
}

/** Options with which sharp opens the chosen frames upright. */
export function sharpOptionsFor(
  task: Pick<TransformTask, 'raw'>,
  { first, count }: ChosenFrames,
  ignoreIcc: boolean,
): SharpOptions {
  if (task.raw !== undefined) return { raw: task.raw, limitInputPixels: false };
  // Several frames lie in one strip, which sharp cannot turn as a whole. Each frame is turned later.
  return {
    ...STRICT_INPUT_OPTIONS,
    ignoreIcc,
    autoOrient: count === 1,
    ...(first > 0 && { page: first }),
    ...(count > 1 && { pages: count }),
  };
}

/** Opens a still picture whose header was not read before, and returns its size. The picture is upright and in sRGB. */
export async function openStillPicture(file: Uint8Array<ArrayBuffer>): Promise<[opened: Sharp, size: Size]> {
  const { input } = await makeFileReadable(file);
  const options = { ...STRICT_INPUT_OPTIONS, ignoreIcc: hasSrgbProfile(input), autoOrient: true };
  const opened = sharp(input, options);
  const { depth, hasProfile, autoOrient } = await opened.metadata();
  return [depth !== 'uchar' && hasProfile ? toSrgb(opened) : opened, autoOrient];
}

/** Converts 16-bit pictures with a profile to sRGB. By itself, sharp would convert them to Display P3. */
export function toSrgb(pipeline: Sharp): Sharp {
  return pipeline.withIccProfile('srgb', { attach: false });
}

/** Reads the metadata blocks of a file whose size was checked before. */
export function readSharpMetadata(input: Uint8Array): Promise<Metadata> {
  return sharp(input, { failOn: 'error', limitInputPixels: false }).metadata();
}

/** Opens a pipeline on pixels; grey pixels are treated as RGB. */
export function openPixelPipeline({ data, width, height, channels, frames }: Pixels | DeepPixels): Sharp {
  const raw = { width, height: height * frames, channels, ...(frames > 1 && { pageHeight: height }) };
  const pipeline = sharp(data, { raw, limitInputPixels: false, ...(frames > 1 && { pages: -1 }) });
  return channels === 1 ? pipeline.pipelineColourspace('srgb') : pipeline;
}

/** Returns a function that reads the further pictures of a task, such as overlays, by the same rules as its input. */
export function createLayerReader({ layers = {}, deadlineMs }: TransformTask) {
  return async (id: string, key: string, prepare: (opened: Sharp, size: Size) => Sharp): Promise<Pixels> => {
    const raster = Object.hasOwn(layers, id) ? layers[id] : undefined;
    if (raster === undefined)
      throw new BadArgumentError(key, 'The second picture of this step was not loaded.');
    try {
      const pipeline = prepare(...(await openLayer(raster)));
      return await readPixels(pipeline.timeout({ seconds: secondsLeft(deadlineMs) }));
    } catch (error) {
      if (error instanceof BadArgumentError || isDeadlineError(error)) throw error;
      const message =
        'The second picture of this step cannot be decoded: it is damaged, cut short, or not in a supported format.';
      throw new BadArgumentError(key, message);
    }
  };
}

async function openLayer({ input, raw }: RasterInput): Promise<[opened: Sharp, size: Size]> {
  return raw === undefined ? openStillPicture(new Uint8Array(input)) : [sharp(input, { raw }), raw];
}
