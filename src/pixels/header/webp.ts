import type { Bytes } from './bytes.ts';
import { exifOrientation } from './exif.ts';
import type { Header } from './facts.ts';

const ALPHA_FLAG = 0x10;
const ANIMATION_FLAG = 0x02;

interface Canvas {
  width: number;
  height: number;
  hasAlpha: boolean;
  animated: boolean;
}

/** The first chunk has the canvas; in the extended form the frames and EXIF are chunks behind it. */
export function readWebp(bytes: Bytes): Header | null {
  if (bytes.text(0, 4) !== 'RIFF' || bytes.text(8, 4) !== 'WEBP') return null;
  const canvas = readCanvas(bytes);
  if (canvas === null) return null;
  const { orientation, frames } = readChunks(bytes);
  const frameCount = canvas.animated ? frames : 1;
  return {
    format: 'webp',
    mimeType: 'image/webp',
    ...canvas,
    frames: frameCount,
    pixels: canvas.width * canvas.height * frameCount,
    orientation,
    bitDepth: 8,
    channels: canvas.hasAlpha ? 4 : 3,
    progressive: false,
  };
}

function readCanvas(bytes: Bytes): Canvas | null {
  const data = 20;
  switch (bytes.text(12, 4)) {
    case 'VP8 ': {
      if (bytes.u24(data + 3) !== 0x9d012a) return null;
      const [width, height] = [bytes.u16(data + 6, true) & 0x3fff, bytes.u16(data + 8, true) & 0x3fff];
      return { width, height, hasAlpha: false, animated: false };
    }
    case 'VP8L': {
      if (bytes.u8(data) !== 0x2f) return null;
      const bits = bytes.u32(data + 1, true);
      const [width, height] = [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
      return { width, height, hasAlpha: ((bits >>> 28) & 1) === 1, animated: false };
    }
    case 'VP8X': {
      const flags = bytes.u8(data);
      const [width, height] = [bytes.u24(data + 4, true) + 1, bytes.u24(data + 7, true) + 1];
      return {
        width,
        height,
        hasAlpha: (flags & ALPHA_FLAG) !== 0,
        animated: (flags & ANIMATION_FLAG) !== 0,
      };
    }
    default:
      return null;
  }
}

function readChunks(bytes: Bytes): { orientation: number; frames: number } {
  let orientation = 1;
  let frames = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    bytes.step();
    const type = bytes.text(at, 4);
    const size = bytes.u32(at + 4, true);
    if (type === 'ANMF') frames += 1;
    if (type === 'EXIF') orientation = exifOrientation(bytes.from(at + 8, at + 8 + size));
    at += 8 + size + (size % 2);
  }
  return { orientation, frames };
}
