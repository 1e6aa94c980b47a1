import { withoutBulkyTags } from './exif-guard.ts';

/**
 * A TIFF's own directory is its EXIF, and libvips writes none there: so the tags are added to the file that it wrote. A
 * longer directory takes the place of the first, at the end of the file; nothing that was written is moved.
 */

/** One tag: its value as bytes in the order of the file that is written, or the tags of a directory that it leads to. */
interface Entry {
  tag: number;
  type: number;
  count: number;
  value: Buffer;
  below?: Entry[];
}

/** Reads numbers in the byte order of a TIFF structure. */
interface Numbers {
  short(at: number): number;
  long(at: number): number;
}

const TIFF_MAGIC = 42;
const ENTRY_BYTES = 12;
const LONG = 4;
/** Bytes of one value, and of the numbers that it is made of, by type (TIFF 6.0, section 2). */
const TYPES: Record<number, [value: number, number: number]> = {
  1: [1, 1],
  2: [1, 1],
  3: [2, 2],
  4: [4, 4],
  5: [8, 4],
  6: [1, 1],
  7: [1, 1],
  8: [2, 2],
  9: [4, 4],
  10: [8, 4],
  11: [4, 4],
  12: [8, 8],
};
/** Entries that lead to another directory: Exif, GPS, Interoperability. */
const POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** It names places of the file that it stood in, and may hold further copies of the picture. */
const MAKER_NOTE = 0x927c;
const DEEPEST = 3;
const ENTRY_LIMIT = 512;

/** Of a first directory, what says something about the picture and nothing about its pixels. */
const DESCRIPTIVE: ReadonlySet<number> = new Set([
  0x010e, 0x010f, 0x0110, 0x0131, 0x0132, 0x013b, 0x013c, 0x8298, 0x8769, 0x8825, 0x9c9b, 0x9c9c, 0x9c9d,
  0x9c9e, 0x9c9f, 0x4746, 0x4749,
]);
/** Copyright and Artist. */
const RIGHTS: ReadonlySet<number> = new Set([0x8298, 0x013b]);

/**
 * Adds the tags of an EXIF structure to a little-endian TIFF.
 * @param exif a TIFF structure, or a whole TIFF; what cannot be read of it is left out.
 * @param which all that is descriptive, or the rights alone.
 */
export function withExifTags(
  tiff: Uint8Array<ArrayBuffer>,
  exif: Uint8Array,
  which: 'all' | 'rights',
): Uint8Array<ArrayBuffer> {
  const file = Buffer.from(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  if (file.toString('latin1', 0, 4) !== 'II*\0') return tiff;
  const kept = which === 'all' ? DESCRIPTIVE : RIGHTS;
  const added = entriesOf(Buffer.from(exif.buffer, exif.byteOffset, exif.byteLength)).filter(({ tag }) =>
    kept.has(tag),
  );
  if (added.length === 0) return tiff;
  const at = file.readUInt32LE(4);
  const end = at + 2 + file.readUInt16LE(at) * ENTRY_BYTES;
  const own = rawEntries(file, at + 2, end).filter(
    (entry) => !added.some(({ tag }) => tag === entry.readUInt16LE(0)),
  );
  const start = file.byteLength + (file.byteLength % 2);
  const directory = written(added, start, own, file.readUInt32LE(end));
  const result = new Uint8Array(start + directory.byteLength);
  result.set(file);
  result.set(directory, start);
  new DataView(result.buffer).setUint32(4, start, true);
  return result;
}

function rawEntries(file: Buffer, start: number, end: number): Buffer[] {
  const count = (end - start) / ENTRY_BYTES;
  return Array.from({ length: count }, (_, index) =>
    file.subarray(start + index * ENTRY_BYTES, start + (index + 1) * ENTRY_BYTES),
  );
}

function entriesOf(exif: Buffer): Entry[] {
  const tiff = withoutBulkyTags(exif.toString('latin1', 0, 4) === 'Exif' ? exif.subarray(6) : exif);
  if (tiff === undefined) return [];
  const isLittle = tiff[0] === 0x49;
  const numbers: Numbers = {
    short: (at) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at)),
    long: (at) => (isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at)),
  };
  return numbers.short(2) === TIFF_MAGIC
    ? directoryOf(tiff, numbers.long(4), numbers, isLittle, DEEPEST)
    : [];
}

function directoryOf(tiff: Buffer, at: number, numbers: Numbers, isLittle: boolean, depth: number): Entry[] {
  if (depth === 0 || at + 2 > tiff.byteLength) return [];
  const room = Math.floor((tiff.byteLength - at - 2) / ENTRY_BYTES);
  const count = Math.min(numbers.short(at), room, ENTRY_LIMIT);
  return Array.from({ length: count }, (_, index) => at + 2 + index * ENTRY_BYTES).flatMap(
    (place): Entry[] => {
      const entry = {
        tag: numbers.short(place),
        type: numbers.short(place + 2),
        count: numbers.long(place + 4),
      };
      if (entry.tag === MAKER_NOTE) return [];
      if (POINTERS.has(entry.tag)) {
        const below = directoryOf(tiff, numbers.long(place + 8), numbers, isLittle, depth - 1);
        return below.length === 0
          ? []
          : [{ tag: entry.tag, type: LONG, count: 1, value: Buffer.alloc(4), below }];
      }
      const [valueBytes, numberBytes] = TYPES[entry.type] ?? [0, 1];
      const bytes = valueBytes * entry.count;
      const start = bytes <= 4 ? place + 8 : numbers.long(place + 8);
      if (bytes === 0 || start + bytes > tiff.byteLength) return [];
      return [{ ...entry, value: littleEndian(tiff.subarray(start, start + bytes), numberBytes, isLittle) }];
    },
  );
}

function littleEndian(value: Buffer, numberBytes: number, isLittle: boolean): Buffer {
  const copy = Buffer.from(value);
  if (isLittle || numberBytes === 1) return copy;
  if (numberBytes === 2) return copy.swap16();
  return numberBytes === 4 ? copy.swap32() : copy.swap64();
}

/**
 * A directory and all that it leads to, for where it starts in its file.
 * @param ready entries that are as they should be.
 * @param next where the directory after it stands; 0 for none.
 */
function written(entries: Entry[], start: number, ready: Buffer[] = [], next = 0): Buffer {
  const count = entries.length + ready.length;
  const bodies: Buffer[] = [];
  let free = start + 2 + count * ENTRY_BYTES + 4;
  const place = (body: Buffer) => {
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
    if (below !== undefined) entry.writeUInt32LE(place(written(below, free)), 8);
    else if (value.byteLength > 4) entry.writeUInt32LE(place(value), 8);
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
