import { ByteReader } from '../../formats/bytes.ts';
import { entryValues, type TiffDirectory, tiffPageDirectories } from '../../formats/tiff.ts';
import { type NewTiffEntry, tiffEntrySize, withTiffDirectory } from '../../formats/tiff-directory.ts';
import {
  areSamplesConvertible,
  colourSampleCountOf,
  EXTRA_SAMPLE_KINDS,
  needsSampleConversion,
  PHOTOMETRIC_INTERPRETATIONS,
  readTiffPage,
  SAMPLE_FORMATS,
  TIFF_COMPRESSIONS,
  TIFF_PAGE_TAGS,
  type TiffPage,
} from '../../formats/tiff-page.ts';
import { unreadablePictureRefusal } from '../refusal.ts';
import { linearToSrgb } from './colour.ts';
import { unpremultiplyAlpha } from './declared-colours.ts';
import { hasDeepSrgb, readProfileConversion } from './misread-colours.ts';
import { isChromaSubsampled, readTiffSamples, type TiffSamples } from './tiff-samples.ts';

/** Pixels that libvips reads correctly: colours, then alpha if there is one. */
interface PlainPixels {
  data: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;
  channels: number;
  hasAlpha: boolean;
  photometric: number;
}

/** Tags that describe the stored samples. They are replaced when the samples are converted. */
const SAMPLE_TAGS: ReadonlySet<number> = new Set([
  ...Object.values(TIFF_PAGE_TAGS).filter(
    (tag) => tag !== TIFF_PAGE_TAGS.orientation && tag !== TIFF_PAGE_TAGS.profile,
  ),
  // MinSampleValue, MaxSampleValue, FreeOffsets, FreeByteCounts, GrayResponseUnit, GrayResponseCurve, and the
  // per-sample minimum and maximum.
  280,
  281,
  288,
  289,
  290,
  291,
  340,
  341,
]);

/**
 * Rewrites a page of a TIFF whose samples or profile libvips would misread. The new pixels and their directory are
 * added at the end of the file. The other tags of the page stay. Any other file is returned unchanged.
 * @param index the number of the page, from 0.
 * @param keepsProfile whether the result may keep the colours of the page.
 * @returns the file, and the bits of a stored sample if the page was rewritten. `described` is the file whose facts are
 *   reported, if that is another one.
 * @throws PassRefusal if the page cannot be converted; another error if it is damaged.
 */
export async function withReadableTiffSamples(
  input: Uint8Array<ArrayBuffer>,
  index: number,
  keepsProfile: boolean,
): Promise<{ input: Uint8Array<ArrayBuffer>; bitDepth?: number; described?: Uint8Array<ArrayBuffer> }> {
  const bytes = new ByteReader(input);
  const directories = [...tiffPageDirectories(bytes)];
  const directory = directories[index];
  if (directory === undefined || directory.truncated) return { input };
  const page = readTiffPage(bytes, directory);
  const before = directories[index - 1];
  const needsConversion = needsSampleConversion(page);
  if (!needsConversion && !keepsProfile && hasDeepSrgb(bytes, page))
    return { input: withoutProfile(input, directory, before), described: input };
  const convert = readProfileConversion(bytes, page, keepsProfile);
  if (!needsConversion && convert === undefined) return { input };
  if (!areSamplesConvertible(page)) {
    if (needsConversion) throw unreadablePictureRefusal();
    return { input };
  }
  const pixels = plainPixels(bytes, directory, page, await readTiffSamples(input, directory, page));
  convert?.(pixels);
  const profile = convert === undefined ? 'kept' : 'dropped';
  const rewritten = withRewrittenPage(input, {
    directory,
    before,
    page,
    pixels,
    profile,
  });
  // The rewritten file has lost its profile, which is one of the facts to report.
  return { input: rewritten, bitDepth: page.bits, ...(!needsConversion && { described: input }) };
}

const MAX_16_BIT_LEVEL = 65_535;

function plainPixels(
  bytes: ByteReader,
  directory: TiffDirectory,
  page: TiffPage,
  samples: TiffSamples,
): PlainPixels {
  const { photometric, samples: perPixel } = page;
  const colours = colourSampleCountOf(page) ?? perPixel;
  const alphaAt = page.extraSamples.findIndex((meaning) => meaning !== EXTRA_SAMPLE_KINDS.unspecified);
  // A single extra sample counts as alpha, whatever its tag says. libvips reads other TIFFs in the same way.
  const hasAlpha = alphaAt !== -1 || (perPixel === colours + 1 && !isChromaSubsampled(page));
  const alpha = hasAlpha ? colours + Math.max(0, alphaAt) : undefined;
  const isPremultiplied = page.extraSamples[alphaAt] === EXTRA_SAMPLE_KINDS.associatedAlpha;
  const channels = colours + Number(hasAlpha);
  if (isChromaSubsampled(page))
    return {
      data: rgbFromBlocks(page, samples, createYcbcrConverter(bytes, directory, page)),
      channels: 3,
      hasAlpha: false,
      photometric: PHOTOMETRIC_INTERPRETATIONS.rgb,
    };
  const data = colourAndAlphaSamples(page, samples.data, { colours, alpha });
  if (photometric === PHOTOMETRIC_INTERPRETATIONS.yCbCr) {
    const toRgb = createYcbcrConverter(bytes, directory, page);
    for (let at = 0; at < data.length; at += channels)
      toRgb(data[at] as number, data[at + 1] as number, data[at + 2] as number, data, at);
  }
  if (isPremultiplied) unpremultiplyAlpha({ data, channels });
  return { data, channels, hasAlpha, photometric: photometricAfterConversion(page) };
}

function photometricAfterConversion({ photometric }: TiffPage): number {
  if (photometric === PHOTOMETRIC_INTERPRETATIONS.yCbCr) return PHOTOMETRIC_INTERPRETATIONS.rgb;
  if (photometric === PHOTOMETRIC_INTERPRETATIONS.iccLab) return PHOTOMETRIC_INTERPRETATIONS.cieLab;
  return photometric;
}

/** The samples of colours and alpha: in 8 bits if the stored samples have 8 bits, otherwise in 16. */
function colourAndAlphaSamples(
  page: TiffPage,
  data: TiffSamples['data'],
  { colours, alpha }: { colours: number; alpha: number | undefined },
): PlainPixels['data'] {
  const { width, height, samples } = page;
  const from = [...Array(colours).keys(), ...(alpha === undefined ? [] : [alpha])];
  const values = from.map((sample) => sampleConversionOf(page, sample));
  // CMYK becomes sRGB of 8 bits in any case, and libvips scales its alpha wrongly if it has 16.
  const isNarrow =
    (page.bits === 8 && !isLab(page)) || page.photometric === PHOTOMETRIC_INTERPRETATIONS.separated;
  const pixels = width * height;
  const result = isNarrow ? new Uint8Array(pixels * from.length) : new Uint16Array(pixels * from.length);
  for (let pixel = 0, to = 0; pixel < pixels; pixel++) {
    for (let channel = 0; channel < from.length; channel++, to++) {
      const convert = values[channel] as (value: number) => number;
      result[to] = convert(data[pixel * samples + (from[channel] as number)] as number);
    }
  }
  return result;
}

function isLab({ photometric }: TiffPage): boolean {
  return (
    photometric === PHOTOMETRIC_INTERPRETATIONS.cieLab || photometric === PHOTOMETRIC_INTERPRETATIONS.iccLab
  );
}

/** The conversion of one stored sample to the value that libvips understands. Negative results become 0. */
function sampleConversionOf(page: TiffPage, sample: number): (value: number) => number {
  const { bits, sampleFormat, photometric } = page;
  if (isLab(page)) return labConversionOf(bits, photometric, sample);
  if (sampleFormat === SAMPLE_FORMATS.float) return floatConversionOf(bits, sample);
  const isSigned = sampleFormat === SAMPLE_FORMATS.signed;
  const writtenBits = photometric === PHOTOMETRIC_INTERPRETATIONS.separated ? 8 : Math.min(bits, 16);
  const shift = bits - writtenBits;
  if (!isSigned) return (value) => value >>> shift;
  const maxSample = 2 ** (bits - 1) - 1;
  const factor = (2 ** writtenBits - 1) / maxSample;
  return (value) => (value > maxSample ? 0 : Math.round(value * factor));
}

/**
 * The conversion of a floating-point sample, which is given by its bits. The first sample of a pixel is linear light
 * from 0 to 1, as libvips assumes for RGB. The other samples are alpha.
 */
function floatConversionOf(bits: number, sample: number): (value: number) => number {
  const [stored, number] =
    bits === 16 ? [new Uint16Array(1), new Float16Array(1)] : [new Uint32Array(1), new Float32Array(1)];
  const [from, to] = [new Uint8Array(stored.buffer), new Uint8Array(number.buffer)];
  return (value) => {
    stored[0] = value;
    to.set(from);
    // NaN becomes 0.
    const share = Math.min(1, Math.max(0, number[0] || 0));
    return Math.round(MAX_16_BIT_LEVEL * (sample === 0 ? linearToSrgb(share) : share));
  };
}

/** L* from 0 to 65535, and a* and b* as signed numbers in steps of 1/256 (TIFF 6.0, section 23). */
function labConversionOf(bits: number, photometric: number, sample: number): (value: number) => number {
  const isByte = bits === 8;
  if (sample > 2) return isByte ? (value) => value * 257 : (value) => value;
  const isIcc = photometric === PHOTOMETRIC_INTERPRETATIONS.iccLab;
  if (sample === 0)
    return isByte ? (value) => value * 257 : (value) => Math.min(65_535, (value * 65_535) / 65_280);
  const zero = isIcc ? (isByte ? 128 : 32_768) : 0;
  return isByte ? (value) => (value - zero) * 256 : (value) => value - zero;
}

/** Writes one pixel of YCbCr as RGB. */
type YcbcrConverter = (y: number, cb: number, cr: number, to: PlainPixels['data'], at: number) => void;

/**
 * Defaults for a file without the tags YCbCrCoefficients and ReferenceBlackWhite: the weights of red, green and blue in
 * Y (ITU-R BT.601), and the reference black and white.
 */
const DEFAULT_LUMA_WEIGHTS = [0.299, 0.587, 0.114];
const DEFAULT_REFERENCE_LEVELS = [0, 255, 128, 255, 128, 255];

/** Makes the converter of a page from YCbCr to RGB (TIFF 6.0, sections 20 and 21). */
function createYcbcrConverter(
  bytes: ByteReader,
  directory: TiffDirectory,
  { entries }: TiffPage,
): YcbcrConverter {
  const listOf = (tag: number, fallback: readonly number[]) => {
    const entry = entries.get(tag);
    const list = entry === undefined ? [] : entryValues(bytes, directory, entry, fallback.length);
    return list.length === fallback.length && list.every(Number.isFinite) ? list : fallback;
  };
  const [red = 0, green = 1, blue = 0] = listOf(TIFF_PAGE_TAGS.coefficients, DEFAULT_LUMA_WEIGHTS);
  const references = listOf(TIFF_PAGE_TAGS.referenceBlackWhite, DEFAULT_REFERENCE_LEVELS);
  const levels = (channel: number, range: number) => {
    const [black = 0, white = 255] = references.slice(2 * channel);
    return Float64Array.from({ length: 256 }, (_, code) => ((code - black) * range) / (white - black || 1));
  };
  const [luma, blues, reds] = [levels(0, 255), levels(1, 127), levels(2, 127)];
  const byte = (value: number) => Math.min(255, Math.max(0, Math.round(value)));
  return (y, cb, cr, to, at) => {
    const light = luma[y] as number;
    const r = light + (reds[cr] as number) * (2 - 2 * red);
    const b = light + (blues[cb] as number) * (2 - 2 * blue);
    to[at] = byte(r);
    to[at + 1] = byte((light - blue * b - red * r) / (green || 1));
    to[at + 2] = byte(b);
  };
}

/** The pixels of subsampled YCbCr: each block holds the Y of its pixels, and one Cb and Cr for all of them. */
function rgbFromBlocks(
  { width, height, subsampling }: TiffPage,
  { data, rowLength }: TiffSamples,
  toRgb: YcbcrConverter,
) {
  const { across, down } = subsampling;
  const luma = across * down;
  const result = new Uint8Array(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const row = Math.floor(y / down) * rowLength + (y % down) * across;
    for (let x = 0; x < width; x++, to += 3) {
      const block = row + Math.floor(x / across) * (luma + 2);
      const blues = block - (y % down) * across + luma;
      toRgb(
        data[block + (x % across)] as number,
        data[blues] as number,
        data[blues + 1] as number,
        result,
        to,
      );
    }
  }
  return result;
}

interface RewrittenPage {
  directory: TiffDirectory;
  /** The directory that points to the page's directory; undefined for the first page. */
  before: TiffDirectory | undefined;
  page: TiffPage;
  pixels: PlainPixels;
  profile: 'kept' | 'dropped';
}

/** Drops the profile of a page, whose pixels and other entries stay. */
function withoutProfile(
  file: Uint8Array,
  directory: TiffDirectory,
  before: TiffDirectory | undefined,
): Uint8Array<ArrayBuffer> {
  const kept = copiedEntries(file, directory, (tag) => tag !== TIFF_PAGE_TAGS.profile);
  return withTiffDirectory(file, directory, kept, { next: directory.next, pointerAt: before?.nextAt });
}

function copiedEntries(
  file: Uint8Array,
  directory: TiffDirectory,
  isKept: (tag: number) => boolean,
): NewTiffEntry[] {
  return directory.entries
    .filter(({ tag }) => isKept(tag))
    .map(({ tag, at }) => ({ tag, copied: file.subarray(at, at + tiffEntrySize(directory)) }));
}

/** Replaces the pixels of a page. All other entries of its directory stay. */
function withRewrittenPage(
  file: Uint8Array,
  { directory, before, page, pixels, profile }: RewrittenPage,
): Uint8Array<ArrayBuffer> {
  const { data, channels, hasAlpha, photometric } = pixels;
  const { littleEndian } = directory;
  const stored = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data.BYTES_PER_ELEMENT === 2 && !littleEndian) stored.swap16();
  const pixelsAt = file.length + (file.length % 2);
  const kept = copiedEntries(
    file,
    directory,
    (tag) => !SAMPLE_TAGS.has(tag) && (profile === 'kept' || tag !== TIFF_PAGE_TAGS.profile),
  );
  const entries: NewTiffEntry[] = [
    ...kept,
    { tag: TIFF_PAGE_TAGS.width, value: page.width },
    { tag: TIFF_PAGE_TAGS.height, value: page.height },
    { tag: TIFF_PAGE_TAGS.bits, value: 8 * data.BYTES_PER_ELEMENT },
    { tag: TIFF_PAGE_TAGS.compression, value: TIFF_COMPRESSIONS.none },
    { tag: TIFF_PAGE_TAGS.photometric, value: photometric },
    { tag: TIFF_PAGE_TAGS.stripOffsets, value: pixelsAt },
    { tag: TIFF_PAGE_TAGS.samples, value: channels },
    { tag: TIFF_PAGE_TAGS.rowsPerStrip, value: page.height },
    { tag: TIFF_PAGE_TAGS.stripBytes, value: stored.length },
    ...(hasAlpha ? [{ tag: TIFF_PAGE_TAGS.extraSamples, value: EXTRA_SAMPLE_KINDS.alpha }] : []),
  ];
  const extended = Buffer.concat([file, Buffer.alloc(pixelsAt - file.length), stored]);
  return withTiffDirectory(extended, directory, entries, { next: directory.next, pointerAt: before?.nextAt });
}
