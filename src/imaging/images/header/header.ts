import { ByteReader } from '../../../../workers/formats/bytes.ts';
import { readAvifHeader } from './avif.ts';
import type { ImageHeader } from './facts.ts';
import { readGifHeader } from './gif.ts';
import { readJpegHeader } from './jpeg.ts';
import { readPngHeader } from './png.ts';
import { readSvgHeader } from './svg.ts';
import { readTiffHeader } from './tiff.ts';
import { readWebpHeader } from './webp.ts';

export type { ImageHeader };

/**
 * The readers of each format. A reader returns null for a file of another format. It may read past the end of the file,
 * which ends the reading.
 */
const READERS: readonly ((bytes: ByteReader) => ImageHeader | null)[] = [
  readJpegHeader,
  readPngHeader,
  readWebpHeader,
  readGifHeader,
  readAvifHeader,
  readTiffHeader,
  readSvgHeader,
];

/**
 * The header of an image file, or null for a file of no known format. It never throws, and costs at most one walk over
 * the file's blocks.
 */
export function readImageHeader(file: Uint8Array): ImageHeader | null {
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

function isPlausible(header: ImageHeader): boolean {
  if (header.format === 'svg') return true;
  return header.width > 0 && header.height > 0 && header.frames > 0;
}
