import { crc32 } from 'node:zlib';
import type { Bytes } from './bytes.ts';
import { type Part, partsBetween } from './parts.ts';

/** PNG (W3C, third edition), section 5: a signature, then chunks of length, type, content and checksum. */

const SIGNATURE = '\x89PNG\r\n\x1a\n';
/** Bytes of a chunk's length and type. */
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;

export interface PngChunk extends Part {
  /** Four characters, such as `IDAT`. */
  type: string;
}

/**
 * The chunks of a PNG up to IEND, where every decoder stops; none for a file that is no PNG. Checksums are not
 * verified.
 */
export function pngChunks(bytes: Bytes): Iterable<PngChunk> {
  if (bytes.text(0, SIGNATURE.length) !== SIGNATURE) return [];
  return partsBetween(
    SIGNATURE.length,
    bytes.length,
    (at) => chunkAt(bytes, at),
    ({ type }) => type === 'IEND',
  );
}

function chunkAt(bytes: Bytes, at: number): PngChunk | undefined {
  const start = at + HEAD_BYTES;
  if (start > bytes.length) return undefined;
  const end = start + bytes.u32(at);
  const next = end + CHECKSUM_BYTES;
  return {
    type: bytes.fourCharacters(at + 4),
    at,
    start,
    end: Math.min(end, bytes.length),
    next: Math.min(next, bytes.length),
    truncated: next > bytes.length,
  };
}

/** Builds a chunk with its length and checksum. */
export function pngChunk(type: string, content: Uint8Array): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), content, Buffer.alloc(4)]);
  chunk.writeUInt32BE(content.byteLength, 0);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -CHECKSUM_BYTES)), chunk.byteLength - CHECKSUM_BYTES);
  return chunk;
}
