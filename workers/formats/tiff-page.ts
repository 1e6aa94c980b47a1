import type { ByteReader } from './bytes.ts';
import { entryValues, firstEntryValue, type TiffDirectory, type TiffEntry } from './tiff.ts';

/** The tags of a TIFF directory (revision 6.0) that say how the pixels of a page are stored. */
export const TIFF_PAGE_TAGS = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  fillOrder: 266,
  stripOffsets: 273,
  orientation: 274,
  samples: 277,
  rowsPerStrip: 278,
  stripBytes: 279,
  planar: 284,
  predictor: 317,
  tileWidth: 322,
  tileHeight: 323,
  tileOffsets: 324,
  tileBytes: 325,
  extraSamples: 338,
  sampleFormat: 339,
  jpegTables: 347,
  coefficients: 529,
  subsampling: 530,
  positioning: 531,
  referenceBlackWhite: 532,
  profile: 34_675,
} as const;

export const PHOTOMETRIC_INTERPRETATIONS = {
  white: 0,
  black: 1,
  rgb: 2,
  palette: 3,
  separated: 5,
  yCbCr: 6,
  cieLab: 8,
  iccLab: 9,
} as const;

export const TIFF_COMPRESSIONS = {
  none: 1,
  lzw: 5,
  jpeg: 7,
  adobeDeflate: 8,
  deflate: 32_946,
  packBits: 32_773,
} as const;
/** The possible meanings of a sample that is not a colour. */
export const EXTRA_SAMPLE_KINDS = { unspecified: 0, associatedAlpha: 1, alpha: 2 } as const;
export const SAMPLE_FORMATS = { unsigned: 1, signed: 2, float: 3, undefined: 4 } as const;

/** How the pixels of a page are stored. Absent tags have their default. */
export interface TiffPage {
  width: number;
  height: number;
  /** The bits per sample, as the file states them for the first sample. */
  bits: number;
  samples: number;
  compression: number;
  photometric: number;
  sampleFormat: number;
  /** The declared meanings of the samples that are not colours. */
  extraSamples: readonly number[];
  /** Whether each sample has its own plane. */
  isPlanar: boolean;
  /** The size of a tile in pixels; absent if the page is stored in strips. */
  tile?: { width: number; height: number };
  rowsPerStrip: number;
  /** The predictor, which stores a value as the difference from its left neighbour: 1 for none, 2 for whole numbers. */
  predictor: number;
  /** The number of pixels that share a sample of Cb and Cr, across and down. */
  subsampling: { across: number; down: number };
  orientation: number;
  /** The entries by their tags. If a tag is repeated, the first entry counts. */
  entries: ReadonlyMap<number, TiffEntry>;
}

const MAX_EXTRA_SAMPLES = 16;

/** Reads how the pixels of a page are stored. */
export function readTiffPage(bytes: ByteReader, directory: TiffDirectory): TiffPage {
  const entries = new Map<number, TiffEntry>();
  const numbers = new Map<number, number>();
  for (const entry of directory.entries) {
    if (!entries.has(entry.tag)) entries.set(entry.tag, entry);
    // If a tag is repeated, the first value that is a whole number counts.
    const number = numbers.has(entry.tag) ? undefined : firstEntryValue(bytes, directory, entry);
    if (number !== undefined) numbers.set(entry.tag, number);
  }
  const listOf = (tag: number, maxCount: number) => {
    const entry = entries.get(tag);
    return entry === undefined ? [] : entryValues(bytes, directory, entry, maxCount);
  };
  const height = numbers.get(TIFF_PAGE_TAGS.height) ?? 0;
  const [tileWidth, tileHeight] = [
    numbers.get(TIFF_PAGE_TAGS.tileWidth),
    numbers.get(TIFF_PAGE_TAGS.tileHeight),
  ];
  const [across = 2, down = 2] = listOf(TIFF_PAGE_TAGS.subsampling, 2);
  return {
    width: numbers.get(TIFF_PAGE_TAGS.width) ?? 0,
    height,
    bits: numbers.get(TIFF_PAGE_TAGS.bits) ?? 1,
    samples: numbers.get(TIFF_PAGE_TAGS.samples) ?? 1,
    compression: numbers.get(TIFF_PAGE_TAGS.compression) ?? TIFF_COMPRESSIONS.none,
    photometric: numbers.get(TIFF_PAGE_TAGS.photometric) ?? PHOTOMETRIC_INTERPRETATIONS.white,
    sampleFormat: numbers.get(TIFF_PAGE_TAGS.sampleFormat) ?? SAMPLE_FORMATS.unsigned,
    extraSamples: listOf(TIFF_PAGE_TAGS.extraSamples, MAX_EXTRA_SAMPLES),
    isPlanar: numbers.get(TIFF_PAGE_TAGS.planar) === 2,
    ...(tileWidth && tileHeight && { tile: { width: tileWidth, height: tileHeight } }),
    rowsPerStrip: Math.min(height, numbers.get(TIFF_PAGE_TAGS.rowsPerStrip) || height),
    predictor: numbers.get(TIFF_PAGE_TAGS.predictor) ?? 1,
    subsampling: { across, down },
    orientation: numbers.get(TIFF_PAGE_TAGS.orientation) ?? 1,
    entries,
  };
}

/**
 * The number of colour samples per pixel, by photometric interpretation. An interpretation that is not listed is not
 * supported.
 */
const COLOUR_SAMPLE_COUNTS: Readonly<Record<number, number>> = {
  [PHOTOMETRIC_INTERPRETATIONS.white]: 1,
  [PHOTOMETRIC_INTERPRETATIONS.black]: 1,
  [PHOTOMETRIC_INTERPRETATIONS.rgb]: 3,
  [PHOTOMETRIC_INTERPRETATIONS.palette]: 1,
  [PHOTOMETRIC_INTERPRETATIONS.separated]: 4,
  [PHOTOMETRIC_INTERPRETATIONS.yCbCr]: 3,
  [PHOTOMETRIC_INTERPRETATIONS.cieLab]: 3,
  [PHOTOMETRIC_INTERPRETATIONS.iccLab]: 3,
};

/** The number of colour samples per pixel; undefined for a photometric interpretation that is not supported. */
export function colourSampleCountOf({ photometric }: TiffPage): number | undefined {
  return COLOUR_SAMPLE_COUNTS[photometric];
}

/**
 * Whether the samples of a page must be converted, because libvips misreads them: YCbCr that is not coded as JPEG,
 * 8-bit L*a*b*, ICC L*a*b*, signed integers, 32-bit integers, grey of floating-point numbers, 16-bit CMYK with alpha,
 * and samples beyond colours and alpha.
 */
export function needsSampleConversion(page: TiffPage): boolean {
  const { photometric, bits, samples, sampleFormat } = page;
  const colours = colourSampleCountOf(page);
  if (colours === undefined || samples < colours || bits < 8) return false;
  if (page.compression === TIFF_COMPRESSIONS.jpeg) return false;
  if (sampleFormat === SAMPLE_FORMATS.float) return colours === 1;
  const isForeignLab =
    photometric === PHOTOMETRIC_INTERPRETATIONS.iccLab ||
    (photometric === PHOTOMETRIC_INTERPRETATIONS.cieLab && bits === 8);
  const isPlainLab = photometric === PHOTOMETRIC_INTERPRETATIONS.cieLab;
  const isForeignNumber = bits === 32 || (sampleFormat === SAMPLE_FORMATS.signed && !isPlainLab);
  const isDeepCmyka =
    photometric === PHOTOMETRIC_INTERPRETATIONS.separated && samples > colours && bits === 16;
  return (
    photometric === PHOTOMETRIC_INTERPRETATIONS.yCbCr ||
    isDeepCmyka ||
    isForeignLab ||
    isForeignNumber ||
    samples > colours + 1
  );
}

/** The compressions that are decoded here, so that the samples of the page can be converted. */
const CONVERTIBLE_COMPRESSIONS: readonly number[] = [
  TIFF_COMPRESSIONS.none,
  TIFF_COMPRESSIONS.lzw,
  TIFF_COMPRESSIONS.adobeDeflate,
  TIFF_COMPRESSIONS.deflate,
  TIFF_COMPRESSIONS.packBits,
];
/** The numbers of pixels on one axis that may share a sample of Cb and Cr. */
const CONVERTIBLE_SUBSAMPLINGS: readonly number[] = [1, 2, 4];
const CONVERTIBLE_BIT_DEPTHS: readonly number[] = [8, 16, 32];

/**
 * Whether the samples of the page can be converted: they are interleaved, have 8, 16 or 32 bits, and are subsampled and
 * compressed in a way that is decoded here.
 */
export function areSamplesConvertible(page: TiffPage): boolean {
  const { compression, photometric, bits, samples, isPlanar, subsampling, predictor, sampleFormat } = page;
  const { across, down } = subsampling;
  if (
    !CONVERTIBLE_COMPRESSIONS.includes(compression) ||
    !CONVERTIBLE_BIT_DEPTHS.includes(bits) ||
    predictor > 2 ||
    (isPlanar && samples > 1)
  )
    return false;
  if (sampleFormat === SAMPLE_FORMATS.float) return bits > 8;
  if (photometric === PHOTOMETRIC_INTERPRETATIONS.yCbCr) {
    const isKnown = CONVERTIBLE_SUBSAMPLINGS.includes(across) && CONVERTIBLE_SUBSAMPLINGS.includes(down);
    return bits === 8 && isKnown && (across * down === 1 || samples === 3);
  }
  const isLab =
    photometric === PHOTOMETRIC_INTERPRETATIONS.cieLab || photometric === PHOTOMETRIC_INTERPRETATIONS.iccLab;
  return !isLab || bits <= 16;
}
