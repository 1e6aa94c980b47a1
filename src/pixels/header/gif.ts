import type { Bytes } from './bytes.ts';
import type { Header } from './facts.ts';

const EXTENSION = 0x21;
const GRAPHIC_CONTROL = 0xf9;
const IMAGE = 0x2c;

/** Screens that broken encoders wrote instead of the picture's size: the decoder takes the first frame's then. */
const BROKEN_SCREENS = ['640x480', '640x512', '800x600', '1024x768', '1280x1024', '1600x1200'];
const LARGEST_TRUSTED_SIDE = 2048;

interface Walk {
  frames: number;
  /** Where the first frame ends on the screen. */
  right: number;
  bottom: number;
  hasAlpha: boolean;
  interlaced: boolean;
  cutShort: boolean;
}

/** Walks the blocks; a frame counts when its data end inside the file. The decoder would draw what there is of one more. */
export function readGif(bytes: Bytes): Header | null {
  if (bytes.text(0, 4) !== 'GIF8') return null;
  const walk = readBlocks(bytes);
  const screen = trustedScreen(bytes.u16(6, true), bytes.u16(8, true));
  const width = Math.max(screen.width, walk.right);
  const height = Math.max(screen.height, walk.bottom);
  return {
    format: 'gif',
    mimeType: 'image/gif',
    width,
    height,
    frames: walk.frames,
    pixels: width * height * walk.frames,
    orientation: 1,
    bitDepth: 8,
    channels: walk.hasAlpha ? 4 : 3,
    hasAlpha: walk.hasAlpha,
    progressive: walk.interlaced,
    animated: walk.frames > 1,
    ...(walk.cutShort && { cutShort: true }),
  };
}

function trustedScreen(width: number, height: number): { width: number; height: number } {
  const isBroken =
    width === 0 ||
    height === 0 ||
    Math.max(width, height) > LARGEST_TRUSTED_SIDE ||
    BROKEN_SCREENS.includes(`${width}x${height}`);
  return isBroken ? { width: 1, height: 1 } : { width, height };
}

function readBlocks(bytes: Bytes): Walk {
  const walk: Walk = { frames: 0, right: 0, bottom: 0, hasAlpha: false, interlaced: false, cutShort: false };
  for (let at = 13 + colourTableBytes(bytes.u8(10)); at + 2 <= bytes.length; ) {
    const block = bytes.u8(at);
    if (block === EXTENSION) {
      if (bytes.u8(at + 1) === GRAPHIC_CONTROL && at + 4 <= bytes.length) {
        walk.hasAlpha ||= (bytes.u8(at + 3) & 1) === 1;
      }
      at = endOfSubBlocks(bytes, at + 2);
    } else if (block === IMAGE && at + 10 < bytes.length) {
      const end = endOfSubBlocks(bytes, at + 10 + colourTableBytes(bytes.u8(at + 9)) + 1);
      walk.cutShort = end > bytes.length;
      if (walk.cutShort) break;
      countFrame(bytes, at, walk);
      at = end;
    } else break;
  }
  return walk;
}

function countFrame(bytes: Bytes, at: number, walk: Walk): void {
  walk.frames += 1;
  walk.interlaced ||= (bytes.u8(at + 9) & 0x40) !== 0;
  if (walk.frames > 1) return;
  walk.right = bytes.u16(at + 1, true) + bytes.u16(at + 5, true);
  walk.bottom = bytes.u16(at + 3, true) + bytes.u16(at + 7, true);
}

function colourTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/** Past the empty sub-block that ends a list; past the file's end when the list has no end. */
function endOfSubBlocks(bytes: Bytes, from: number): number {
  let at = from;
  while (at < bytes.length && bytes.u8(at) !== 0) at += 1 + bytes.u8(at);
  return at + 1;
}
