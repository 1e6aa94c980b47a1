import { Bytes } from '../../../../workers/formats/bytes.ts';
import { readAvif } from './avif.ts';
import type { Header } from './facts.ts';
import { readGif } from './gif.ts';
import { readJpeg } from './jpeg.ts';
import { readPng } from './png.ts';
import { readSvg } from './svg.ts';
import { readTiff } from './tiff.ts';
import { readWebp } from './webp.ts';

export type { Header };

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
 * The header of an image file, or null when the bytes are not of a known format. Never throws; costs at most one walk
 * over the file's blocks.
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
