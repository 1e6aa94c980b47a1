import { ByteReader } from '../../../../workers/formats/bytes.ts';
import { readAvif } from './avif.ts';
import type { Header } from './facts.ts';
import { readGif } from './gif.ts';
import { readJpeg } from './jpeg.ts';
import { readPng } from './png.ts';
import { readSvg } from './svg.ts';
import { readTiff } from './tiff.ts';
import { readWebp } from './webp.ts';

export type { Header };

/**
 * The readers of each format. A reader returns null for a file of another format. It may read past the end of the file,
 * which ends the reading.
 */
const READERS: readonly ((bytes: ByteReader) => Header | null)[] = [
  readJpeg,
  readPng,
  readWebp,
  readGif,
  readAvif,
  readTiff,
  readSvg,
];

/**
 * The header of an image file, or null for a file of no known format. It never throws, and costs at most one walk over
 * the file's blocks.
 */
export function readHeader(file: Uint8Array): Header | null {
  const bytes = new ByteReader(file);
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
