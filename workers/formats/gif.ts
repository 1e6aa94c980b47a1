import { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';
import type { Size } from './size.ts';

/**
 * GIF (version 89a): a screen descriptor, then blocks. The content of a block is a list of sub-blocks. Each begins with
 * a byte that gives the number of bytes that follow; an empty one ends the list.
 */

/** The number of bytes of signature, version and screen descriptor. */
const GIF_HEADER_BYTES = 13;
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

/** The label of the extension that gives the delay and the transparency of the next image. */
const GRAPHIC_CONTROL_LABEL = 0xf9;
/** The label of an extension that belongs to an application. */
const APPLICATION_LABEL = 0xff;
/** The number of bytes of the first sub-block of such an extension: the name and the code of the application. */
const APPLICATION_NAME_BYTES = 11;

export function isGraphicControl(block: GifBlock): boolean {
  return block.kind === 'extension' && block.label === GRAPHIC_CONTROL_LABEL;
}

/** The name and the code of the application to which a block belongs, such as `NETSCAPE2.0`; undefined if to none. */
export function applicationOf(bytes: ByteReader, block: GifBlock): string | undefined {
  const isOwned = block.kind === 'extension' && block.label === APPLICATION_LABEL;
  return isOwned ? bytes.text(block.start + 1, APPLICATION_NAME_BYTES) : undefined;
}

/** A block of a GIF. The content of an image includes its colour table. The trailer is the last block and is empty. */
export type GifBlock = GifExtension | (ContainerPart & { kind: 'image' | 'trailer' });

/** The blocks of a GIF up to its trailer, or to a byte that begins no block. There are none for any other file. */
export function gifBlocks(bytes: ByteReader): Iterable<GifBlock> {
  if (bytes.text(0, 4) !== 'GIF8' || bytes.length < GIF_HEADER_BYTES) return [];
  const first = GIF_HEADER_BYTES + colourTableBytes(bytes.u8(SCREEN_FLAGS_OFFSET));
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

/** A frame of a GIF: its place on the screen, and what happens to that place before the next frame is drawn. */
interface GifFrame {
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** Whether the place of the frame is cleared before the next frame is drawn. */
  isCleared: boolean;
  isTransparent: boolean;
  /** The offset of its compressed pixels, which begin with the width of the codes. */
  pixelsAt: number;
  /**
   * The offset of the flags in the graphic control of the frame. The delay and the transparent index follow the flags.
   * Absent if the frame has no graphic control.
   */
  flagsAt?: number;
}

const TRANSPARENCY_FLAG = 0x01;
const DISPOSAL_SHIFT = 2;
const DISPOSAL_MASK = 0x07;
const CLEARING_DISPOSAL = 2;
const RESTORING_DISPOSAL = 3;

function* gifFrames(bytes: ByteReader): Generator<GifFrame, void, undefined> {
  let flagsAt: number | undefined;
  let isScreenEmpty = true;
  for (const block of gifBlocks(bytes)) {
    const { kind, at, start, end } = block;
    // The size of the sub-block comes before the flags.
    if (isGraphicControl(block) && start + 5 <= end) flagsAt = start + 1;
    if (kind !== 'image') continue;
    const flags = flagsAt === undefined ? 0 : bytes.u8(flagsAt);
    const [left, top] = [bytes.u16(at + 1, true), bytes.u16(at + 3, true)];
    const disposal = (flags >> DISPOSAL_SHIFT) & DISPOSAL_MASK;
    // If the screen was empty before the frame, restoring it also clears the place of the frame.
    const isCleared: boolean =
      disposal === CLEARING_DISPOSAL || (disposal === RESTORING_DISPOSAL && isScreenEmpty);
    isScreenEmpty &&= isCleared;
    yield {
      left,
      top,
      right: left + bytes.u16(at + 5, true),
      bottom: top + bytes.u16(at + 7, true),
      isCleared,
      isTransparent: (flags & TRANSPARENCY_FLAG) !== 0,
      pixelsAt: start + colourTableBytes(bytes.u8(at + IMAGE_FLAGS_OFFSET)),
      ...(flagsAt !== undefined && { flagsAt }),
    };
    flagsAt = undefined;
  }
}

const SCREEN_SIZE_OFFSET = 6;
/**
 * Screen sizes that broken encoders wrote instead of the picture's size. The decoder then takes the size of the first
 * frame.
 */
const UNTRUSTED_SCREEN_SIZES = ['640x480', '640x512', '800x600', '1024x768', '1280x1024', '1600x1200'];
const MAX_TRUSTED_SIDE_PX = 2048;

/**
 * The size of the screen of a GIF, or 1 × 1 if the decoder does not trust the size that the file names: any frame then
 * covers the screen.
 */
export function gifScreenSize(bytes: ByteReader): Size {
  const width = bytes.u16(SCREEN_SIZE_OFFSET, true);
  const height = bytes.u16(SCREEN_SIZE_OFFSET + 2, true);
  const isBroken =
    width === 0 ||
    height === 0 ||
    Math.max(width, height) > MAX_TRUSTED_SIDE_PX ||
    UNTRUSTED_SCREEN_SIZES.includes(`${width}x${height}`);
  return isBroken ? { width: 1, height: 1 } : { width, height };
}

/**
 * The opaque frames of a GIF that leave a part of the screen empty: the first frame, if it does not cover the screen,
 * and frames that are cleared and not covered by the next frame.
 */
export function opaqueFramesWithHoles(bytes: ByteReader): GifFrame[] {
  const { width, height } = gifScreenSize(bytes);
  const screen = { left: 0, top: 0, right: width, bottom: height };
  const frames = [...gifFrames(bytes)];
  return frames.filter((frame, index) => {
    const next = frames[index + 1];
    const leavesHole = frame.isCleared && next !== undefined && (next.isTransparent || !covers(next, frame));
    return !frame.isTransparent && (leavesHole || (index === 0 && !covers(frame, screen)));
  });
}

type Rectangle = Pick<GifFrame, 'left' | 'top' | 'right' | 'bottom'>;

function covers(one: Rectangle, other: Rectangle): boolean {
  return (
    one.left <= other.left && one.top <= other.top && one.right >= other.right && one.bottom >= other.bottom
  );
}

/** The offset of the transparent index from the flags of a graphic control. */
const TRANSPARENT_INDEX_OFFSET = 3;

/**
 * A GIF whose empty places are transparent, as in browsers. The decoder paints the background colour of the file, or
 * black, beside an opaque frame. Such a frame is therefore declared as transparent, by an index that no pixel has.
 * Returns the same bytes if there are no empty places. A frame that uses all indexes stays as it is, and so does one
 * without a graphic control.
 */
export function withTransparentHoles(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new ByteReader(input);
  const frames = opaqueFramesWithHoles(bytes);
  if (frames.length === 0) return input;
  const copy = new Uint8Array(input);
  for (const { flagsAt, pixelsAt } of frames) {
    const index = unusedColourIndexIn(bytes, pixelsAt);
    if (flagsAt === undefined || index === -1) continue;
    copy[flagsAt] = (copy[flagsAt] ?? 0) | TRANSPARENCY_FLAG;
    copy[flagsAt + TRANSPARENT_INDEX_OFFSET] = index;
  }
  return copy;
}

const MAX_COLOUR_INDEX = 255;
const MAX_CODE_WIDTH = 12;

/**
 * The highest index that no pixel has; -1 if there is none. Each index that a pixel has occurs as a code, because all
 * codes that are not an index repeat earlier pixels.
 */
function unusedColourIndexIn(bytes: ByteReader, pixelsAt: number): number {
  const isUsed = new Uint8Array(MAX_COLOUR_INDEX + 1);
  const rootWidth = bytes.u8(pixelsAt);
  const clearCode = 1 << rootWidth;
  let width = rootWidth + 1;
  let codeCount = clearCode + 2;
  let [bits, bitCount] = [0, 0];
  for (const byte of subBlockBytes(bytes, pixelsAt + CODE_WIDTH_BYTES)) {
    bits |= byte << bitCount;
    bitCount += 8;
    if (bitCount < width) continue;
    const code = bits & ((1 << width) - 1);
    bits >>>= width;
    bitCount -= width;
    if (code === clearCode + 1) break;
    if (code === clearCode) {
      width = rootWidth + 1;
      // The first code after a clear adds no entry to the table.
      codeCount = clearCode + 1;
      continue;
    }
    if (code < clearCode) isUsed[code] = 1;
    codeCount += 1;
    if (codeCount === 1 << width && width < MAX_CODE_WIDTH) width += 1;
  }
  return isUsed.lastIndexOf(0);
}

function* subBlockBytes(bytes: ByteReader, from: number): Generator<number, void, undefined> {
  for (let at = from; at < bytes.length; ) {
    const size = bytes.u8(at);
    if (size === 0) return;
    const end = Math.min(at + 1 + size, bytes.length);
    for (let index = at + 1; index < end; index++) yield bytes.u8(index);
    at = end;
  }
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

/**
 * XMP in a GIF (XMP specification, part 3, section 1.1.2): an application's extension with the packet as it is, not
 * divided into sub-blocks. A reader of sub-blocks takes letters of the packet for lengths, and so reaches any byte of
 * the trailer. From each of them, the trailer leads to the end of the extension.
 */

const XMP_APPLICATION = 'XMP DataXMP';
const XMP_TRAILER = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0]);
const XMP_HEAD = Buffer.from([
  EXTENSION_INTRODUCER,
  APPLICATION_LABEL,
  APPLICATION_NAME_BYTES,
  ...Buffer.from(XMP_APPLICATION, 'latin1'),
]);

/** The XMP packet of a GIF; undefined if it has none. */
export function gifXmpPacket(bytes: ByteReader): Uint8Array | undefined {
  const block = [...gifBlocks(bytes)].find((one) => applicationOf(bytes, one) === XMP_APPLICATION);
  if (block === undefined || block.truncated) return undefined;
  const [start, end] = [block.at + XMP_HEAD.length, block.end - XMP_TRAILER.length];
  return start < end ? bytes.slice(start, end) : undefined;
}

/** A GIF with an XMP packet before its trailer. */
export function withGifXmp(gif: Uint8Array<ArrayBuffer>, packet: string): Uint8Array<ArrayBuffer> {
  const trailer = [...gifBlocks(new ByteReader(gif))].at(-1);
  if (trailer?.kind !== 'trailer') return gif;
  const [before, after] = [gif.subarray(0, trailer.at), gif.subarray(trailer.at)];
  return Buffer.concat([before, XMP_HEAD, Buffer.from(packet), XMP_TRAILER, after]);
}
