import { readAvif } from './avif.ts';
import { Bytes } from './bytes.ts';
import { readGif } from './gif.ts';
import { readJpeg } from './jpeg.ts';
import { readPng } from './png.ts';
import { readSvg } from './svg.ts';
import { readTiff } from './tiff.ts';
import { readWebp } from './webp.ts';

/** What a file says about itself, read without decoding a pixel. */
export interface Header {
  format: 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'heif' | 'tiff' | 'svg';
  mimeType: string;
  /** As stored, of the canvas or of the first page. 0 when a drawing does not say. */
  width: number;
  height: number;
  /** Frames of an animation or pages of a document. */
  frames: number;
  /** Pixels of all frames together. */
  pixels: number;
  /** EXIF value, 1 to 8; 1 when absent. */
  orientation: number;
  bitDepth: number;
  channels: number;
  hasAlpha: boolean;
  /** Interlaced or progressive: a decoder needs the whole picture before it has the first line of it. */
  progressive: boolean;
  animated: boolean;
  /** The file ends inside of a frame, which its decoder takes for all of it. */
  cutShort?: true;
}

/** A reader answers null for a file that is not of its format; it may read past the end, which ends the reading. */
const READERS: readonly ((bytes: Bytes) => Header | null)[] = [
  readJpeg,
  readPng,
  readWebp,
  readGif,
  readAvif,
  readTiff,
  readSvg,
];

/**
 * The header of an image file, or null when the bytes are none that the service knows. Never throws; costs at most one
 * walk over the file's blocks.
 */
export function readHeader(file: Uint8Array): Header | null {
  const bytes = new Bytes(file);
  for (const read of READERS) {
    try {
      const header = read(bytes);
      if (header !== null) return isPlausible(header) ? header : null;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return null;
}

function isPlausible(header: Header): boolean {
  if (header.format === 'svg') return true;
  return header.width > 0 && header.height > 0 && header.frames > 0;
}
