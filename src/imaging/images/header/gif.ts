import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import { type GifBlock, gifBlocks } from '../../../../workers/formats/gif.ts';
import { type ImageHeader, imageHeaderOf } from './facts.ts';

const GRAPHIC_CONTROL = 0xf9;
/** The transparency bit in the flags of a graphic control, which follow the length of its sub-block. */
const TRANSPARENT = 0x01;
/** Offset of the delay of the next image in a graphic control, in hundredths of a second. */
const DELAY_AT = 2;
/** In the flags of an image. */
const INTERLACED = 0x40;
const SCREEN_AT = 6;

/**
 * Screen sizes that broken encoders wrote instead of the picture's size. The decoder then takes the size of the first
 * frame.
 */
const BROKEN_SCREENS = ['640x480', '640x512', '800x600', '1024x768', '1280x1024', '1600x1200'];
const MAX_TRUSTED_SIDE = 2048;

/** Reads the header of a GIF by walking its blocks. A frame counts when its data ends inside the file. */
export function readGifHeader(bytes: ByteReader): ImageHeader | null {
  let frames = 0;
  /** Where the first frame ends on the screen. */
  let [right, bottom] = [0, 0];
  let hasAlpha = false;
  const delays: number[] = [];
  let delayMs = 0;
  let progressive = false;
  let endsInFrame = false;
  for (const block of gifBlocks(bytes)) {
    const { kind, at, truncated } = block;
    hasAlpha ||= isTransparent(bytes, block);
    if (isGraphicControl(block)) delayMs = readDelayMs(bytes, block);
    if (kind === 'image') endsInFrame = truncated;
    if (kind !== 'image' || truncated) continue;
    // The image descriptor holds position, size and flags.
    frames += 1;
    delays.push(delayMs);
    delayMs = 0;
    progressive ||= (bytes.u8(at + 9) & INTERLACED) !== 0;
    if (frames > 1) continue;
    right = bytes.u16(at + 1, true) + bytes.u16(at + 5, true);
    bottom = bytes.u16(at + 3, true) + bytes.u16(at + 7, true);
  }
  if (frames === 0) return null;
  const screen = trustedScreen(bytes.u16(SCREEN_AT, true), bytes.u16(SCREEN_AT + 2, true));
  return imageHeaderOf({
    format: 'gif',
    width: Math.max(screen.width, right),
    height: Math.max(screen.height, bottom),
    frames,
    channels: hasAlpha ? 4 : 3,
    hasAlpha,
    progressive,
    animated: frames > 1,
    ...(frames > 1 && { delays }),
    // The decoder would take the incomplete frame as complete.
    ...(endsInFrame && { unread: 'The image ends inside a frame; send the whole file.' }),
  });
}

function trustedScreen(width: number, height: number): { width: number; height: number } {
  const isBroken =
    width === 0 ||
    height === 0 ||
    Math.max(width, height) > MAX_TRUSTED_SIDE ||
    BROKEN_SCREENS.includes(`${width}x${height}`);
  return isBroken ? { width: 1, height: 1 } : { width, height };
}

function isGraphicControl(block: GifBlock): boolean {
  return block.kind === 'extension' && block.label === GRAPHIC_CONTROL;
}

/** The delay in a graphic control; 0 when the block ends before it. */
function readDelayMs(bytes: ByteReader, { start, end }: GifBlock): number {
  const at = start + DELAY_AT;
  return at + 2 <= Math.min(end, bytes.length) ? bytes.u16(at, true) * 10 : 0;
}

function isTransparent(bytes: ByteReader, block: GifBlock): boolean {
  return (
    isGraphicControl(block) && block.start + 2 <= block.end && (bytes.u8(block.start + 1) & TRANSPARENT) !== 0
  );
}
