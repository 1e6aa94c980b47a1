import type { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/**
 * GIF (version 89a): a screen descriptor, then blocks. The content of a block is a list of sub-blocks. Each begins with
 * a byte that gives the number of bytes that follow; an empty one ends the list.
 */

/** Bytes of signature, version and screen descriptor. */
const HEAD_BYTES = 13;
const SCREEN_FLAGS_AT = 10;
const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;
/** Bytes of introducer and label. */
const EXTENSION_HEAD_BYTES = 2;
/** Bytes of separator, position, size and flags. A colour table may follow, and then the width of the codes. */
const IMAGE_HEAD_BYTES = 10;
const IMAGE_FLAGS_AT = 9;
const CODE_WIDTH_BYTES = 1;

/** Flags of a screen or an image: whether a colour table follows, and its number of colours. */
const HAS_TABLE = 0x80;
const TABLE_SIZE = 0x07;

export interface GifExtension extends ContainerPart {
  kind: 'extension';
  /** The purpose of the extension, such as 0xf9 for a graphic control. */
  label: number;
}

/** A block of a GIF. The content of an image includes its colour table. The trailer is the last block and is empty. */
export type GifBlock = GifExtension | (ContainerPart & { kind: 'image' | 'trailer' });

/** The blocks of a GIF up to its trailer, or to a byte that begins no block. There are none for any other file. */
export function gifBlocks(bytes: ByteReader): Iterable<GifBlock> {
  if (bytes.text(0, 4) !== 'GIF8' || bytes.length < HEAD_BYTES) return [];
  const first = HEAD_BYTES + colourTableBytes(bytes.u8(SCREEN_FLAGS_AT));
  return partsBetween(
    first,
    bytes.length,
    (at) => blockAt(bytes, at),
    ({ kind }) => kind === 'trailer',
  );
}

function blockAt(bytes: ByteReader, at: number): GifBlock | undefined {
  const { length } = bytes;
  const block = bytes.u8(at);
  if (block === TRAILER)
    return { kind: 'trailer', at, start: at + 1, end: at + 1, next: at + 1, truncated: false };
  if (block === EXTENSION) {
    const start = at + EXTENSION_HEAD_BYTES;
    if (start > length) return undefined;
    const end = endOfList(bytes, start);
    return { kind: 'extension', label: bytes.u8(at + 1), at, start, end, next: end, truncated: false };
  }
  const start = at + IMAGE_HEAD_BYTES;
  if (block !== IMAGE || start >= length) return undefined;
  const end = endOfList(bytes, start + colourTableBytes(bytes.u8(at + IMAGE_FLAGS_AT)) + CODE_WIDTH_BYTES);
  return { kind: 'image', at, start, end, next: end, truncated: false };
}

function colourTableBytes(flags: number): number {
  return (flags & HAS_TABLE) === 0 ? 0 : 3 * 2 ** ((flags & TABLE_SIZE) + 1);
}

/** Offset after the empty sub-block that ends a list; the length of the file when no such sub-block follows. */
function endOfList(bytes: ByteReader, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const size = bytes.u8(at);
    at += 1 + size;
    if (size === 0) return at;
  }
  return bytes.length + 1;
}
