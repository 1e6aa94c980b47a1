import type { Bytes } from './bytes.ts';
import { firstNumber, numbersIn, type TiffDirectory, type TiffEntry } from './tiff.ts';

/** The tags of a TIFF directory (revision 6.0) that say how the pixels of a page are stored. */
export const PAGE_TAGS = {
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
} as const;

export const PHOTOMETRIC = {
  white: 0,
  black: 1,
  rgb: 2,
  palette: 3,
  separated: 5,
  yCbCr: 6,
  cieLab: 8,
  iccLab: 9,
} as const;

export const COMPRESSION = {
  none: 1,
  lzw: 5,
  oldJpeg: 6,
  jpeg: 7,
  adobeDeflate: 8,
  deflate: 32_946,
  packBits: 32_773,
} as const;
/** Meanings of a sample beyond the colours. */
export const EXTRA_SAMPLES = { unspecified: 0, associatedAlpha: 1, alpha: 2 } as const;
export const SAMPLE_FORMAT = { unsigned: 1, signed: 2, float: 3, undefined: 4 } as const;

/** How the pixels of a page are stored. Absent tags have their default. */
export interface TiffPage {
  width: number;
  height: number;
  /** Bits of the first sample. */
  bits: number;
  samples: number;
  compression: number;
  photometric: number;
  sampleFormat: number;
  /** The given meanings of the samples beyond the colours. */
  extraSamples: readonly number[];
  /** Whether each sample has its own plane. */
  isPlanar: boolean;
  /** Absent if the page is in strips. */
  tile?: { width: number; height: number };
  rowsPerStrip: number;
  /** Whether values are stored as differences from their left neighbour. */
  isDifferenced: boolean;
  /** Pixels for each sample of Cb and Cr, across and down. */
  subsampling: { across: number; down: number };
  orientation: number;
  /** The first entry of each tag. */
  entries: ReadonlyMap<number, TiffEntry>;
}

const MAX_EXTRA_SAMPLES = 16;

/** Reads how the pixels of a page are stored. */
export function tiffPage(bytes: Bytes, directory: TiffDirectory): TiffPage {
  const entries = new Map<number, TiffEntry>();
  const numbers = new Map<number, number>();
  for (const entry of directory.entries) {
    if (!entries.has(entry.tag)) entries.set(entry.tag, entry);
    // If a tag is repeated, the first value that is a whole number counts.
    const number = numbers.has(entry.tag) ? undefined : firstNumber(bytes, directory, entry);
    if (number !== undefined) numbers.set(entry.tag, number);
  }
  const listOf = (tag: number, most: number) => {
    const entry = entries.get(tag);
    return entry === undefined ? [] : numbersIn(bytes, directory, entry, most);
  };
  const height = numbers.get(PAGE_TAGS.height) ?? 0;
  const [tileWidth, tileHeight] = [numbers.get(PAGE_TAGS.tileWidth), numbers.get(PAGE_TAGS.tileHeight)];
  const [across = 2, down = 2] = listOf(PAGE_TAGS.subsampling, 2);
  return {
    width: numbers.get(PAGE_TAGS.width) ?? 0,
    height,
    bits: numbers.get(PAGE_TAGS.bits) ?? 1,
    samples: numbers.get(PAGE_TAGS.samples) ?? 1,
    compression: numbers.get(PAGE_TAGS.compression) ?? COMPRESSION.none,
    photometric: numbers.get(PAGE_TAGS.photometric) ?? PHOTOMETRIC.white,
    sampleFormat: numbers.get(PAGE_TAGS.sampleFormat) ?? SAMPLE_FORMAT.unsigned,
    extraSamples: listOf(PAGE_TAGS.extraSamples, MAX_EXTRA_SAMPLES),
    isPlanar: numbers.get(PAGE_TAGS.planar) === 2,
    ...(tileWidth && tileHeight && { tile: { width: tileWidth, height: tileHeight } }),
    rowsPerStrip: Math.min(height, numbers.get(PAGE_TAGS.rowsPerStrip) || height),
    isDifferenced: numbers.get(PAGE_TAGS.predictor) === 2,
    subsampling: { across, down },
    orientation: numbers.get(PAGE_TAGS.orientation) ?? 1,
    entries,
  };
}

/** Samples of a pixel that are colours, by the photometric interpretation; undefined for one that is not known here. */
const COLOURS: Readonly<Record<number, number>> = {
  [PHOTOMETRIC.white]: 1,
  [PHOTOMETRIC.black]: 1,
  [PHOTOMETRIC.rgb]: 3,
  [PHOTOMETRIC.palette]: 1,
  [PHOTOMETRIC.separated]: 4,
  [PHOTOMETRIC.yCbCr]: 3,
  [PHOTOMETRIC.cieLab]: 3,
  [PHOTOMETRIC.iccLab]: 3,
};

/** Number of samples of a pixel that are colours; undefined for a photometric interpretation that is not known here. */
export function coloursOf({ photometric }: TiffPage): number | undefined {
  return COLOURS[photometric];
}

/**
 * Whether the samples of a page are to be converted, because libvips takes them for others: YCbCr that is not coded as
 * JPEG, L*a*b* of 8 bits and that of ICC, signed integers, integers of 32 bits, and samples beyond colours and alpha.
 */
export function isForeign(page: TiffPage): boolean {
  const { photometric, bits, samples, sampleFormat } = page;
  const colours = coloursOf(page);
  if (
    colours === undefined ||
    samples < colours ||
    bits < 8 ||
    sampleFormat === SAMPLE_FORMAT.float ||
    isJpeg(page)
  )
    return false;
  const isForeignLab =
    photometric === PHOTOMETRIC.iccLab || (photometric === PHOTOMETRIC.cieLab && bits === 8);
  const isPlainLab = photometric === PHOTOMETRIC.cieLab;
  const isForeignNumber = bits === 32 || (sampleFormat === SAMPLE_FORMAT.signed && !isPlainLab);
  return photometric === PHOTOMETRIC.yCbCr || isForeignLab || isForeignNumber || samples > colours + 1;
}

/** Schemes of compression whose samples can be converted. */
const CONVERTED_COMPRESSIONS: readonly number[] = [
  COMPRESSION.none,
  COMPRESSION.lzw,
  COMPRESSION.adobeDeflate,
  COMPRESSION.deflate,
  COMPRESSION.packBits,
];
/** Pixels per sample of Cb and Cr, on one axis. */
const SUBSAMPLINGS: readonly number[] = [1, 2, 4];
const CONVERTED_BITS: readonly number[] = [8, 16, 32];

/** Whether foreign samples are converted, which are interleaved and of usual sizes. */
export function isConvertible(page: TiffPage): boolean {
  const { compression, photometric, bits, samples, isPlanar, subsampling } = page;
  const { across, down } = subsampling;
  if (
    !CONVERTED_COMPRESSIONS.includes(compression) ||
    !CONVERTED_BITS.includes(bits) ||
    (isPlanar && samples > 1)
  )
    return false;
  if (photometric === PHOTOMETRIC.yCbCr) {
    const isKnown = SUBSAMPLINGS.includes(across) && SUBSAMPLINGS.includes(down);
    return bits === 8 && isKnown && (across * down === 1 || samples === 3);
  }
  const isLab = photometric === PHOTOMETRIC.cieLab || photometric === PHOTOMETRIC.iccLab;
  return !isLab || bits <= 16;
}

function isJpeg({ compression }: TiffPage): boolean {
  return compression === COMPRESSION.jpeg || compression === COMPRESSION.oldJpeg;
}
