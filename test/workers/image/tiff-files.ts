import { deflateSync } from 'node:zlib';
import { encodeTiffDirectory, type NewTiffEntry } from '../../../workers/formats/tiff-directory.ts';
import { TIFF_PAGE_TAGS } from '../../../workers/formats/tiff-page.ts';

/** How a TIFF of one page is stored. */
export interface Stored {
  width: number;
  height: number;
  /** Numbers of 8, 16 or 32 bits, as they are stored. */
  samples: Uint8Array | Uint16Array | Uint32Array;
  perPixel: number;
  photometric: number;
  /** Values of other tags. */
  tags?: Readonly<Record<number, number | readonly number[]>>;
  bigEndian?: boolean;
  isBig?: boolean;
  deflated?: boolean;
}

/** Builds an uncompressed or deflated TIFF in one strip. */
export function tiffWith(stored: Stored): Buffer {
  const {
    width,
    height,
    samples,
    perPixel,
    photometric,
    tags = {},
    bigEndian = false,
    isBig = false,
  } = stored;
  const order = { littleEndian: !bigEndian, isBig };
  const bytes = Buffer.from(samples.slice().buffer);
  if (bigEndian && samples.BYTES_PER_ELEMENT === 2) bytes.swap16();
  if (bigEndian && samples.BYTES_PER_ELEMENT === 4) bytes.swap32();
  const strip = stored.deflated ? deflateSync(bytes) : bytes;
  const headBytes = isBig ? 16 : 8;
  const lists = Object.entries(tags).map(([tag, value]) => entryOf(Number(tag), [value].flat(), order));
  const entries: NewTiffEntry[] = [
    { tag: TIFF_PAGE_TAGS.width, value: width },
    { tag: TIFF_PAGE_TAGS.height, value: height },
    { tag: TIFF_PAGE_TAGS.bits, value: 8 * samples.BYTES_PER_ELEMENT },
    { tag: TIFF_PAGE_TAGS.compression, value: stored.deflated ? 8 : 1 },
    { tag: TIFF_PAGE_TAGS.photometric, value: photometric },
    { tag: TIFF_PAGE_TAGS.stripOffsets, value: headBytes },
    { tag: TIFF_PAGE_TAGS.samples, value: perPixel },
    { tag: TIFF_PAGE_TAGS.rowsPerStrip, value: height },
    { tag: TIFF_PAGE_TAGS.stripBytes, value: strip.length },
  ];
  const own = entries.filter(({ tag }) => !(tag in tags));
  const directory = encodeTiffDirectory(order, [...own, ...lists], 0);
  const start = headBytes + strip.length + (strip.length % 2);
  const head = Buffer.alloc(headBytes);
  head.write(bigEndian ? 'MM' : 'II', 'latin1');
  const write16 = (value: number, at: number) =>
    bigEndian ? head.writeUInt16BE(value, at) : head.writeUInt16LE(value, at);
  write16(isBig ? 43 : 42, 2);
  if (isBig) {
    write16(8, 4);
    if (bigEndian) head.writeBigUInt64BE(BigInt(start), 8);
    else head.writeBigUInt64LE(BigInt(start), 8);
  } else if (bigEndian) head.writeUInt32BE(start, 4);
  else head.writeUInt32LE(start, 4);
  return Buffer.concat([head, strip, Buffer.alloc(strip.length % 2), directory]);
}

/** An entry of up to two numbers (four in a BigTIFF), which stand in the entry itself. */
function entryOf(
  tag: number,
  values: readonly number[],
  { littleEndian, isBig }: { littleEndian: boolean; isBig: boolean },
): NewTiffEntry {
  const copied = new Uint8Array(isBig ? 20 : 12);
  const view = new DataView(copied.buffer);
  view.setUint16(0, tag, littleEndian);
  view.setUint16(2, 3, littleEndian);
  if (isBig) view.setBigUint64(4, BigInt(values.length), littleEndian);
  else view.setUint32(4, values.length, littleEndian);
  for (const [index, value] of values.entries())
    view.setUint16((isBig ? 12 : 8) + 2 * index, value, littleEndian);
  return { tag, copied };
}
