import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import { type PngChunk, pngChunks } from '../../../../workers/formats/png.ts';
import { type ImageHeader, imageHeaderOf, readExifOrientation } from './facts.ts';

/** Channels by colour type; a palette decodes to three. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 3, 4: 2, 6: 4 };
const PALETTE = 3;

/**
 * Reads the header of a PNG: IHDR comes first, transparency and EXIF are later chunks. An animated PNG is read as its
 * still picture.
 */
export function readPngHeader(bytes: ByteReader): ImageHeader | null {
  const [head, ...others] = pngChunks(bytes);
  if (head?.type !== 'IHDR') return null;
  const { start } = head;
  const [bitDepth, colourType] = [bytes.u8(start + 8), bytes.u8(start + 9)];
  const channels = CHANNELS[colourType];
  if (channels === undefined) return null;
  const isPalette = colourType === PALETTE;
  const { orientation, isKeyed } = readAncillaryChunks(bytes, others);
  return imageHeaderOf({
    format: 'png',
    width: bytes.u32(start),
    height: bytes.u32(start + 4),
    orientation,
    bitDepth: isPalette ? 8 : bitDepth,
    channels: isKeyed ? channels + 1 : channels,
    hasAlpha: colourType === 4 || colourType === 6 || isKeyed,
    progressive: bytes.u8(start + 12) === 1,
    ...((isPalette || bitDepth < 8) && { indexed: true }),
  });
}

function readAncillaryChunks(bytes: ByteReader, chunks: readonly PngChunk[]) {
  let orientation: number | undefined;
  let isKeyed = false;
  for (const { type, start, end } of chunks) {
    if (type === 'tRNS') isKeyed = true;
    // The first block of several counts, as in workers/image/metadata/png-order.ts.
    if (type === 'eXIf') orientation ??= readExifOrientation(bytes.slice(start, end));
  }
  return { orientation: orientation ?? 1, isKeyed };
}
