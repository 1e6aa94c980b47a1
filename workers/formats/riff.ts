import type { Bytes } from './bytes.ts';
import { type Part, partsBetween } from './parts.ts';

/** RIFF as WebP has it (RFC 9649, section 2.3): a head that names the form, then chunks of type, length and content. */

/** `RIFF`, length and form. */
const FILE_HEAD_BYTES = 12;
/** Type and length. */
const HEAD_BYTES = 8;

export interface RiffChunk extends Part {
  /** Four characters, such as `VP8X` or `ICCP`. */
  type: string;
}

/**
 * The chunks of a RIFF file of a form, such as `WEBP`; nothing of another file. They are walked to the end of the bytes,
 * whatever length the file's own head says. A chunk of odd length has a byte of padding behind it.
 */
export function riffChunks(bytes: Bytes, form: string): Iterable<RiffChunk> {
  if (bytes.text(0, 4) !== 'RIFF' || bytes.text(8, 4) !== form) return [];
  return partsBetween(FILE_HEAD_BYTES, bytes.length, (at) => chunkAt(bytes, at));
}

function chunkAt(bytes: Bytes, at: number): RiffChunk | undefined {
  const start = at + HEAD_BYTES;
  if (start > bytes.length) return undefined;
  const size = bytes.u32(at + 4, true);
  const next = start + size + (size % 2);
  return {
    type: bytes.fourCharacters(at),
    at,
    start,
    end: Math.min(start + size, bytes.length),
    next: Math.min(next, bytes.length),
    truncated: next > bytes.length,
  };
}
