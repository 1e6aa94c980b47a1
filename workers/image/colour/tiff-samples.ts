import sharp from 'sharp';
import type { TiffDirectory } from '../../formats/tiff.ts';
import { type NewTiffEntry, tiffEntrySize, withTiffDirectory } from '../../formats/tiff-directory.ts';
import {
  PHOTOMETRIC_INTERPRETATIONS,
  TIFF_COMPRESSIONS,
  TIFF_PAGE_TAGS,
  type TiffPage,
} from '../../formats/tiff-page.ts';
import { MAX_PIXELS } from '../../protocol.ts';
import { encodeLocalOutput } from '../../transport/output.ts';
import { pictureTooLargeRefusal } from '../refusal.ts';

/**
 * The most bytes that the samples of a page may have: those of the largest picture with four 16-bit samples per pixel.
 */
const MAX_PAGE_SAMPLES_BYTES = MAX_PIXELS * 8;

/** The stored samples of a page, in the byte order of the machine. */
export interface TiffSamples {
  data: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
  /** The number of samples in a row, of all channels together. */
  rowLength: number;
}

/** The rows of a page as bytes. Rows of subsampled YCbCr are rows of blocks, each with its Y samples, Cb and Cr. */
interface TiffRows {
  width: number;
  height: number;
  rowsPerStrip: number;
  tile?: { width: number; height: number };
}

/**
 * Reads the stored samples of a page. libvips gets a copy of the file that declares the page as a grey picture of
 * bytes, so that it only decompresses the samples.
 * @throws when the page is damaged.
 */
export async function readTiffSamples(
  file: Uint8Array<ArrayBuffer>,
  directory: TiffDirectory,
  page: TiffPage,
): Promise<TiffSamples> {
  const rows = rowsOf(page);
  if (rows.width * rows.height > MAX_PAGE_SAMPLES_BYTES) throw pictureTooLargeRefusal();
  const bytes = sharp(describedAsBytes(file, directory, page, rows), {
    failOn: 'error',
    limitInputPixels: false,
  });
  const { data } = await encodeLocalOutput(bytes.toColourspace('b-w').raw());
  const samples = toMachineByteOrder(data, page.bits, directory.littleEndian);
  if (page.predictor === 2) undoPredictor(samples, page, rows);
  return { data: samples, rowLength: rows.width / (page.bits / 8) };
}

/** Whether Cb and Cr have fewer samples than Y. */
export function isChromaSubsampled({ photometric, subsampling: { across, down } }: TiffPage): boolean {
  return photometric === PHOTOMETRIC_INTERPRETATIONS.yCbCr && across * down > 1;
}

function rowsOf(page: TiffPage): TiffRows {
  const { width, height, rowsPerStrip, tile, samples, bits } = page;
  const { across, down } = isChromaSubsampled(page) ? page.subsampling : { across: 1, down: 1 };
  const blockBytes = (across * down > 1 ? across * down + 2 : samples) * (bits / 8);
  const scaled = (size: { width: number; height: number }) => ({
    width: Math.ceil(size.width / across) * blockBytes,
    height: Math.ceil(size.height / down),
  });
  return {
    ...scaled({ width, height }),
    rowsPerStrip: Math.ceil(rowsPerStrip / down),
    ...(tile && { tile: scaled(tile) }),
  };
}

/** A copy of the file whose first directory describes the page as grey pixels, one per byte. */
function describedAsBytes(
  file: Uint8Array,
  directory: TiffDirectory,
  page: TiffPage,
  rows: TiffRows,
): Buffer {
  const { width, height, rowsPerStrip, tile } = rows;
  const copied = [
    TIFF_PAGE_TAGS.compression,
    TIFF_PAGE_TAGS.fillOrder,
    TIFF_PAGE_TAGS.stripOffsets,
    TIFF_PAGE_TAGS.stripBytes,
    TIFF_PAGE_TAGS.tileOffsets,
    TIFF_PAGE_TAGS.tileBytes,
  ];
  const entries: NewTiffEntry[] = [
    { tag: TIFF_PAGE_TAGS.width, value: width },
    { tag: TIFF_PAGE_TAGS.height, value: height },
    { tag: TIFF_PAGE_TAGS.bits, value: 8 },
    { tag: TIFF_PAGE_TAGS.photometric, value: PHOTOMETRIC_INTERPRETATIONS.black },
    { tag: TIFF_PAGE_TAGS.samples, value: 1 },
    ...copied.flatMap((tag) => {
      const at = page.entries.get(tag)?.at;
      return at === undefined ? [] : [{ tag, copied: file.subarray(at, at + tiffEntrySize(directory)) }];
    }),
  ];
  if (!page.entries.has(TIFF_PAGE_TAGS.compression))
    entries.push({ tag: TIFF_PAGE_TAGS.compression, value: TIFF_COMPRESSIONS.none });
  if (tile === undefined) entries.push({ tag: TIFF_PAGE_TAGS.rowsPerStrip, value: rowsPerStrip });
  else
    entries.push(
      { tag: TIFF_PAGE_TAGS.tileWidth, value: tile.width },
      { tag: TIFF_PAGE_TAGS.tileHeight, value: tile.height },
    );
  return withTiffDirectory(file, directory, entries);
}

function toMachineByteOrder(
  data: Uint8Array<ArrayBuffer>,
  bits: number,
  littleEndian: boolean,
): TiffSamples['data'] {
  if (bits === 8) return data;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bits === 16) {
    if (!littleEndian) bytes.swap16();
    return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  }
  if (!littleEndian) bytes.swap32();
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
}

/** Undoes the predictor (TIFF 6.0, section 14), which works on each row of a strip or tile. */
function undoPredictor(
  data: TiffSamples['data'],
  { samples, bits }: TiffPage,
  { width, tile }: TiffRows,
): void {
  const bytesPerSample = bits / 8;
  const rowLength = width / bytesPerSample;
  const partLength = (tile?.width ?? width) / bytesPerSample;
  for (let row = 0; row < data.length; row += rowLength) {
    for (let part = 0; part < rowLength; part += partLength) {
      const end = row + Math.min(part + partLength, rowLength);
      for (let at = row + part + samples; at < end; at++)
        data[at] = (data[at] as number) + (data[at - samples] as number);
    }
  }
}
