import { ByteReader } from '../../formats/bytes.ts';
import {
  EXIF_POINTER_TAGS,
  exifDirectoriesOrNone,
  type TiffDirectory,
  type TiffEntry,
  tiffPageDirectories,
  withoutExifPrefix,
} from '../../formats/tiff.ts';
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

/** The offset in a TIFF of the field that holds the offset of the first directory. */
const IFD_POINTER_OFFSET = 4;
const ENTRY_BYTES = 12;
const LONG_TYPE = 4;
const UNDEFINED_TYPE = 7;
/** The types of values that are pairs of numbers: fractions, unsigned and signed. */
const RATIONAL_TYPES: readonly number[] = [5, 10];
/** Types above this one hold offsets, which are useless outside of their file. */
const LAST_COPIED_TYPE = 12;
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
    added.push({ tag: IPTC_TAG, type: UNDEFINED_TYPE, count: iptc.length, value: iptc });
  if (added.length === 0) return tiff;
  const own = first.entries
    .filter((entry) => !added.some(({ tag }) => tag === entry.tag))
    .map(({ at }) => file.subarray(at, at + ENTRY_BYTES));
  const start = file.byteLength + (file.byteLength % 2);
  const directory = encodeDirectory(added, start, own, first.next);
  const result = new Uint8Array(start + directory.byteLength);
  result.set(file);
  result.set(directory, start);
  new DataView(result.buffer).setUint32(IFD_POINTER_OFFSET, start, true);
  return result;
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
        const led = directories.find(({ parentEntry }) => parentEntry === entry);
        const below = led === undefined ? [] : carried(led);
        if (below.length === 0) return [];
        return [{ ...entry, type: LONG_TYPE, count: 1, value: Buffer.alloc(4), below }];
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
  if (type > LAST_COPIED_TYPE || claimedBytes === 0 || end > bytes.length || claimedBytes > limitBytes)
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
 * The bytes of a directory and of all directories that it points to.
 * @param start offset of the directory in its file.
 * @param ready entries that are already encoded.
 * @param next offset of the directory after it; 0 for none.
 */
function encodeDirectory(entries: TagEntry[], start: number, ready: Buffer[] = [], next = 0): Buffer {
  const count = entries.length + ready.length;
  const bodies: Buffer[] = [];
  let free = start + 2 + count * ENTRY_BYTES + 4;
  const append = (body: Buffer) => {
    const at = free;
    const padded = body.byteLength % 2 === 0 ? body : Buffer.concat([body, Buffer.alloc(1)]);
    bodies.push(padded);
    free += padded.byteLength;
    return at;
  };
  const made = entries.map(({ tag, type, count, value, below }) => {
    const entry = Buffer.alloc(ENTRY_BYTES);
    entry.writeUInt16LE(tag, 0);
    entry.writeUInt16LE(type, 2);
    entry.writeUInt32LE(count, 4);
    if (below !== undefined) entry.writeUInt32LE(append(encodeDirectory(below, free)), 8);
    else if (value.byteLength > 4) entry.writeUInt32LE(append(value), 8);
    else value.copy(entry, 8);
    return entry;
  });
  const sorted = [...made, ...ready].sort((a, b) => a.readUInt16LE(0) - b.readUInt16LE(0));
  const head = Buffer.alloc(2);
  head.writeUInt16LE(count, 0);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(next, 0);
  return Buffer.concat([head, ...sorted, tail, ...bodies]);
}
