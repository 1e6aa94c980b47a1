import type { Bytes } from './bytes.ts';
import { MOST_PARTS, TooManyParts } from './parts.ts';

/**
 * TIFF (revision 6.0, section 2) and BigTIFF: directories of entries, each with a tag, a type, and a count of values that
 * stand in the entry or where it points to. EXIF is such a structure too.
 */

const CLASSIC = 42;
const BIG = 43;
/** What JPEG has before the TIFF structure of an EXIF block, and some writers elsewhere. */
export const EXIF_PREFIX = 'Exif\0\0';

/** What differs between the two: lengths in bytes, and places. */
interface Layout {
  littleEndian: boolean;
  isBig: boolean;
  /** Bytes of a count or an offset. */
  wordBytes: 4 | 8;
  /** Bytes of how many entries a directory has. */
  countBytes: 2 | 8;
  entryBytes: 12 | 20;
  /** Where the offset of the first directory stands, and what ends with it. */
  firstAt: 4 | 8;
  headBytes: 8 | 16;
}

/** Bytes of one value, by type. A type that is not here has no known length. */
const TYPE_BYTES: Readonly<Record<number, number>> = {
  1: 1,
  2: 1,
  3: 2,
  4: 4,
  5: 8,
  6: 1,
  7: 1,
  8: 2,
  9: 4,
  10: 8,
  11: 4,
  12: 8,
  13: 4,
  16: 8,
  17: 8,
  18: 8,
};
const BYTE = 1;
export const SHORT = 3;
const LONG = 4;
const LONG8 = 16;
const WHOLE_NUMBERS: readonly number[] = [BYTE, SHORT, LONG, LONG8];

/** Entries that lead to another directory: Exif, GPS, Interoperability. */
export const EXIF_POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** Real files have five. */
const MOST_EXIF_DIRECTORIES = 16;

export interface TiffEntry {
  /** Where it stands. */
  at: number;
  tag: number;
  type: number;
  /** Of values, as it claims. */
  count: number;
  /** How many bytes its values have, as it claims; 0 for a type that nobody knows. */
  claimedBytes: number;
  /** Where its values begin, as it claims: in the entry, or anywhere else. */
  valueAt: number;
}

export interface TiffDirectory {
  at: number;
  littleEndian: boolean;
  isBig: boolean;
  entries: readonly TiffEntry[];
  /** Where the offset of the next directory stands; undefined when the file ends before that. */
  nextAt: number | undefined;
  /** The offset of the next directory of the chain; 0 for none. */
  next: number;
  /** The file ends before its entries do. */
  truncated: boolean;
  /** The entry that led to it, for a directory below another. */
  ledBy?: TiffEntry;
}

/**
 * The directories of a TIFF or BigTIFF in their chain, one per page; nothing of a file that is none. The chain ends where it
 * comes back to a directory, leads out of the file, or to one that has no entries.
 * @throws TooManyParts also for more entries than the file has room for: directories that overlap could claim many large
 * pages in a small file.
 */
export function* tiffPages(bytes: Bytes): Generator<TiffDirectory, void, undefined> {
  const layout = layoutOf(bytes);
  if (layout === undefined) return;
  const seen = new Set<number>();
  let entriesLeft = bytes.length / layout.entryBytes;
  for (let at = wordAt(bytes, layout, layout.firstAt); at !== 0 && !seen.has(at); ) {
    const directory = directoryAt(bytes, layout, at);
    if (directory === undefined || (directory.entries.length === 0 && !directory.truncated)) return;
    seen.add(at);
    entriesLeft -= directory.entries.length;
    if (entriesLeft < 0 || seen.size > MOST_PARTS) throw new TooManyParts();
    yield directory;
    at = directory.next;
  }
}

/**
 * The first directory of a classic TIFF structure and those that its entries lead to (Exif, GPS, Interoperability), each
 * once, whatever circles they make; nothing of bytes that are none. The chain is not followed: in EXIF the second directory
 * is a thumbnail's.
 * @throws TooManyParts for more directories than any EXIF has, or for some that overlap: what a caller changes in one could
 * become something else in the other.
 */
export function* exifDirectories(bytes: Bytes): Generator<TiffDirectory, void, undefined> {
  const layout = layoutOf(bytes);
  if (layout === undefined || layout.isBig) return;
  const pending: { at: number; ledBy?: TiffEntry }[] = [{ at: wordAt(bytes, layout, layout.firstAt) }];
  const seen: TiffDirectory[] = [];
  for (const { at, ledBy } of pending) {
    if (seen.some((other) => other.at === at)) continue;
    const directory = directoryAt(bytes, layout, at);
    if (directory === undefined) continue;
    if (seen.length === MOST_EXIF_DIRECTORIES || seen.some((other) => overlap(other, directory)))
      throw new TooManyParts();
    seen.push(directory);
    // A pointer is one whatever its type and count say: so readers take it.
    for (const entry of directory.entries)
      if (EXIF_POINTERS.has(entry.tag))
        pending.push({ at: wordAt(bytes, layout, entry.at + 8), ledBy: entry });
    yield ledBy === undefined ? directory : { ...directory, ledBy };
  }
}

/** All of them for those who change or carry an EXIF; none when it is more than anybody can vouch for. */
export function soundExifDirectories(bytes: Bytes): readonly TiffDirectory[] {
  try {
    return [...exifDirectories(bytes)];
  } catch (error) {
    if (error instanceof TooManyParts) return [];
    throw error;
  }
}

const CLASSIC_LAYOUT = {
  isBig: false,
  wordBytes: 4,
  countBytes: 2,
  entryBytes: 12,
  firstAt: 4,
  headBytes: 8,
} as const;
const BIG_LAYOUT = {
  isBig: true,
  wordBytes: 8,
  countBytes: 8,
  entryBytes: 20,
  firstAt: 8,
  headBytes: 16,
} as const;

function layoutOf(bytes: Bytes): Layout | undefined {
  const order = bytes.text(0, 2);
  if (bytes.length < CLASSIC_LAYOUT.headBytes || (order !== 'II' && order !== 'MM')) return undefined;
  const littleEndian = order === 'II';
  const version = bytes.u16(2, littleEndian);
  if (version === CLASSIC) return { littleEndian, ...CLASSIC_LAYOUT };
  return version === BIG && bytes.length >= BIG_LAYOUT.headBytes
    ? { littleEndian, ...BIG_LAYOUT }
    : undefined;
}

function wordAt(bytes: Bytes, { littleEndian, isBig }: Layout, at: number): number {
  return isBig ? bytes.u64(at, littleEndian) : bytes.u32(at, littleEndian);
}

/** Undefined where the file has no room for one, which the head of the file is not. */
function directoryAt(bytes: Bytes, layout: Layout, at: number): TiffDirectory | undefined {
  const { littleEndian, isBig, wordBytes, countBytes, entryBytes, headBytes } = layout;
  const start = at + countBytes;
  if (at < headBytes || start > bytes.length) return undefined;
  const claimed = isBig ? bytes.u64(at, littleEndian) : bytes.u16(at, littleEndian);
  const count = Math.min(claimed, Math.floor((bytes.length - start) / entryBytes));
  const entries: TiffEntry[] = [];
  for (let index = 0; index < count; index += 1)
    entries.push(entryAt(bytes, layout, start + index * entryBytes));
  const end = start + claimed * entryBytes;
  const hasNext = end + wordBytes <= bytes.length;
  return {
    at,
    littleEndian,
    isBig,
    entries,
    nextAt: hasNext ? end : undefined,
    next: hasNext ? wordAt(bytes, layout, end) : 0,
    truncated: count < claimed,
  };
}

function entryAt(bytes: Bytes, layout: Layout, at: number): TiffEntry {
  const { littleEndian, wordBytes } = layout;
  const type = bytes.u16(at + 2, littleEndian);
  const count = wordAt(bytes, layout, at + 4);
  const claimedBytes = (TYPE_BYTES[type] ?? 0) * count;
  const inside = at + 4 + wordBytes;
  const valueAt = claimedBytes <= wordBytes ? inside : wordAt(bytes, layout, inside);
  return { at, tag: bytes.u16(at, littleEndian), type, count, claimedBytes, valueAt };
}

function overlap(one: TiffDirectory, other: TiffDirectory): boolean {
  return one.at < endOf(other) && other.at < endOf(one);
}

/** Behind the entries: some writers leave out the offset of the next directory. */
function endOf({ at, entries }: TiffDirectory): number {
  return at + 2 + entries.length * 12;
}

/** The first value of an entry, where it is a whole number without a sign; undefined where it is none or not in the file. */
export function firstNumber(
  bytes: Bytes,
  { littleEndian }: TiffDirectory,
  { type, valueAt }: TiffEntry,
): number | undefined {
  if (!WHOLE_NUMBERS.includes(type) || valueAt + (TYPE_BYTES[type] ?? 0) > bytes.length) return undefined;
  if (type === BYTE) return bytes.u8(valueAt);
  if (type === SHORT) return bytes.u16(valueAt, littleEndian);
  return type === LONG ? bytes.u32(valueAt, littleEndian) : bytes.u64(valueAt, littleEndian);
}

/** The TIFF structure of an EXIF block. */
export function withoutExifPrefix(block: Uint8Array): Buffer {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const hasPrefix = bytes.toString('latin1', 0, EXIF_PREFIX.length) === EXIF_PREFIX;
  return hasPrefix ? bytes.subarray(EXIF_PREFIX.length) : bytes;
}
