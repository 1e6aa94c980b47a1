import { createHash } from 'node:crypto';
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import type { Size } from '../../formats/size.ts';
import {
  type DescribeTask,
  type DescribeTaskResult,
  type HeaderDecodeHints,
  type ImageFacts,
  MAX_PIXELS,
  type RawPixelShape,
  type TaskFailure,
} from '../../protocol.ts';
import { encodeLocalOutput, type PipelineOutput } from '../../transport/output.ts';
import { hasSrgbProfile } from '../colour/srgb-profile.ts';
import { entropyOf, greyPixelsOf, sharpnessOf } from '../facts/brightness.ts';
import { averageAndDominantColours } from '../facts/colours.ts';
import { allHashesOf } from '../facts/hashes.ts';
import { paletteOf } from '../facts/palette.ts';
import { toSrgb } from '../input.ts';
import { fitIntoBox } from '../pixels/geometry.ts';
import { isChannelFull, MAX_SAMPLE_EDGE_PX, type PixelSample } from '../pixels/pixels.ts';
import { makeFileReadable } from '../readable.ts';
import { pictureTooLargeRefusal, taskFailureOf, unreadablePictureRefusal } from '../refusal.ts';
import { readImageTags } from './tags.ts';

/**
 * The pHYs unit of a PNG that means metres. The only other unit is "unknown": the numbers then give just the aspect
 * ratio of a pixel.
 */
const PNG_UNIT_METRE = 1;
const METRES_PER_INCH = 0.0254;

const BITS_BY_SAMPLE_TYPE: Record<string, number> = {
  char: 8,
  ushort: 16,
  short: 16,
  uint: 32,
  int: 32,
  float: 32,
  double: 64,
};

/**
 * Reads everything that the metadata endpoint reports about a raster image: its facts and its tags. An animation is
 * measured by its first frame. If the header or the pixels cannot be decoded, the result is a failure
 * `unsupported_format`. With `raw` the input is pixels, and facts about a file are empty. A palette is measured if the
 * task requests it.
 */
export async function describeImage(
  input: Uint8Array<ArrayBuffer>,
  raw?: RawPixelShape,
  { palette, ...hints }: HeaderDecodeHints & Pick<DescribeTask, 'palette'> = {},
): Promise<DescribeTaskResult | TaskFailure> {
  const startedMs = performance.now();
  const decoded = await openMetadataFile(input, raw, hints).catch((error: unknown) =>
    taskFailureOf(error, true),
  );
  if ('kind' in decoded) return decoded;
  const decodedMs = performance.now();
  const { header, copy, isOpaque, bitDepth } = decoded;
  const metadata = raw === undefined ? readImageTags(input, header) : {};
  const image: ImageFacts = {
    ...(raw === undefined ? fileFacts(input, header) : NO_FILE_FACTS),
    width: header.autoOrient.width,
    height: header.autoOrient.height,
    orientation: header.orientation ?? 1,
    hasAlpha: header.hasAlpha,
    isOpaque,
    frames: pageCountOf(header, hints),
    density: densityOf(header, metadata),
    colorSpace: header.space,
    bitDepth,
    ...measureImage(copy, palette),
  };
  // The copy is freed at once. Memory that is left to the garbage collector causes full collections, a fifth of the
  // work here.
  copy.data.buffer.transfer(0);
  const timings = { decodeMs: decodedMs - startedMs, processMs: performance.now() - decodedMs, encodeMs: 0 };
  return { kind: 'described', image, metadata, timings };
}

/** Reads the header of a file and decodes its pixels. */
async function openMetadataFile(
  file: Uint8Array<ArrayBuffer>,
  raw: RawPixelShape | undefined,
  hints: HeaderDecodeHints,
) {
  const { input, described, bitDepth } = await makeFileReadable(file, {
    ...hints,
    ...(raw !== undefined && { raw }),
  });
  const header = await openForMeasuring(described, raw).metadata();
  const pixels = header.width * header.height;
  if (pixels * pageCountOf(header, hints) > MAX_PIXELS) throw pictureTooLargeRefusal();
  const read = input === described ? header : await openForMeasuring(input, raw).metadata();
  const isDeepWithProfile = read.depth !== 'uchar' && read.hasProfile;
  const copy = await decodeWorkingCopy(input, raw, { size: header.autoOrient, isDeepWithProfile });
  const isOpaque = !header.hasAlpha || (await isEveryPixelOpaque(input, raw, copy, pixels));
  const headerBits = header.bitsPerSample ?? BITS_BY_SAMPLE_TYPE[header.depth] ?? 8;
  return { header, copy, isOpaque, bitDepth: bitDepth ?? headerBits };
}

/** The number of pages. For a HEIF file, the number is taken from the hints, because libvips also counts tiles. */
function pageCountOf({ format, pages = 1 }: Metadata, { pictures }: HeaderDecodeHints): number {
  return format === 'heif' ? (pictures ?? pages) : pages;
}

type FileFacts = Pick<ImageFacts, 'mimeType' | 'format' | 'bytes' | 'sha1'>;

const NO_FILE_FACTS: FileFacts = { mimeType: '', format: '', bytes: 0, sha1: '' };

function fileFacts(input: Uint8Array, { format, mediaType }: Metadata): FileFacts {
  return {
    mimeType: mediaType ?? `image/${format}`,
    format: mediaType === 'image/avif' ? 'avif' : format,
    bytes: input.byteLength,
    sha1: createHash('sha1').update(input).digest('hex'),
  };
}

/**
 * Pixels per inch. A PNG's density is read from its tags, because libvips reports 72 for a PNG without a density and
 * takes every unit for a metre.
 */
function densityOf(
  { format, density }: Metadata,
  { png = {} }: DescribeTaskResult['metadata'],
): number | null {
  if (format !== 'png') return density ?? null;
  const perMetre = png['Pixels Per Unit X'];
  if (typeof perMetre !== 'number' || png['Pixel Units'] !== PNG_UNIT_METRE) return null;
  return Math.round(perMetre * METRES_PER_INCH * 10) / 10;
}

/** Opens the input with the same options for every decoding. Warnings of the decoder are ignored. */
function openForMeasuring(input: Uint8Array<ArrayBuffer>, raw: RawPixelShape | undefined): Sharp {
  const limits: SharpOptions = { limitInputPixels: MAX_PIXELS, failOn: 'error' };
  const options = raw === undefined ? { ...limits, ignoreIcc: hasSrgbProfile(input) } : { ...limits, raw };
  return sharp(input, options);
}

async function decodeWorkingCopy(
  input: Uint8Array<ArrayBuffer>,
  raw: RawPixelShape | undefined,
  { size, isDeepWithProfile }: { size: Size; isDeepWithProfile: boolean },
): Promise<PixelSample & Pick<PipelineOutput, 'data'>> {
  const within = fitIntoBox(
    size,
    { width: MAX_SAMPLE_EDGE_PX, height: MAX_SAMPLE_EDGE_PX },
    'inside',
    false,
  ).scaled;
  // The copy is scaled as a pass scales it, so that both measure the same values for the same picture.
  const small = openForMeasuring(input, raw)
    .autoOrient()
    .resize({ ...within, fit: 'fill' });
  if (isDeepWithProfile) toSrgb(small);
  const { data, info } = await encodeLocalOutput(small.toColourspace('srgb').raw());
  if (info.channels !== 3 && info.channels !== 4) throw unreadablePictureRefusal();
  return { data, width: info.width, height: info.height, channels: info.channels };
}

/**
 * Whether every pixel is opaque, in 8 bits. Scaling may have hidden a single transparent pixel. If the working copy is
 * opaque and smaller than the picture, the whole alpha channel is decoded.
 */
async function isEveryPixelOpaque(
  input: Uint8Array<ArrayBuffer>,
  raw: RawPixelShape | undefined,
  copy: PixelSample,
  pixels: number,
): Promise<boolean> {
  if (copy.channels === 4 && !isChannelFull(copy.data, 3, 4)) return false;
  if (copy.width * copy.height === pixels) return true;
  const alpha = await encodeLocalOutput(openForMeasuring(input, raw).extractChannel('alpha').raw());
  return isChannelFull(alpha.data, 0, 1);
}

/**
 * Measures the facts that depend on the pixels alone.
 * @param palette the largest number of palette colours. Without it, no palette is measured.
 */
export function measureImage(pixels: PixelSample, palette?: number) {
  const grey = greyPixelsOf(pixels.data, pixels.channels, pixels);
  const [entropy, sharpness] = [entropyOf(grey), sharpnessOf(grey)];
  const facts = { ...averageAndDominantColours(pixels), entropy, sharpness, ...allHashesOf(pixels) };
  return { ...facts, ...(palette !== undefined && { palette: paletteOf(pixels, palette) }) };
}
