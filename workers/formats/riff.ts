import type { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/**
 * RIFF as used by WebP (RFC 9649, section 2.3): a head that names the form, then chunks of type, length and content.
 */

/** The number of bytes of the file's head: `RIFF`, length and form. */
const RIFF_HEADER_BYTES = 12;
/** The number of bytes of a chunk's head: its type and its length. */
const CHUNK_HEAD_BYTES = 8;

export interface RiffChunk extends ContainerPart {
  /** Four characters, such as `VP8X` or `ICCP`. */
  type: string;
}

/**
 * The chunks of a WebP, which is a RIFF file of the form `WEBP`; none for any other file. They are read up to the end
 * of the bytes, whatever length the head of the file gives. A chunk of odd length is followed by a byte of padding.
 */
export function webpChunks(bytes: ByteReader): Iterable<RiffChunk> {
  if (bytes.text(0, 4) !== 'RIFF' || bytes.text(8, 4) !== 'WEBP') return [];
  return partsBetween(RIFF_HEADER_BYTES, bytes.length, (at) => readChunkAt(bytes, at));
}

function readChunkAt(bytes: ByteReader, at: number): RiffChunk | undefined {
  const start = at + CHUNK_HEAD_BYTES;
  if (start > bytes.length) return undefined;
  const end = start + bytes.u32(at + 4, true);
  return {
    type: bytes.fourCharacters(at),
    at,
    start,
    end,
    next: end + ((end - start) % 2),
    truncated: false,
  };
}
