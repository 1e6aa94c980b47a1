import { crc32, inflateSync } from 'node:zlib';
import { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/** PNG (W3C, third edition), section 5: a signature, then chunks of length, type, content and checksum. */

const SIGNATURE = '\x89PNG\r\n\x1a\n';
/** Bytes of a chunk's length and type. */
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;

export interface PngChunk extends ContainerPart {
  /** Four characters, such as `IDAT`. */
  type: string;
}

/**
 * The chunks of a PNG up to IEND, where every decoder stops; none for a file that is not a PNG. Checksums are not
 * verified.
 */
export function pngChunks(bytes: ByteReader): Iterable<PngChunk> {
  if (bytes.text(0, SIGNATURE.length) !== SIGNATURE) return [];
  return partsBetween(
    SIGNATURE.length,
    bytes.length,
    (at) => chunkAt(bytes, at),
    ({ type }) => type === 'IEND',
  );
}

function chunkAt(bytes: ByteReader, at: number): PngChunk | undefined {
  const start = at + HEAD_BYTES;
  if (start > bytes.length) return undefined;
  const end = start + bytes.u32(at);
  const type = bytes.fourCharacters(at + 4);
  return { type, at, start, end, next: end + CHECKSUM_BYTES, truncated: false };
}

/** Builds a chunk with its length and checksum. */
export function buildPngChunk(type: string, content: Uint8Array): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), content, Buffer.alloc(4)]);
  chunk.writeUInt32BE(content.byteLength, 0);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -CHECKSUM_BYTES)), chunk.byteLength - CHECKSUM_BYTES);
  return chunk;
}

/**
 * A copy of a PNG with some chunks replaced; the same bytes if none is replaced, or if the file is not a PNG.
 * @param replacement returns the bytes to write instead of a chunk; undefined keeps the chunk.
 */
export function replacePngChunks(
  input: Uint8Array<ArrayBuffer>,
  replacement: (chunk: PngChunk, png: Buffer) => Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const pieces: Uint8Array[] = [];
  let keptFrom = 0;
  for (const chunk of pngChunks(new ByteReader(png))) {
    const piece = replacement(chunk, png);
    if (piece === undefined) continue;
    pieces.push(png.subarray(keptFrom, chunk.at), piece);
    keptFrom = chunk.next;
  }
  return keptFrom === 0 ? input : Buffer.concat([...pieces, png.subarray(keptFrom)]);
}

/** The content of a deflate stream; undefined if it is incomplete or longer than the limit. */
export function inflateWithLimit(packed: Uint8Array, limitBytes: number): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: Math.max(limitBytes, 1) });
  } catch {
    return undefined;
  }
}
