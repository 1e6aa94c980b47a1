import type { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/**
 * GIF (version 89a): a screen descriptor, then blocks. The content of a block is a list of sub-blocks. Each begins with
 * a byte that gives the number of bytes that follow; an empty one ends the list.
 */

/** The number of bytes of signature, version and screen descriptor. */
const FILE_HEAD_BYTES = 13;
const SCREEN_FLAGS_OFFSET = 10;
const EXTENSION_INTRODUCER = 0x21;
const IMAGE_SEPARATOR = 0x2c;
const TRAILER_BYTE = 0x3b;
/** The number of bytes of an extension's head: its introducer and its label. */
const EXTENSION_HEAD_BYTES = 2;
/**
 * The number of bytes of an image's head: separator, position, size and flags. A colour table may follow, and then the
 * width of the codes.
 */
const IMAGE_HEAD_BYTES = 10;
const IMAGE_FLAGS_OFFSET = 9;
const CODE_WIDTH_BYTES = 1;

/** Flags of a screen or an image: whether a colour table follows, and its number of colours. */
const COLOUR_TABLE_FLAG = 0x80;
const COLOUR_TABLE_SIZE_MASK = 0x07;

export interface GifExtension extends ContainerPart {
  kind: 'extension';
  /** The purpose of the extension, such as 0xf9 for a graphic control. */
  label: number;
}

/** A block of a GIF. The content of an image includes its colour table. The trailer is the last block and is empty. */
export type GifBlock = GifExtension | (ContainerPart & { kind: 'image' | 'trailer' });

/** The blocks of a GIF up to its trailer, or to a byte that begins no block. There are none for any other file. */
export function gifBlocks(bytes: ByteReader): Iterable<GifBlock> {
  if (bytes.text(0, 4) !== 'GIF8' || bytes.length < FILE_HEAD_BYTES) return [];
  const first = FILE_HEAD_BYTES + colourTableBytes(bytes.u8(SCREEN_FLAGS_OFFSET));
  return partsBetween(
    first,
    bytes.length,
    (at) => readBlockAt(bytes, at),
    ({ kind }) => kind === 'trailer',
  );
}

function readBlockAt(bytes: ByteReader, at: number): GifBlock | undefined {
  const { length } = bytes;
  const block = bytes.u8(at);
  if (block === TRAILER_BYTE)
    return { kind: 'trailer', at, start: at + 1, end: at + 1, next: at + 1, truncated: false };
  if (block === EXTENSION_INTRODUCER) {
    const start = at + EXTENSION_HEAD_BYTES;
    if (start > length) return undefined;
    const end = subBlocksEnd(bytes, start);
    return { kind: 'extension', label: bytes.u8(at + 1), at, start, end, next: end, truncated: false };
  }
  const start = at + IMAGE_HEAD_BYTES;
  if (block !== IMAGE_SEPARATOR || start >= length) return undefined;
  const end = subBlocksEnd(
    bytes,
    start + colourTableBytes(bytes.u8(at + IMAGE_FLAGS_OFFSET)) + CODE_WIDTH_BYTES,
  );
  return { kind: 'image', at, start, end, next: end, truncated: false };
}

function colourTableBytes(flags: number): number {
  return (flags & COLOUR_TABLE_FLAG) === 0 ? 0 : 3 * 2 ** ((flags & COLOUR_TABLE_SIZE_MASK) + 1);
}

/** The offset after the empty sub-block that ends a list; the length of the file when no such sub-block follows. */
function subBlocksEnd(bytes: ByteReader, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const size = bytes.u8(at);
    at += 1 + size;
    if (size === 0) return at;
  }
  return bytes.length + 1;
}
