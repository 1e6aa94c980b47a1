import { createHash } from 'node:crypto';
import { addAbortSignal, PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ByteRange } from './stores/objects/port.ts';
import { inBatches } from './values/batches.ts';

/** One file of an archive. */
export interface ZipArchiveEntry {
  name: string;
  sizeBytes: number;
  /** SHA-256 of the bytes. The ETag of the archive is derived from the digests of all its files. */
  digest: string;
  /** CRC-32 of the bytes. */
  checksum: number;
  /** Opens the bytes of the file, or a range of them. */
  open(range: ByteRange): Promise<Readable>;
}

export interface ZipArchive {
  sizeBytes: number;
  /** The ETag of the archive. It is equal for equal files, so that an interrupted download can resume. */
  etag: string;
  /** The bytes of the archive, or a range of them. Closing the stream closes the files that it reads. */
  stream(range: ByteRange | null): Readable;
}

/** An entry of a ZIP file with its position in the file. */
interface PlacedEntry extends ZipArchiveEntry {
  /** The name as UTF-8 bytes. */
  path: Buffer;
  /** The offset of the local header of the entry. */
  offset: number;
  /** The extra fields of the local header and of the directory header. */
  localExtra: Buffer;
  centralExtra: Buffer;
}

/** A piece of an archive, whose offset and size are known before its bytes are made or read. */
interface ArchivePiece {
  offset: number;
  sizeBytes: number;
  /**
   * Reads the bytes of a piece.
   * @param range within the piece, not within the archive.
   * @param signal aborts when the reader has gone.
   */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * A part of the ETag that identifies the layout of the archive. A change of the layout must change this text, so that
 * no download resumes with bytes of another layout.
 */
const ARCHIVE_LAYOUT_ID = 'stored, sums before the bytes';

/*
 * The ZIP format, as APPNOTE.TXT of PKWARE describes it. All numbers are little-endian.
 *
 *   entry 0: local header, name, extra fields, bytes     <- offset 0
 *   entry 1: ...
 *   directory: one header for each entry, with its offset
 *   end: the place of the directory, also in 64 bits if 16 or 32 are too few
 */
const LOCAL_HEADER_BYTES = 30;
const CENTRAL_HEADER_BYTES = 46;
const END_RECORD_BYTES = 22;
const ZIP64_END_RECORD_BYTES = 56;
const ZIP64_LOCATOR_BYTES = 20;
const TIMESTAMP_FIELD_BYTES = 9;
/** The largest value of a field of 16 or 32 bits. It means that the number is in a 64-bit field. */
const ZIP64_MARKER_16_BITS = 0xffff;
const ZIP64_MARKER_32_BITS = 0xffffffff;
const ZIP_VERSION = 20;
const ZIP64_VERSION = 45;
/** Bit 11 of the general purpose flags: names are UTF-8. */
const UTF8_NAMES_FLAG = 0x0800;
const MADE_BY_UNIX = 3 << 8;
const FILE_MODE = 0o100644;
/** The number of entries that are processed in one turn of the event loop. */
const ENTRIES_PER_TURN = 500;

/**
 * A ZIP archive of files, which are stored uncompressed, because compressed pictures do not get smaller. The names,
 * sizes and checksums of the entries determine every byte. Any range can therefore be made alone, and only the files
 * within it are opened.
 * @param modifiedAt the modification time of every file.
 */
export async function openZipArchive(
  entries: readonly ZipArchiveEntry[],
  modifiedAt: Date,
): Promise<ZipArchive> {
  const { placed, etag } = await placeEntries(entries, modifiedAt);
  const last = placed.at(-1);
  const directory = {
    offset: last === undefined ? 0 : last.offset + localBytesOf(last) + last.sizeBytes,
    sizeBytes: centralBytesOf(placed),
    entries: placed.length,
  };
  const end = endRecord(directory);
  const sizeBytes = directory.offset + directory.sizeBytes + end.length;

  /** The pieces in order, beginning with the entry that contains `start`. */
  function* piecesFrom(start: number): Generator<ArchivePiece> {
    const first = placed.findLastIndex(({ offset }) => offset <= start);
    for (const entry of start < directory.offset ? placed.slice(first) : []) {
      const { offset, sizeBytes } = entry;
      const header = localBytesOf(entry);
      yield {
        offset,
        sizeBytes: header,
        read: (range) => yieldRange(localHeader(entry, modifiedAt), range),
      };
      yield {
        offset: offset + header,
        sizeBytes,
        read: (range, signal) => readContent(entry, range, signal),
      };
    }
    let { offset } = directory;
    for (const group of inBatches(placed, ENTRIES_PER_TURN)) {
      const sizeBytes = centralBytesOf(group);
      yield {
        offset,
        sizeBytes,
        read: (range) => yieldRange(centralHeaders(group, modifiedAt), range),
      };
      offset += sizeBytes;
    }
    yield { offset, sizeBytes: end.length, read: (range) => yieldRange(end, range) };
  }

  return {
    sizeBytes,
    etag,
    stream(range) {
      const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
      const closed = new AbortController();
      const output = new PassThrough();
      output.once('close', () => closed.abort());
      // An error of the pipeline is ignored here, because the reader gets it from the stream itself.
      pipeline(readBytes(piecesFrom(start), { start, end }, closed.signal), output).catch(() => undefined);
      return output;
    },
  };
}

/** The bytes of a range, piece by piece. Pieces outside the range are neither made nor read. */
async function* readBytes(
  pieces: Iterable<ArchivePiece>,
  { start, end }: ByteRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (const { offset, sizeBytes, read } of pieces) {
    if (offset > end) return;
    const range = { start: Math.max(0, start - offset), end: Math.min(sizeBytes - 1, end - offset) };
    if (range.start > range.end) continue;
    yield* read(range, signal);
  }
}

async function* yieldRange(bytes: Buffer, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  yield bytes.subarray(start, end + 1);
}

/** The bytes of a file. Fails if their number is not the recorded size, because all later offsets would be wrong. */
async function* readContent(
  { name, open }: ZipArchiveEntry,
  range: ByteRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const body = addAbortSignal(signal, await open(range));
  let left = range.end - range.start + 1;
  for await (const chunk of body) {
    left -= chunk.length;
    yield chunk;
  }
  if (left !== 0) throw new Error(`The stored file of ${name} has not the size that is recorded.`);
}

/**
 * Computes the positions of the entries and the ETag of the archive. It yields to other work, because 10,000 entries
 * take 30 ms.
 */
async function placeEntries(
  entries: readonly ZipArchiveEntry[],
  modifiedAt: Date,
): Promise<{ placed: PlacedEntry[]; etag: string }> {
  const tag = createHash('sha256').update(`${ARCHIVE_LAYOUT_ID}\n${modifiedAt.toISOString()}`);
  const placed: PlacedEntry[] = [];
  const timestamp = timestampField(modifiedAt);
  let offset = 0;
  for (const entry of entries) {
    if (placed.length % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
    const { name, sizeBytes } = entry;
    const localExtra = extraFields(timestamp, [sizeBytes, sizeBytes]);
    const centralExtra = extraFields(timestamp, [sizeBytes, sizeBytes, offset]);
    const file = { ...entry, path: Buffer.from(name), offset, localExtra, centralExtra };
    placed.push(file);
    offset += localBytesOf(file) + sizeBytes;
    tag.update(`\n${entry.digest} ${entry.name}`);
  }
  return { placed, etag: `"${tag.digest('base64url').slice(0, 32)}"` };
}

function localBytesOf({ path, localExtra }: PlacedEntry): number {
  return LOCAL_HEADER_BYTES + path.length + localExtra.length;
}

function centralBytesOf(entries: readonly PlacedEntry[]): number {
  return entries.reduce(
    (sum, { path, centralExtra }) => sum + CENTRAL_HEADER_BYTES + path.length + centralExtra.length,
    0,
  );
}

function localHeader(entry: PlacedEntry, modifiedAt: Date): Buffer {
  const header = Buffer.alloc(LOCAL_HEADER_BYTES);
  header.write('PK\x03\x04', 'latin1');
  writeCommonFields(header.subarray(4), entry, entry.localExtra, modifiedAt);
  return Buffer.concat([header, entry.path, entry.localExtra]);
}

function centralHeaders(entries: readonly PlacedEntry[], modifiedAt: Date): Buffer {
  const headers: Buffer[] = [];
  for (const entry of entries) {
    const { path, offset, centralExtra } = entry;
    const header = Buffer.alloc(CENTRAL_HEADER_BYTES);
    header.write('PK\x01\x02', 'latin1');
    header.writeUInt16LE(MADE_BY_UNIX | ZIP64_VERSION, 4);
    writeCommonFields(header.subarray(6), entry, centralExtra, modifiedAt);
    header.writeUInt32LE(FILE_MODE * 0x10000, 38);
    header.writeUInt32LE(Math.min(offset, ZIP64_MARKER_32_BITS), 42);
    headers.push(header, path, centralExtra);
  }
  return Buffer.concat(headers);
}

/**
 * Writes the 26 bytes that local and central headers have in common, from the version to the size of the extra fields.
 */
function writeCommonFields(
  common: Buffer,
  { path, sizeBytes, checksum }: PlacedEntry,
  extra: Buffer,
  modifiedAt: Date,
): void {
  const size = Math.min(sizeBytes, ZIP64_MARKER_32_BITS);
  const { date, time } = dosDateTimeOf(modifiedAt);
  common.writeUInt16LE(extra.length === TIMESTAMP_FIELD_BYTES ? ZIP_VERSION : ZIP64_VERSION, 0);
  common.writeUInt16LE(UTF8_NAMES_FLAG, 2);
  // The compression method at offset 4 stays 0, which means stored.
  common.writeUInt16LE(time, 6);
  common.writeUInt16LE(date, 8);
  common.writeUInt32LE(checksum, 10);
  common.writeUInt32LE(size, 14);
  common.writeUInt32LE(size, 18);
  common.writeUInt16LE(path.length, 22);
  common.writeUInt16LE(extra.length, 24);
}

/** The field with the time, and a second one for the numbers that do not fit into 32 bits, if there are any. */
function extraFields(timestamp: Buffer, numbers: readonly number[]): Buffer {
  const large = numbers.filter((number) => number >= ZIP64_MARKER_32_BITS);
  if (large.length === 0) return timestamp;
  const field = Buffer.alloc(4 + 8 * large.length);
  field.writeUInt16LE(0x0001, 0);
  field.writeUInt16LE(8 * large.length, 2);
  for (const [index, number] of large.entries()) field.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
  return Buffer.concat([timestamp, field]);
}

/** The extra field with the time in seconds of UTC, because the time in the header has no time zone. */
function timestampField(modifiedAt: Date): Buffer {
  const field = Buffer.alloc(TIMESTAMP_FIELD_BYTES);
  field.writeUInt16LE(0x5455, 0);
  field.writeUInt16LE(TIMESTAMP_FIELD_BYTES - 4, 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(Math.floor(modifiedAt.getTime() / 1000), 5);
  return field;
}

/** Date and time of a header: UTC, in steps of two seconds, from 1980 on. */
function dosDateTimeOf(instant: Date): { date: number; time: number } {
  const years = Math.max(0, instant.getUTCFullYear() - 1980);
  return {
    date: (years << 9) | ((instant.getUTCMonth() + 1) << 5) | instant.getUTCDate(),
    time: (instant.getUTCHours() << 11) | (instant.getUTCMinutes() << 5) | (instant.getUTCSeconds() >> 1),
  };
}

interface CentralDirectory {
  offset: number;
  sizeBytes: number;
  entries: number;
}

/** The end of the archive, with the ZIP64 records if a number needs 64 bits. */
function endRecord({ offset, sizeBytes, entries }: CentralDirectory): Buffer {
  const end = Buffer.alloc(END_RECORD_BYTES);
  end.write('PK\x05\x06', 'latin1');
  const count = Math.min(entries, ZIP64_MARKER_16_BITS);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(Math.min(sizeBytes, ZIP64_MARKER_32_BITS), 12);
  end.writeUInt32LE(Math.min(offset, ZIP64_MARKER_32_BITS), 16);
  const isLarge =
    entries >= ZIP64_MARKER_16_BITS || sizeBytes >= ZIP64_MARKER_32_BITS || offset >= ZIP64_MARKER_32_BITS;
  return isLarge ? Buffer.concat([zip64EndRecords({ offset, sizeBytes, entries }), end]) : end;
}

function zip64EndRecords({ offset, sizeBytes, entries }: CentralDirectory): Buffer {
  const end = Buffer.alloc(ZIP64_END_RECORD_BYTES + ZIP64_LOCATOR_BYTES);
  end.write('PK\x06\x06', 'latin1');
  end.writeBigUInt64LE(BigInt(ZIP64_END_RECORD_BYTES - 12), 4);
  end.writeUInt16LE(MADE_BY_UNIX | ZIP64_VERSION, 12);
  end.writeUInt16LE(ZIP64_VERSION, 14);
  end.writeBigUInt64LE(BigInt(entries), 24);
  end.writeBigUInt64LE(BigInt(entries), 32);
  end.writeBigUInt64LE(BigInt(sizeBytes), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  end.write('PK\x06\x07', ZIP64_END_RECORD_BYTES, 'latin1');
  end.writeBigUInt64LE(BigInt(offset + sizeBytes), ZIP64_END_RECORD_BYTES + 8);
  end.writeUInt32LE(1, ZIP64_END_RECORD_BYTES + 16);
  return end;
}
