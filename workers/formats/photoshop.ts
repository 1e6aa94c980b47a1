import type { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/**
 * The block that Photoshop adds to a JPEG: resources of many kinds. One of them holds IPTC-IIM (version 4.2), which is
 * a list of datasets; a TIFF stores that list without the block.
 */

const PHOTOSHOP_PREFIX = 'Photoshop 3.0\0';
/** The number of the resource that holds IPTC. */
export const IPTC_RESOURCE_NUMBER = 0x0404;

/** The number of bytes of a resource's signature and number. A name follows, and then the length of the content. */
const RESOURCE_HEAD_BYTES = 6;
const RESOURCE_LENGTH_BYTES = 4;

const DATASET_MARKER = 0x1c;
/** The number of bytes of a dataset's head: tag marker, record number, dataset number and length. */
const DATASET_HEAD_BYTES = 5;
/**
 * This bit is set in a length that is too large for the other 15 bits. They then give the number of bytes of the real
 * length, which follows.
 */
const LONG_LENGTH_FLAG = 0x8000;

export interface PhotoshopResource extends ContainerPart {
  number: number;
}

export interface IptcDataset extends ContainerPart {
  record: number;
  number: number;
}

export function isPhotoshopBlock(bytes: ByteReader): boolean {
  return bytes.text(0, PHOTOSHOP_PREFIX.length) === PHOTOSHOP_PREFIX;
}

/** The resources of a Photoshop block; none for any other bytes. */
export function photoshopResources(bytes: ByteReader): Iterable<PhotoshopResource> {
  if (!isPhotoshopBlock(bytes)) return [];
  return partsBetween(PHOTOSHOP_PREFIX.length, bytes.length, (at) => readResourceAt(bytes, at));
}

/**
 * Name and content are padded to an even length. The name counts together with the byte before it, which gives its
 * length.
 */
function readResourceAt(bytes: ByteReader, at: number): PhotoshopResource | undefined {
  const nameAt = at + RESOURCE_HEAD_BYTES;
  if (nameAt >= bytes.length) return undefined;
  const lengthAt = nameAt + roundUpToEven(1 + bytes.u8(nameAt));
  const start = lengthAt + RESOURCE_LENGTH_BYTES;
  if (start > bytes.length) return undefined;
  const length = bytes.u32(lengthAt);
  const number = bytes.u16(at + 4);
  return { number, at, start, end: start + length, next: start + roundUpToEven(length), truncated: false };
}

/** Builds a block with one resource, which has no name. */
export function buildPhotoshopBlock(number: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(RESOURCE_HEAD_BYTES + 2 + RESOURCE_LENGTH_BYTES);
  head.write('8BIM', 'latin1');
  head.writeUInt16BE(number, 4);
  head.writeUInt32BE(content.byteLength, RESOURCE_HEAD_BYTES + 2);
  const padding = Buffer.alloc(content.byteLength % 2);
  return Buffer.concat([Buffer.from(PHOTOSHOP_PREFIX, 'latin1'), head, content, padding]);
}

function roundUpToEven(length: number): number {
  return length + (length % 2);
}

/** The datasets of a list, up to a byte that begins no dataset. */
export function iptcDatasets(bytes: ByteReader): Iterable<IptcDataset> {
  return partsBetween(0, bytes.length, (at) => readDatasetAt(bytes, at));
}

function readDatasetAt(bytes: ByteReader, at: number): IptcDataset | undefined {
  const headEnd = at + DATASET_HEAD_BYTES;
  if (headEnd > bytes.length || bytes.u8(at) !== DATASET_MARKER) return undefined;
  const short = bytes.u16(at + 3);
  const wideBytes = (short & LONG_LENGTH_FLAG) === 0 ? 0 : short - LONG_LENGTH_FLAG;
  const start = headEnd + wideBytes;
  if (wideBytes > 4 || start > bytes.length) return undefined;
  let length = wideBytes === 0 ? short : 0;
  for (let place = headEnd; place < start; place += 1) length = length * 0x100 + bytes.u8(place);
  const end = start + length;
  return { record: bytes.u8(at + 1), number: bytes.u8(at + 2), at, start, end, next: end, truncated: false };
}
