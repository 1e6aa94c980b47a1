import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import { tiffPageDirectories } from '../../../../workers/formats/tiff.ts';
import {
  areSamplesConvertible,
  colourSampleCountOf,
  needsSampleConversion,
  readTiffPage,
  SAMPLE_FORMATS,
  TIFF_PAGE_TAGS,
  type TiffPage,
} from '../../../../workers/formats/tiff-page.ts';
import { hasDeepSrgb, readProfileConversion } from '../../../../workers/image/colour/misread-colours.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { type ImageHeader, imageHeaderOf, orientationOrDefault } from './facts.ts';

/**
 * The largest sum of the squared numbers of entries of all directories: those of 2,000 entries in one, or of 20 in each
 * of 10,000. For each entry that libtiff does not know, it sorts the others again.
 */
const MAX_SQUARED_ENTRIES = 2_000 ** 2;
const TOO_MANY_ENTRIES_MESSAGE =
  'This TIFF has more tags than any program writes, and takes too long to read: save it again without private tags.';

/** Reads the header of a TIFF. Null when the directory of a page is truncated, because its size is then unknown. */
export function readTiffHeader(bytes: ByteReader): ImageHeader | null {
  let first: ImageHeader | null = null;
  let frames = 0;
  let pixels = 0;
  let squaredEntries = 0;
  for (const directory of tiffPageDirectories(bytes)) {
    if (directory.truncated) return null;
    const page = headerOfPage(bytes, readTiffPage(bytes, directory));
    first ??= page;
    frames += 1;
    pixels += page.pixels;
    squaredEntries += directory.entries.length ** 2;
    if (squaredEntries > MAX_SQUARED_ENTRIES) return { ...first, unreadableReason: TOO_MANY_ENTRIES_MESSAGE };
  }
  return first === null ? null : { ...first, frames, pixels };
}

function headerOfPage(bytes: ByteReader, page: TiffPage): ImageHeader {
  return imageHeaderOf({
    format: 'tiff',
    width: page.width,
    height: page.height,
    orientation: orientationOrDefault(page.orientation),
    bitDepth: page.bits,
    channels: page.samples,
    hasAlpha: page.entries.has(TIFF_PAGE_TAGS.extraSamples),
    ...withoutAbsentFields({ unreadableReason: unsupportedTiffSentence(page) }),
    ...(mustBeRewritten(bytes, page) && { mustBeRewritten: true }),
  });
}

function mustBeRewritten(bytes: ByteReader, page: TiffPage): boolean {
  if (needsSampleConversion(page)) return true;
  return (
    areSamplesConvertible(page) &&
    !hasDeepSrgb(bytes, page) &&
    readProfileConversion(bytes, page, false) !== undefined
  );
}

/** Compression schemes that are not supported, with their names. */
const UNSUPPORTED_COMPRESSIONS: Readonly<Record<number, string>> = {
  6: 'JPEG of the old kind (scheme 6)',
  22610: 'JPEG XR',
  32909: 'PixarLog',
  33003: 'JPEG 2000',
  33004: 'JPEG 2000',
  33005: 'JPEG 2000',
  34661: 'JBIG',
  34712: 'JPEG 2000',
  34887: 'LERC',
  34925: 'LZMA',
  34926: 'Zstandard',
  34927: 'WebP',
  34933: 'PNG',
  34934: 'JPEG XR',
  50000: 'Zstandard',
  50002: 'JPEG XL',
  52546: 'JPEG XL',
};
/** Schemes that compress LogLuv: SGILog, of 32 and of 24 bits per pixel. */
const LOG_LUV_COMPRESSIONS: readonly number[] = [34_676, 34_677];
/** Supported compression schemes: none, CCITT, LZW, JPEG, Deflate, NeXT, PackBits, ThunderScan, SGILog and WebP. */
const SUPPORTED_COMPRESSIONS: readonly number[] = [
  ...[1, 2, 3, 4, 5, 7, 8, 32_766, 32_771, 32_773, 32_809, 32_946, 50_001],
  ...LOG_LUV_COMPRESSIONS,
];
/** Photometric interpretations that are not supported, with their names. */
const UNSUPPORTED_PHOTOMETRIC_INTERPRETATIONS: Readonly<Record<number, string>> = {
  4: 'a transparency mask',
  10: 'ITU L*a*b* colours',
  32803: 'the raw samples of a camera (CFA)',
  32844: 'luminance without colours (LogL)',
  34892: 'the raw samples of a camera (LinearRaw)',
  51177: 'a depth map',
};
const LOG_LUV_COLOURS = 32_845;
const EXPORT_AS_RGB_ADVICE = 'export it as RGB';
const SAVE_LOSSLESSLY_ADVICE = 'save it with LZW or Deflate compression, or as PNG';
const SAVE_8_OR_16_BITS_ADVICE = 'save it with 8 or 16 bits per sample';

/** A sentence that says why a page cannot be read, and what to send instead; undefined for a readable page. */
function unsupportedTiffSentence(page: TiffPage): string | undefined {
  const reason = unsupportedReasonOf(page);
  return reason && `This TIFF ${reason[0]}, which is not supported: ${reason[1]}.`;
}

function unsupportedReasonOf(page: TiffPage): [is: string, instead: string] | undefined {
  const { compression, photometric, bits, samples, sampleFormat, isPlanar, tile } = page;
  if (!SUPPORTED_COMPRESSIONS.includes(compression))
    return [
      `is compressed with ${UNSUPPORTED_COMPRESSIONS[compression] ?? `scheme ${compression}`}`,
      SAVE_LOSSLESSLY_ADVICE,
    ];
  if (isPlanar && samples > 1 && tile !== undefined)
    return ['has tiles with one plane per sample', 'save it with interleaved samples, or as PNG'];
  const colours = colourSampleCountOf(page);
  const isLogLuv = photometric === LOG_LUV_COLOURS && LOG_LUV_COMPRESSIONS.includes(compression);
  if (colours === undefined && !isLogLuv)
    return [
      `holds ${UNSUPPORTED_PHOTOMETRIC_INTERPRETATIONS[photometric] ?? `colours of kind ${photometric}`}`,
      EXPORT_AS_RGB_ADVICE,
    ];
  if (colours !== undefined && samples < colours)
    return [`has fewer samples per pixel than colours of kind ${photometric} need`, EXPORT_AS_RGB_ADVICE];
  if (sampleFormat > SAMPLE_FORMATS.undefined) return ['holds complex numbers', 'export it as RGB or grey'];
  const isPacked = samples > 1 && bits < 8;
  if (isPacked || ![1, 2, 4, 8, 16, 32].includes(bits))
    return [`has ${bits} bits per sample`, SAVE_8_OR_16_BITS_ADVICE];
  if (needsSampleConversion(page))
    return areSamplesConvertible(page) ? undefined : unconvertibleReasonOf(page);
  const maxSamples = (colours ?? samples) + 1;
  return samples > maxSamples
    ? [`has ${samples} samples per pixel`, 'save it with at most one channel beside its colours']
    : undefined;
}

/** The reason why samples that libvips misreads cannot be converted. */
function unconvertibleReasonOf(page: TiffPage): [is: string, instead: string] {
  const { bits, isPlanar, photometric, compression } = page;
  if (isPlanar) return ['has one plane per sample', 'save it with interleaved samples, or as PNG'];
  if (bits > 8)
    return [`has ${bits} bits per sample of colours of kind ${photometric}`, EXPORT_AS_RGB_ADVICE];
  return [`has colours of kind ${photometric} under compression ${compression}`, SAVE_LOSSLESSLY_ADVICE];
}
