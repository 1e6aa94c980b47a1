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

/** A TIFF structure while it is read, in its byte order, with what may still be read of it. */
interface Reading {
  tiff: Buffer;
  isLittle: boolean;
  short(at: number): number;
  long(at: number): number;
  directoriesLeft: number;
  bytesLeft: number;
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
const ENTRY_LIMIT = 512;
/** A hostile structure leads to the same directories again and again, and claims the same bytes. */
const DIRECTORY_LIMIT = 8;
const VALUE_LIMIT_BYTES = 64 * 1024;
const TOTAL_LIMIT_BYTES = 512 * 1024;

/** Of a first directory, what says something about the picture and nothing about its pixels. */
const DESCRIPTIVE: ReadonlySet<number> = new Set([
  0x010e, 0x010f, 0x0110, 0x0131, 0x0132, 0x013b, 0x013c, 0x8298, 0x8769, 0x8825, 0x9c9b, 0x9c9c, 0x9c9d,
  0x9c9e, 0x9c9f, 0x4746, 0x4749,
]);
/** IPTC-NAA. */
const IPTC = 0x83bb;
const UNDEFINED_TYPE = 7;
/** Copyright and Artist. */
const RIGHTS: ReadonlySet<number> = new Set([0x8298, 0x013b]);

/**
 * Adds the tags of an EXIF structure to a little-endian TIFF.
 * @param exif a TIFF structure, or a whole TIFF; what cannot be read of it is left out.
 * @param which all that is descriptive, or the rights alone.
 * @param iptc goes along as a tag of its own.
 */
export function withExifTags(
  tiff: Uint8Array<ArrayBuffer>,
  exif: Uint8Array | undefined,
  which: 'all' | 'rights',
  iptc?: Buffer,
): Uint8Array<ArrayBuffer> {
  const file = Buffer.from(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  if (file.toString('latin1', 0, 4) !== 'II*\0') return tiff;
  const kept = which === 'all' ? DESCRIPTIVE : RIGHTS;
  const read =
    exif === undefined ? [] : entriesOf(Buffer.from(exif.buffer, exif.byteOffset, exif.byteLength));
  const added = read.filter(({ tag }) => kept.has(tag));
  if (iptc !== undefined) added.push({ tag: IPTC, type: UNDEFINED_TYPE, count: iptc.length, value: iptc });
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
  const tiff = exif.toString('latin1', 0, 4) === 'Exif' ? exif.subarray(6) : exif;
  if (tiff.byteLength < 8) return [];
  const isLittle = tiff[0] === 0x49;
  const reading: Reading = {
    tiff,
    isLittle,
    short: (at) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at)),
    long: (at) => (isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at)),
    directoriesLeft: DIRECTORY_LIMIT,
    bytesLeft: TOTAL_LIMIT_BYTES,
  };
  return reading.short(2) === TIFF_MAGIC ? directoryOf(reading, reading.long(4)) : [];
}

function directoryOf(reading: Reading, at: number): Entry[] {
  const { tiff, short } = reading;
  if (reading.directoriesLeft === 0 || at + 2 > tiff.byteLength) return [];
  reading.directoriesLeft -= 1;
  const room = Math.floor((tiff.byteLength - at - 2) / ENTRY_BYTES);
  const count = Math.min(short(at), room, ENTRY_LIMIT);
  return Array.from({ length: count }, (_, index) => entryAt(reading, at + 2 + index * ENTRY_BYTES)).flatMap(
    (entry) => entry ?? [],
  );
}

/** Undefined for an entry that is not carried, or cannot be read. */
function entryAt(reading: Reading, place: number): Entry | undefined {
  const { tiff, isLittle, short, long } = reading;
  const [tag, type, count] = [short(place), short(place + 2), long(place + 4)];
  if (tag === MAKER_NOTE) return undefined;
  if (POINTERS.has(tag)) {
    const below = directoryOf(reading, long(place + 8));
    return below.length === 0 ? undefined : { tag, type: LONG, count: 1, value: Buffer.alloc(4), below };
  }
  const [valueBytes, numberBytes] = TYPES[type] ?? [0, 1];
  const bytes = valueBytes * count;
  const start = bytes <= 4 ? place + 8 : long(place + 8);
  const isReadable = bytes > 0 && start + bytes <= tiff.byteLength;
  if (!isReadable || bytes > Math.min(VALUE_LIMIT_BYTES, reading.bytesLeft)) return undefined;
  reading.bytesLeft -= bytes;
  return {
    tag,
    type,
    count,
    value: littleEndian(tiff.subarray(start, start + bytes), numberBytes, isLittle),
  };
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
