import { ByteReader } from './bytes.ts';
import { MAX_CONTAINER_PARTS, TooManyPartsError } from './parts.ts';

/**
 * TIFF (revision 6.0, section 2) and BigTIFF: directories of entries. Each entry has a tag, a type and a number of
 * values, which are in the entry or at the offset that it holds. EXIF has the same structure.
 */

/** The prefix of the TIFF structure in the EXIF block of a JPEG. Some writers use it in other formats too. */
export const EXIF_PREFIX = 'Exif\0\0';

/**
 * The differences between TIFF and BigTIFF: bytes of a count or an offset (`wordBytes`), of the number of entries in a
 * directory (`countBytes`), of an entry, and of the head of the file, which ends with the offset of the first
 * directory.
 */
const CLASSIC_TIFF_LAYOUT = {
  version: 42,
  isBig: false,
  wordBytes: 4,
  countBytes: 2,
  entryBytes: 12,
  headBytes: 8,
};
const BIG_TIFF_LAYOUT = {
  version: 43,
  isBig: true,
  wordBytes: 8,
  countBytes: 8,
  entryBytes: 20,
  headBytes: 16,
};

type TiffLayout = typeof CLASSIC_TIFF_LAYOUT & { littleEndian: boolean };

/** The bytes of one value, by type from 0 to 18; 0 if the length is unknown. */
const BYTES_BY_VALUE_TYPE = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];
const TIFF_TYPE_BYTE = 1;
export const TIFF_TYPE_SHORT = 3;
export const TIFF_TYPE_LONG = 4;
const TIFF_TYPE_RATIONAL = 5;
const TIFF_TYPE_SBYTE = 6;
const TIFF_TYPE_SSHORT = 8;
const TIFF_TYPE_SLONG = 9;
const TIFF_TYPE_LONG8 = 16;
/** The types of whole numbers. Some writers use signed types for numbers that are never negative. */
const WHOLE_NUMBER_TYPES: readonly number[] = [
  TIFF_TYPE_BYTE,
  TIFF_TYPE_SBYTE,
  TIFF_TYPE_SHORT,
  TIFF_TYPE_SSHORT,
  TIFF_TYPE_LONG,
  TIFF_TYPE_SLONG,
  TIFF_TYPE_LONG8,
];

/** Tags of entries that point to another directory: Exif, GPS, Interoperability. */
export const EXIF_POINTER_TAGS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** The most EXIF directories, and the most pointers to directories. Real files have up to five. */
const MAX_EXIF_DIRECTORIES = 16;
/** The most entries of all EXIF directories of a file, far more than any real file has. */
const MAX_EXIF_ENTRIES = 65_536;
/** The most entries of a directory. Readers refuse a BigTIFF that claims more. */
const MAX_DIRECTORY_ENTRIES = 65_535;

export interface TiffEntry {
  /** The offset of the entry in the file. */
  at: number;
  tag: number;
  type: number;
  /** The number of values that the entry claims to have. */
  count: number;
  /** The bytes of the values that the entry claims to have; 0 for an unknown type. */
  claimedBytes: number;
  /** The offset of the values as claimed by the entry: within the entry, or anywhere else in the file. */
  valueAt: number;
}

export interface TiffDirectory {
  at: number;
  littleEndian: boolean;
  isBig: boolean;
  entries: readonly TiffEntry[];
  /** The offset of the field that holds the offset of the next directory; undefined when the file ends before it. */
  nextAt: number | undefined;
  /** The offset of the next directory of the chain; 0 for none. */
  next: number;
  /** Whether the file ends before the entries do. */
  truncated: boolean;
  /** The entry that points to this directory, if there is one. */
  parentEntry?: TiffEntry;
}

/**
 * The directories of a TIFF or BigTIFF in the order of their chain, one per page; none for any other file. The chain
 * ends where it returns to a directory, leaves the file, or reaches a directory without entries.
 * @throws TooManyPartsError, also for more entries than fit into the file, because overlapping directories could claim
 *   many large pages in a small file.
 */
export function* tiffPageDirectories(bytes: ByteReader): Generator<TiffDirectory, void, undefined> {
  const layout = layoutOf(bytes);
  if (layout === undefined) return;
  const seen = new Set<number>();
  let entriesLeft = bytes.length / layout.entryBytes;
  for (let at = readFirstDirectoryOffset(bytes, layout); at !== 0 && !seen.has(at); ) {
    const directory = readDirectoryAt(bytes, layout, at);
    if (directory === undefined || (directory.entries.length === 0 && !directory.truncated)) return;
    seen.add(at);
    entriesLeft -= directory.entries.length;
    if (entriesLeft < 0 || seen.size > MAX_CONTAINER_PARTS) throw new TooManyPartsError();
    yield directory;
    at = directory.next;
  }
}

/**
 * A copy of a TIFF that begins with a later page; the same bytes for the first page, and for a page that the file
 * lacks.
 */
export function tiffFromPage(file: Uint8Array<ArrayBuffer>, page: number): Uint8Array<ArrayBuffer> {
  const bytes = new ByteReader(file);
  const layout = page === 0 ? undefined : layoutOf(bytes);
  const directory = layout && tiffPageDirectories(bytes).drop(page).next().value;
  if (layout === undefined || directory === undefined) return file;
  const { isBig, littleEndian, headBytes, wordBytes } = layout;
  const copy = new Uint8Array(file);
  const view = new DataView(copy.buffer);
  const firstAt = headBytes - wordBytes;
  if (isBig) view.setBigUint64(firstAt, BigInt(directory.at), littleEndian);
  else view.setUint32(firstAt, directory.at, littleEndian);
  return copy;
}

/**
 * The first directory of a TIFF or BigTIFF structure and those that its entries point to (Exif, GPS, Interoperability),
 * each once, even if they form a circle; none for any other bytes. The chain is not followed, because the second
 * directory of EXIF belongs to a thumbnail.
 * @throws TooManyPartsError for more pointers or entries than any EXIF has, or for directories that overlap: a change
 *   to one could damage the other.
 */
export function* exifDirectories(bytes: ByteReader): Generator<TiffDirectory, void, undefined> {
  const layout = layoutOf(bytes);
  if (layout === undefined) return;
  const pending: { at: number; parentEntry?: TiffEntry }[] = [
    { at: readFirstDirectoryOffset(bytes, layout) },
  ];
  const seen: TiffDirectory[] = [];
  let entriesLeft = MAX_EXIF_ENTRIES;
  for (const { at, parentEntry } of pending) {
    if (pending.length > MAX_EXIF_DIRECTORIES) throw new TooManyPartsError();
    if (seen.some((other) => other.at === at)) continue;
    const directory = readDirectoryAt(bytes, layout, at);
    if (directory === undefined) continue;
    entriesLeft -= directory.entries.length;
    if (entriesLeft < 0 || seen.some((other) => directoriesOverlap(other, directory)))
      throw new TooManyPartsError();
    seen.push(directory);
    // Readers follow a pointer whatever its type and count are.
    for (const entry of directory.entries)
      if (EXIF_POINTER_TAGS.has(entry.tag))
        pending.push({ at: pointerTarget(bytes, layout, entry), parentEntry: entry });
    yield parentEntry === undefined ? directory : { ...directory, parentEntry };
  }
}

/**
 * Whether an EXIF block has more pointers than any real one, or its thumbnail has. libexif reads a directory again for
 * each pointer to it, so that thousands of them cost seconds.
 */
export function hasTooManyExifPointers(bytes: ByteReader): boolean {
  const layout = layoutOf(bytes);
  if (layout === undefined) return false;
  const targets = [readFirstDirectoryOffset(bytes, layout)];
  let pointers = 0;
  for (const [index, at] of targets.entries()) {
    if (targets.indexOf(at) < index) continue;
    const directory = readDirectoryAt(bytes, layout, at);
    if (directory === undefined) continue;
    const found = directory.entries.filter(({ tag }) => EXIF_POINTER_TAGS.has(tag));
    pointers += found.length;
    if (pointers > MAX_EXIF_DIRECTORIES) return true;
    targets.push(...found.map((entry) => pointerTarget(bytes, layout, entry)));
    // The directory after the first one describes the thumbnail.
    if (index === 0) targets.push(directory.next);
  }
  return false;
}

/**
 * All EXIF directories, for code that changes or carries an EXIF block; none if `exifDirectories` throws
 * TooManyPartsError.
 */
export function exifDirectoriesOrNone(bytes: ByteReader): readonly TiffDirectory[] {
  try {
    return [...exifDirectories(bytes)];
  } catch (error) {
    if (error instanceof TooManyPartsError) return [];
    throw error;
  }
}

function layoutOf(bytes: ByteReader): TiffLayout | undefined {
  const order = bytes.text(0, 2);
  if (bytes.length < CLASSIC_TIFF_LAYOUT.headBytes || (order !== 'II' && order !== 'MM')) return undefined;
  const littleEndian = order === 'II';
  const version = bytes.u16(2, littleEndian);
  const layout = version === BIG_TIFF_LAYOUT.version ? BIG_TIFF_LAYOUT : CLASSIC_TIFF_LAYOUT;
  if (version !== layout.version || bytes.length < layout.headBytes) return undefined;
  return { littleEndian, ...layout };
}

export function isBigTiff(file: Uint8Array): boolean {
  return layoutOf(new ByteReader(file))?.isBig ?? false;
}

/** Reads the offset of the first directory from the head of the file. */
function readFirstDirectoryOffset(bytes: ByteReader, layout: TiffLayout): number {
  return readOffsetAt(bytes, layout, layout.headBytes - layout.wordBytes);
}

/** Reads the offset of the directory to which an entry points, whatever the type and the count of the entry are. */
function pointerTarget(bytes: ByteReader, layout: TiffLayout, entry: TiffEntry): number {
  return readOffsetAt(bytes, layout, entry.at + 4 + layout.wordBytes);
}

function readOffsetAt(bytes: ByteReader, { littleEndian, isBig }: TiffLayout, at: number): number {
  return isBig ? bytes.u64(at, littleEndian) : bytes.u32(at, littleEndian);
}

/**
 * The directory at an offset; undefined if the file has no space for one, if the offset lies in the head of the file,
 * or if the directory claims more entries than readers accept.
 */
function readDirectoryAt(bytes: ByteReader, layout: TiffLayout, at: number): TiffDirectory | undefined {
  const { littleEndian, isBig, wordBytes, countBytes, entryBytes, headBytes } = layout;
  const start = at + countBytes;
  if (at < headBytes || start > bytes.length) return undefined;
  const claimed = isBig ? bytes.u64(at, littleEndian) : bytes.u16(at, littleEndian);
  if (claimed > MAX_DIRECTORY_ENTRIES) return undefined;
  const count = Math.min(claimed, Math.floor((bytes.length - start) / entryBytes));
  const entries: TiffEntry[] = [];
  for (let index = 0; index < count; index += 1)
    entries.push(readEntryAt(bytes, layout, start + index * entryBytes));
  const end = start + claimed * entryBytes;
  const hasNext = end + wordBytes <= bytes.length;
  return {
    at,
    littleEndian,
    isBig,
    entries,
    nextAt: hasNext ? end : undefined,
    next: hasNext ? readOffsetAt(bytes, layout, end) : 0,
    truncated: count < claimed,
  };
}

function readEntryAt(bytes: ByteReader, layout: TiffLayout, at: number): TiffEntry {
  const { littleEndian, wordBytes } = layout;
  const type = bytes.u16(at + 2, littleEndian);
  const count = readOffsetAt(bytes, layout, at + 4);
  const claimedBytes = (BYTES_BY_VALUE_TYPE[type] ?? 0) * count;
  const inside = at + 4 + wordBytes;
  const valueAt = claimedBytes <= wordBytes ? inside : readOffsetAt(bytes, layout, inside);
  return { at, tag: bytes.u16(at, littleEndian), type, count, claimedBytes, valueAt };
}

function directoriesOverlap(one: TiffDirectory, other: TiffDirectory): boolean {
  // The offset of the next directory is not counted as a part of this one, because some writers omit it.
  const endOf = ({ at, isBig, entries }: TiffDirectory) => {
    const { countBytes, entryBytes } = isBig ? BIG_TIFF_LAYOUT : CLASSIC_TIFF_LAYOUT;
    return at + countBytes + entries.length * entryBytes;
  };
  return one.at < endOf(other) && other.at < endOf(one);
}

/**
 * The first value of an entry, if it is a whole number; undefined for any other type, for an entry without values, and
 * for a value outside the file. A negative number is read as a large one.
 */
export function firstEntryValue(
  bytes: ByteReader,
  directory: TiffDirectory,
  entry: TiffEntry,
): number | undefined {
  const hasNumbers = WHOLE_NUMBER_TYPES.includes(entry.type) && entry.count > 0;
  return hasNumbers ? readNumberAt(bytes, directory, entry, 0) : undefined;
}

/** At most `maxCount` values of an entry; none unless they are whole numbers or fractions within the file. */
export function entryValues(
  bytes: ByteReader,
  directory: TiffDirectory,
  entry: TiffEntry,
  maxCount: number,
): number[] {
  const values = Array.from({ length: Math.min(entry.count, maxCount) }, (_, index) =>
    readNumberAt(bytes, directory, entry, index),
  );
  return values.includes(undefined) ? [] : (values as number[]);
}

function readNumberAt(
  bytes: ByteReader,
  { littleEndian }: TiffDirectory,
  { type, valueAt }: TiffEntry,
  index: number,
): number | undefined {
  const size = BYTES_BY_VALUE_TYPE[type] ?? 0;
  const at = valueAt + index * size;
  if (at + size > bytes.length) return undefined;
  switch (type) {
    case TIFF_TYPE_BYTE:
    case TIFF_TYPE_SBYTE:
      return bytes.u8(at);
    case TIFF_TYPE_SHORT:
    case TIFF_TYPE_SSHORT:
      return bytes.u16(at, littleEndian);
    case TIFF_TYPE_LONG:
    case TIFF_TYPE_SLONG:
      return bytes.u32(at, littleEndian);
    case TIFF_TYPE_LONG8:
      return bytes.u64(at, littleEndian);
    case TIFF_TYPE_RATIONAL:
      return bytes.u32(at, littleEndian) / bytes.u32(at + 4, littleEndian);
    default:
      return undefined;
  }
}

/** The TIFF structure in an EXIF block, without the prefix that some formats put before it. */
export function withoutExifPrefix(block: Uint8Array): Buffer {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const hasPrefix = bytes.toString('latin1', 0, EXIF_PREFIX.length) === EXIF_PREFIX;
  return hasPrefix ? bytes.subarray(EXIF_PREFIX.length) : bytes;
}
