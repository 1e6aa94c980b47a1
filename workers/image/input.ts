import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { type Decode, type InputHeader, MAX_PIXELS, type TransformTask } from '../protocol.ts';
import {
  batchesOf,
  isConsecutive,
  joinedDelays,
  rangeOf,
  SELECTING,
  selectFrames,
  selectsFrames,
} from './frames.ts';
import type { Size } from './pixels/geometry.ts';
import { type DeepPixels, framesOf, joinFrames, type Pixels, readPixels } from './pixels/pixels.ts';
import { readableFile } from './readable.ts';
import { invalid, tooLarge, unreadable } from './refusal.ts';

/** The loaders that may read input. libvips has more (SVG, PDF, its own formats); they stay blocked as a risk. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'];

/** Formats whose frames form an animation, not pages or pictures of a collection. */
const MOVING_FORMATS: readonly string[] = ['gif', 'webp'];

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

function isMoving(format: string): boolean {
  return MOVING_FORMATS.includes(format);
}

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
      throw error.message.includes('exceeds pixel limit') ? tooLarge() : unreadable();
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

/** The frames that a pass works on: the first one and their number. */
export interface Chosen {
  first: number;
  count: number;
  /** The frames by their index, if others that are left out lie between them. */
  kept?: readonly number[];
  /** Display time of each, in milliseconds; absent where it is that of the file. */
  delays?: number[];
}

/** What a pass makes of frames. */
interface Making {
  /** Whether every step works frame by frame. */
  canMove: boolean;
  outputFormat: string;
}

/**
 * Chooses the frames. All are taken when `frame` is `all`, or when it is absent and input, output and steps can be
 * animated; otherwise one. The parameters in place of `frame` choose among all.
 * @throws Refusal invalid_param on `frame`, or the parameter in its place, when the image has no such frame, or the
 * output cannot hold several.
 */
export function chooseFrames(decode: Decode, source: InputFacts, making: Making): Chosen {
  return selectsFrames(decode) ? chooseAmong(decode, source, making) : chooseByFrame(decode, source, making);
}

/** @throws Refusal as chooseFrames. */
function chooseAmong(decode: Decode, source: InputFacts, { canMove, outputFormat }: Making): Chosen {
  const { frames, delays } = source;
  const [from = 0, to = 0] = rangeOf(decode.frames) ?? [];
  if (Math.max(from, to) >= frames) {
    const has = frames === 1 ? 'only 1 frame, which is 0' : `${frames} frames, 0 to ${frames - 1}`;
    const details = { received: decode.frames, limit: frames - 1, count: frames };
    throw invalid('frames', `frames is ${decode.frames}, but the image has ${has}.`, details);
  }
  const selection = selectFrames(decode, source);
  const { kept } = selection;
  const first = kept[0] ?? 0;
  if (kept.length === frames) return { first, count: frames };
  const param = SELECTING.find((name) => decode[name] !== undefined) ?? 'frames';
  const named = `${param} is ${decode[param]}`;
  if (kept.length > 1) assertHoldsFrames(source.format, { canMove, outputFormat }, param, named);
  return {
    first,
    count: kept.length,
    ...(!isConsecutive(kept) && { kept }),
    ...(delays !== undefined && { delays: joinedDelays(delays, selection) }),
  };
}

/** @throws Refusal as chooseFrames. */
function chooseByFrame({ frame }: Decode, source: InputFacts, making: Making): Chosen {
  const { canMove, outputFormat } = making;
  const { frames, format } = source;
  if (typeof frame === 'number') {
    if (frame < frames) return { first: frame, count: 1 };
    const last = frames - 1;
    const message = `frame is ${frame}, but the image has ${frames === 1 ? 'only frame 0' : `frames 0 to ${last}`}.`;
    throw invalid('frame', message, { received: frame, limit: last });
  }
  if (frame === 'all' && frames > 1) {
    assertHoldsFrames(format, making, 'frame', 'frame is all');
    return { first: 0, count: frames };
  }
  const movesByDefault = frame === undefined && canMove && isMoving(format) && isMoving(outputFormat);
  return { first: 0, count: movesByDefault ? frames : 1 };
}

/**
 * Refuses several frames where input, output or a step has one picture.
 * @param named the parameter that asks for several, and its value.
 */
function assertHoldsFrames(
  format: string,
  { canMove, outputFormat }: Making,
  param: string,
  named: string,
): void {
  const refused = (reason: string) => invalid(param, `${named}, but ${reason}`);
  if (!isMoving(outputFormat))
    throw refused(`${outputFormat} holds one picture: ask for gif or webp, or for one frame.`);
  if (!isMoving(format))
    throw refused(`this ${format} holds pages, not frames: ask for one by its index from 0.`);
  if (!canMove) throw refused('a step of this pass makes one picture: ask for one frame.');
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
  if (source.width * source.height * count > MAX_PIXELS) throw tooLarge();
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

/** Opens a still picture whose header was not read before: upright, and in the colours of sRGB. */
export async function openFile(file: Uint8Array<ArrayBuffer>): Promise<Sharp> {
  const { input } = await readableFile(file);
  const opened = sharp(input, { ...STRICT, autoOrient: true });
  const { depth, hasProfile } = await opened.metadata();
  return depth !== 'uchar' && hasProfile ? toSrgb(opened) : opened;
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
