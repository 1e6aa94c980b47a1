import sharp from 'sharp';
import type { TiffDirectory } from '../../formats/tiff.ts';
import {
  encodedDirectory,
  entryBytesOf,
  firstPointerAt,
  type NewEntry,
  pointTo,
} from '../../formats/tiff-directory.ts';
import { COMPRESSION, PAGE_TAGS, PHOTOMETRIC, type TiffPage } from '../../formats/tiff-page.ts';
import { MAX_PIXELS } from '../../protocol.ts';
import { encodeLocalOutput } from '../../transport/output.ts';
import { pictureTooLarge } from '../refusal.ts';

/** Bytes that the samples of a page may have: as many as those of the largest picture in four samples of 16 bits. */
const MAX_SAMPLE_BYTES = MAX_PIXELS * 8;

/** The stored samples of a page, in the byte order of the machine. */
export interface TiffSamples {
  data: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
  /** Samples per row. */
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
 * Reads the samples of a page without a conversion. For it, libvips is told that the page is a grey picture whose
 * pixels are the bytes of the samples, so that it undoes the compression and nothing else.
 * @throws when the page is damaged.
 */
export async function tiffSamples(
  file: Uint8Array<ArrayBuffer>,
  directory: TiffDirectory,
  page: TiffPage,
): Promise<TiffSamples> {
  const rows = rowsOf(page);
  if (rows.width * rows.height > MAX_SAMPLE_BYTES) throw pictureTooLarge();
  const bytes = sharp(asBytes(file, directory, page, rows), { failOn: 'error', limitInputPixels: false });
  const { data } = await encodeLocalOutput(bytes.toColourspace('b-w').raw());
  const samples = inMachineOrder(data, page.bits, directory.littleEndian);
  if (page.isDifferenced) addDifferences(samples, page, rows);
  return { data: samples, rowLength: rows.width / (page.bits / 8) };
}

/** Whether Cb and Cr have fewer samples than Y. */
export function isSubsampled({ photometric, subsampling: { across, down } }: TiffPage): boolean {
  return photometric === PHOTOMETRIC.yCbCr && across * down > 1;
}

function rowsOf(page: TiffPage): TiffRows {
  const { width, height, rowsPerStrip, tile, samples, bits } = page;
  const { across, down } = isSubsampled(page) ? page.subsampling : { across: 1, down: 1 };
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

/** The file with a first directory that describes the bytes of the page. */
function asBytes(file: Uint8Array, directory: TiffDirectory, page: TiffPage, rows: TiffRows): Buffer {
  const { width, height, rowsPerStrip, tile } = rows;
  const copied = [
    PAGE_TAGS.compression,
    PAGE_TAGS.fillOrder,
    PAGE_TAGS.stripOffsets,
    PAGE_TAGS.stripBytes,
    PAGE_TAGS.tileOffsets,
    PAGE_TAGS.tileBytes,
  ];
  const entries: NewEntry[] = [
    { tag: PAGE_TAGS.width, value: width },
    { tag: PAGE_TAGS.height, value: height },
    { tag: PAGE_TAGS.bits, value: 8 },
    { tag: PAGE_TAGS.photometric, value: PHOTOMETRIC.black },
    { tag: PAGE_TAGS.samples, value: 1 },
    ...copied.flatMap((tag) => {
      const at = page.entries.get(tag)?.at;
      return at === undefined ? [] : [{ tag, copied: file.subarray(at, at + entryBytesOf(directory)) }];
    }),
  ];
  if (!page.entries.has(PAGE_TAGS.compression))
    entries.push({ tag: PAGE_TAGS.compression, value: COMPRESSION.none });
  if (tile === undefined) entries.push({ tag: PAGE_TAGS.rowsPerStrip, value: rowsPerStrip });
  else
    entries.push(
      { tag: PAGE_TAGS.tileWidth, value: tile.width },
      { tag: PAGE_TAGS.tileHeight, value: tile.height },
    );
  const start = file.length + (file.length % 2);
  const described = Buffer.concat([
    file,
    Buffer.alloc(start - file.length),
    encodedDirectory(directory, entries, 0),
  ]);
  pointTo(described, directory, firstPointerAt(directory), start);
  return described;
}

function inMachineOrder(
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
function addDifferences(
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
