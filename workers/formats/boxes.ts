import type { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/**
 * Boxes of the ISO base media file format (ISO/IEC 14496-12, section 4.2), from which HEIF and AVIF are built: length,
 * type, content.
 */

/** The number of bytes of a box's head: its length and its type. */
const BOX_HEAD_BYTES = 8;
/**
 * The special lengths of a box: 1 means that a 64-bit length follows the type, and 0 that the box ends with its
 * container.
 */
const EXTENDED_BOX_LENGTH = 1;
const OPEN_ENDED_BOX_LENGTH = 0;
const LONG_BOX_HEAD_BYTES = 16;
const BRAND_BYTES = 4;
const MAX_BRANDS = 64;

export interface IsoBox extends ContainerPart {
  /** Four characters, such as `meta`. */
  type: string;
}

/** A range of the file: all of it, or the content of a box. */
export type ByteRangeInFile = Pick<ContainerPart, 'start' | 'end'>;

/** The boxes in a range of the file. Reading stops at the first box whose length is too small for its own head. */
export function isoBoxes(
  bytes: ByteReader,
  within: ByteRangeInFile = { start: 0, end: bytes.length },
): Generator<IsoBox, void, undefined> {
  const limit = Math.min(within.end, bytes.length);
  return partsBetween(within.start, limit, (at) => readBoxAt(bytes, at, limit));
}

function readBoxAt(bytes: ByteReader, at: number, limit: number): IsoBox | undefined {
  if (at + BOX_HEAD_BYTES > limit) return undefined;
  const size = bytes.u32(at);
  const isLong = size === EXTENDED_BOX_LENGTH;
  const headBytes = isLong ? LONG_BOX_HEAD_BYTES : BOX_HEAD_BYTES;
  if (at + headBytes > limit) return undefined;
  const boxBytes = isLong
    ? bytes.u64(at + BOX_HEAD_BYTES)
    : size === OPEN_ENDED_BOX_LENGTH
      ? limit - at
      : size;
  if (boxBytes < headBytes) return undefined;
  const end = at + boxBytes;
  return { type: bytes.fourCharacters(at + 4), at, start: at + headBytes, end, next: end, truncated: false };
}

/**
 * Follows a path of types: for each type, the first such box inside the box found before. Undefined if one is missing.
 */
export function findIsoBox(
  bytes: ByteReader,
  within: ByteRangeInFile,
  ...types: string[]
): IsoBox | undefined {
  let found: IsoBox | undefined;
  for (const type of types) {
    found = isoBoxes(bytes, found ?? within).find((box) => box.type === type);
    if (found === undefined) return undefined;
  }
  return found;
}

/**
 * The brands of the format of a file, the major one first. The list is empty when the file does not begin with an
 * `ftyp` box, and is cut off after 64 brands, more than any real file has.
 */
export function isoBrands(bytes: ByteReader): string[] {
  const [first] = isoBoxes(bytes);
  if (first?.type !== 'ftyp') return [];
  const { start, end } = first;
  const brands = [bytes.text(start, BRAND_BYTES)];
  const limit = Math.min(end, start + MAX_BRANDS * BRAND_BYTES);
  // The minor version is between the major brand and the other brands.
  for (let at = start + 2 * BRAND_BYTES; at + BRAND_BYTES <= limit; at += BRAND_BYTES)
    brands.push(bytes.text(at, BRAND_BYTES));
  return brands;
}
