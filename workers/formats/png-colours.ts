import type { ByteReader } from './bytes.ts';
import type { ColourCodePoints } from './code-points.ts';
import { pngChunks } from './png.ts';

/** The meaning of a PNG's colours (third edition, section 11.3.2), given by chunks before its palette and pixels. */

/** A chromaticity of CIE 1931. */
export type Chromaticity = readonly [x: number, y: number];

export interface PngColours {
  bitDepth: number;
  isGrey: boolean;
  /** What the file says, of each kind the first. */
  codePoints?: ColourCodePoints;
  hasProfile: boolean;
  isSrgb: boolean;
  /** The exponent from light to value, such as 0.45455. */
  gamma?: number;
  chromaticities?: { white: Chromaticity; red: Chromaticity; green: Chromaticity; blue: Chromaticity };
}

/** Types of chunks that give the meaning of colours. */
export const PNG_COLOUR_CHUNK_TYPES: readonly string[] = ['cICP', 'iCCP', 'sRGB', 'gAMA', 'cHRM'];
/** Chunks store a number as an integer: the number times this unit. */
const UNIT = 100_000;
const GREYS: readonly number[] = [0, 4];
/** The length of each chunk. Decoders ignore a chunk of another length. */
const CHUNK_BYTES = { cICP: 4, sRGB: 1, gAMA: 4, cHRM: 32 };

/**
 * Reads how a PNG defines its colours; undefined for any other file. A chunk whose length is wrong for its type is
 * ignored.
 */
export function readPngColours(bytes: ByteReader): PngColours | undefined {
  let colours: PngColours | undefined;
  for (const { type, start, end } of pngChunks(bytes)) {
    const is = (one: keyof typeof CHUNK_BYTES) => type === one && end - start === CHUNK_BYTES[one];
    if (colours === undefined) {
      if (type !== 'IHDR') return undefined;
      const isGrey = GREYS.includes(bytes.u8(start + 9));
      colours = { bitDepth: bytes.u8(start + 8), isGrey, hasProfile: false, isSrgb: false };
    }
    if (type === 'PLTE' || type === 'IDAT') break;
    if (type === 'iCCP') colours.hasProfile = true;
    if (is('sRGB')) colours.isSrgb = true;
    if (is('cICP')) colours.codePoints ??= { primaries: bytes.u8(start), transfer: bytes.u8(start + 1) };
    if (is('gAMA')) colours.gamma ??= bytes.u32(start) / UNIT;
    if (is('cHRM')) colours.chromaticities ??= pointsAt(bytes, start);
  }
  return colours;
}

function pointsAt(bytes: ByteReader, start: number): NonNullable<PngColours['chromaticities']> {
  const pointAt = (index: number): Chromaticity => [
    bytes.u32(start + 8 * index) / UNIT,
    bytes.u32(start + 8 * index + 4) / UNIT,
  ];
  return { white: pointAt(0), red: pointAt(1), green: pointAt(2), blue: pointAt(3) };
}
