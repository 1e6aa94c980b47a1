import { ByteReader } from '../../formats/bytes.ts';
import { type PngChunk, pngChunks } from '../../formats/png.ts';

/** Types of chunks that hold the pixels of a PNG. */
const PIXEL_CHUNKS: readonly string[] = ['IHDR', 'PLTE', 'tRNS', 'IDAT'];
/** Types of chunks of a written PNG whose content does not depend on how its pixels are stored. */
const INDEPENDENT_CHUNKS: readonly string[] = [
  'iCCP',
  'sRGB',
  'gAMA',
  'cHRM',
  'pHYs',
  'eXIf',
  'iTXt',
  'tEXt',
  'zTXt',
  'IEND',
];
const PROFILE = 'iCCP';

/**
 * Replaces the compressed pixels of a written PNG by those of the original if they take fewer bytes. Both files must
 * show the same picture. The metadata and profile of the written PNG stay.
 * @param original a PNG of the same pixels.
 * @param keepsColours whether the pixel values were kept in the original's own profile.
 */
export function withSmallerPngPixels(
  written: Uint8Array<ArrayBuffer>,
  original: Uint8Array,
  keepsColours: boolean,
): Uint8Array<ArrayBuffer> {
  const ours = [...pngChunks(new ByteReader(written))];
  const theirs = [...pngChunks(new ByteReader(original))];
  const isConverted = !keepsColours && theirs.some(({ type }) => type === PROFILE);
  const isKnown = ours.every(({ type }) => PIXEL_CHUNKS.includes(type) || INDEPENDENT_CHUNKS.includes(type));
  if (isConverted || !isKnown || pixelBytes(theirs) >= pixelBytes(ours)) return written;
  const head = ours[0] as PngChunk;
  const pixels = theirs
    .filter(({ type }) => PIXEL_CHUNKS.includes(type))
    .map(({ at, next }) => original.subarray(at, next));
  const apart = ours.filter(({ type }) => INDEPENDENT_CHUNKS.includes(type));
  const partOf = ({ at, next }: PngChunk) => written.subarray(at, next);
  return Buffer.concat([
    written.subarray(0, head.at),
    pixels[0] ?? new Uint8Array(),
    ...apart.filter(({ type }) => type !== 'IEND').map(partOf),
    ...pixels.slice(1),
    ...apart.filter(({ type }) => type === 'IEND').map(partOf),
  ]);
}

function pixelBytes(chunks: readonly PngChunk[]): number {
  return chunks
    .filter(({ type }) => PIXEL_CHUNKS.includes(type))
    .reduce((sum, { at, next }) => sum + next - at, 0);
}
