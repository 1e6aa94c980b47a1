import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import { type RiffChunk, webpChunks } from '../../../../workers/formats/riff.ts';
import { type ImageHeader, imageHeaderOf, readExifOrientation } from './facts.ts';

const ALPHA_FLAG = 0x10;
const ANIMATION_FLAG = 0x02;
const EXIF_FLAG = 0x08;
/** Offset of the display time, which is in milliseconds, in the chunk of a frame. */
const DURATION_AT = 12;

interface Canvas {
  width: number;
  height: number;
  hasAlpha: boolean;
  animated: boolean;
  hasExif: boolean;
}

/**
 * Reads the header of a WebP. The first chunk has the canvas. In the extended form, frames and EXIF are later chunks.
 */
export function readWebpHeader(bytes: ByteReader): ImageHeader | null {
  const chunks = [...webpChunks(bytes)];
  const canvas = readCanvas(bytes, chunks[0]);
  if (canvas === null) return null;
  const pictures = canvas.animated ? chunks.filter(({ type }) => type === 'ANMF') : [];
  const { hasExif, ...facts } = canvas;
  // The decoder reads the first block of several, and none without the flag.
  const exif = hasExif ? chunks.find(({ type }) => type === 'EXIF') : undefined;
  return imageHeaderOf({
    format: 'webp',
    ...facts,
    frames: canvas.animated ? pictures.length : 1,
    ...(pictures.length > 1 && { delays: pictures.map((picture) => durationMs(bytes, picture)) }),
    orientation: exif === undefined ? 1 : readExifOrientation(bytes.slice(exif.start, exif.end)),
    channels: canvas.hasAlpha ? 4 : 3,
  });
}

/** Display time of a frame; 0 when its chunk ends before it. */
function durationMs(bytes: ByteReader, { start, end }: RiffChunk): number {
  const at = start + DURATION_AT;
  return at + 3 <= Math.min(end, bytes.length) ? bytes.u24(at, true) : 0;
}

function readCanvas(bytes: ByteReader, chunk: RiffChunk | undefined): Canvas | null {
  if (chunk === undefined) return null;
  const { type, start: data } = chunk;
  switch (type) {
    case 'VP8 ': {
      if (bytes.u24(data + 3) !== 0x9d012a) return null;
      const [width, height] = [bytes.u16(data + 6, true) & 0x3fff, bytes.u16(data + 8, true) & 0x3fff];
      return { width, height, hasAlpha: false, animated: false, hasExif: false };
    }
    case 'VP8L': {
      if (bytes.u8(data) !== 0x2f) return null;
      const bits = bytes.u32(data + 1, true);
      const [width, height] = [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
      return { width, height, hasAlpha: ((bits >>> 28) & 1) === 1, animated: false, hasExif: false };
    }
    case 'VP8X': {
      const flags = bytes.u8(data);
      const [width, height] = [bytes.u24(data + 4, true) + 1, bytes.u24(data + 7, true) + 1];
      return {
        width,
        height,
        hasAlpha: (flags & ALPHA_FLAG) !== 0,
        animated: (flags & ANIMATION_FLAG) !== 0,
        hasExif: (flags & EXIF_FLAG) !== 0,
      };
    }
    default:
      return null;
  }
}
