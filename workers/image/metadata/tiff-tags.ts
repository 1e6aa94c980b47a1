import { ByteReader } from '../../formats/bytes.ts';
import {
  EXIF_POINTER_TAGS,
  exifDirectoriesOrNone,
  TIFF_TYPE_LONG,
  type TiffDirectory,
  type TiffEntry,
  tiffPageDirectories,
  withoutExifPrefix,
} from '../../formats/tiff.ts';
import { encodeTiffDirectory, type NewTiffEntry, withTiffDirectory } from '../../formats/tiff-directory.ts';
import { isCarriedExifEntry, MAX_EXIF_TOTAL_BYTES, MAX_EXIF_VALUE_BYTES } from './edited-exif.ts';

/**
 * Adds EXIF tags to a written TIFF. The first directory of a TIFF also holds its EXIF, but libvips writes no EXIF tags
 * there. A longer directory at the end of the file replaces the first one. No written bytes are moved.
 */

/** One tag: its value as bytes in the byte order of the written file, or the tags of a directory that it points to. */
interface TagEntry {
  tag: number;
  type: number;
  count: number;
  value: Buffer;
  below?: TagEntry[];
}

const LITTLE_ENDIAN_CLASSIC_TIFF = { littleEndian: true, isBig: false };
const ENTRY_BYTES = 12;
const TIFF_TYPE_UNDEFINED = 7;
/** The types of values that are pairs of numbers: fractions, unsigned and signed. */
const RATIONAL_TYPES: readonly number[] = [5, 10];
/** The highest type that is copied. Values of higher types are offsets, which are useless outside of their file. */
const MAX_COPIED_TYPE = 12;
const MAX_DIRECTORY_ENTRIES = 512;
/** Tags with the size of the picture. They do not belong in the EXIF of a TIFF, which has other tags for the size. */
const PIXEL_DIMENSION_TAGS: readonly number[] = [0xa002, 0xa003];

/** The tags of a first directory that describe the picture. Its other tags describe how the pixels are stored. */
const DESCRIPTIVE_TAGS: ReadonlySet<number> = new Set([
  0x010e, 0x010f, 0x0110, 0x0131, 0x0132, 0x013b, 0x013c, 0x8298, 0x8769, 0x8825, 0x9c9b, 0x9c9c, 0x9c9d,
  0x9c9e, 0x9c9f, 0x4746, 0x4749,
]);
const IPTC_TAG = 0x83bb;
/** Copyright and Artist. */
const RIGHTS_TAGS: ReadonlySet<number> = new Set([0x8298, 0x013b]);

/**
 * Adds the tags of an EXIF structure to a little-endian TIFF.
 * @param exif a TIFF structure, or a whole TIFF. Entries that cannot be read are left out.
 * @param which all descriptive tags, or only the rights.
 * @param iptc the IPTC block, which is added as its own tag.
 */
export function withExifTags(
  tiff: Uint8Array<ArrayBuffer>,
  exif: Uint8Array | undefined,
  which: 'all' | 'rights',
  iptc?: Buffer,
): Uint8Array<ArrayBuffer> {
  const file = Buffer.from(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  const [first] = tiffPageDirectories(new ByteReader(file));
  if (first === undefined || first.isBig || !first.littleEndian) return tiff;
  const kept = which === 'all' ? DESCRIPTIVE_TAGS : RIGHTS_TAGS;
  const added = exif === undefined ? [] : carriedEntriesOf(exif).filter(({ tag }) => kept.has(tag));
  if (iptc !== undefined)
    added.push({ tag: IPTC_TAG, type: TIFF_TYPE_UNDEFINED, count: iptc.length, value: iptc });
  if (added.length === 0) return tiff;
  const keptEntries = first.entries
    .filter((entry) => !added.some(({ tag }) => tag === entry.tag))
    .map(({ tag, at }) => ({ tag, copied: file.subarray(at, at + ENTRY_BYTES) }));
  const { extended, entries } = appendValues(file, added);
  return withTiffDirectory(extended, first, [...entries, ...keptEntries], { next: first.next });
}

/** A TIFF without directories. */
const EMPTY_TIFF = Buffer.from('II*\0\0\0\0\0', 'latin1');

/** The EXIF of a TIFF as a block for other formats: its descriptive tags. Undefined if there are none. */
export function exifBlockOf(tiff: Uint8Array): Buffer | undefined {
  const described = carriedEntriesOf(tiff).filter(({ tag }) => DESCRIPTIVE_TAGS.has(tag));
  if (described.length === 0) return undefined;
  const { extended, entries } = appendValues(EMPTY_TIFF, described);
  return withTiffDirectory(extended, LITTLE_ENDIAN_CLASSIC_TIFF, entries);
}

/**
 * The entries of an EXIF structure that are copied to a result. An entry that points to a directory includes the
 * entries of that directory.
 */
function carriedEntriesOf(exif: Uint8Array): TagEntry[] {
  const bytes = new ByteReader(withoutExifPrefix(exif));
  const directories = exifDirectoriesOrNone(bytes);
  let bytesLeft = MAX_EXIF_TOTAL_BYTES;
  const carried = (directory: TiffDirectory): TagEntry[] =>
    directory.entries.slice(0, MAX_DIRECTORY_ENTRIES).flatMap((entry) => {
      if (PIXEL_DIMENSION_TAGS.includes(entry.tag)) return [];
      if (EXIF_POINTER_TAGS.has(entry.tag)) {
        const pointedTo = directories.find(({ parentEntry }) => parentEntry === entry);
        const below = pointedTo === undefined ? [] : carried(pointedTo);
        if (below.length === 0) return [];
        return [{ ...entry, type: TIFF_TYPE_LONG, count: 1, value: Buffer.alloc(4), below }];
      }
      const value = carriedValue(bytes, directory, entry, Math.min(MAX_EXIF_VALUE_BYTES, bytesLeft));
      bytesLeft -= value?.byteLength ?? 0;
      return value === undefined || !isCarriedExifEntry(bytes, entry) ? [] : [{ ...entry, value }];
    });
  const [first] = directories;
  return first === undefined ? [] : carried(first);
}

/** The values of an entry in little-endian order; undefined when they lie outside the file, or exceed the limit. */
function carriedValue(
  bytes: ByteReader,
  { littleEndian }: TiffDirectory,
  { type, count, claimedBytes, valueAt }: TiffEntry,
  limitBytes: number,
): Buffer | undefined {
  const end = valueAt + claimedBytes;
  if (type > MAX_COPIED_TYPE || claimedBytes === 0 || end > bytes.length || claimedBytes > limitBytes)
    return undefined;
  const copy = Buffer.from(bytes.slice(valueAt, end));
  if (littleEndian) return copy;
  const numbers = RATIONAL_TYPES.includes(type) ? 2 * count : count;
  return swapByteOrder(copy, claimedBytes / numbers);
}

/**
 * Swaps the byte order of each number in a value.
 * @param numberBytes the size of a number.
 */
function swapByteOrder(value: Buffer, numberBytes: number): Buffer {
  if (numberBytes === 1) return value;
  if (numberBytes === 2) return value.swap16();
  return numberBytes === 4 ? value.swap32() : value.swap64();
}

/**
 * Appends the values of entries that are too long for the entries themselves, and the directories that entries point
 * to.
 * @returns the longer file, and the entries as they are written.
 */
function appendValues(file: Buffer, added: readonly TagEntry[]) {
  const pieces: Buffer[] = [file];
  let length = file.length;
  const append = (piece: Buffer) => {
    const padding = Buffer.alloc(length % 2);
    pieces.push(padding, piece);
    const at = length + padding.length;
    length = at + piece.length;
    return at;
  };
  const write = ({ tag, type, count, value, below }: TagEntry): NewTiffEntry => {
    const entry = Buffer.alloc(ENTRY_BYTES);
    entry.writeUInt16LE(tag, 0);
    entry.writeUInt16LE(type, 2);
    entry.writeUInt32LE(count, 4);
    if (below !== undefined)
      entry.writeUInt32LE(append(encodeTiffDirectory(LITTLE_ENDIAN_CLASSIC_TIFF, below.map(write), 0)), 8);
    else if (value.byteLength > 4) entry.writeUInt32LE(append(value), 8);
    else value.copy(entry, 8);
    return { tag, copied: entry };
  };
  const entries = added.map(write);
  return { extended: Buffer.concat(pieces), entries };
}
