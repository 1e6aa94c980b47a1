import { crc32, inflateSync } from 'node:zlib';
import { ByteReader } from './bytes.ts';
import type { ColourCodePoints } from './heif.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/** PNG (W3C, third edition), section 5: a signature, then chunks of length, type, content and checksum. */

const PNG_SIGNATURE = '\x89PNG\r\n\x1a\n';
/** The number of bytes of a chunk's head: its length and its type. */
const CHUNK_HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;

export interface PngChunk extends ContainerPart {
  /** Four characters, such as `IDAT`. */
  type: string;
}

/**
 * The chunks of a PNG up to IEND, where every decoder stops; none for a file that is not a PNG. Checksums are not
 * verified.
 */
export function pngChunks(bytes: ByteReader): Iterable<PngChunk> {
  if (bytes.text(0, PNG_SIGNATURE.length) !== PNG_SIGNATURE) return [];
  return partsBetween(
    PNG_SIGNATURE.length,
    bytes.length,
    (at) => readChunkAt(bytes, at),
    ({ type }) => type === 'IEND',
  );
}

function readChunkAt(bytes: ByteReader, at: number): PngChunk | undefined {
  const start = at + CHUNK_HEAD_BYTES;
  if (start > bytes.length) return undefined;
  const end = start + bytes.u32(at);
  const type = bytes.fourCharacters(at + 4);
  return { type, at, start, end, next: end + CHECKSUM_BYTES, truncated: false };
}

/** Builds a chunk with its length and checksum. */
export function buildPngChunk(type: string, content: Uint8Array): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), content, Buffer.alloc(4)]);
  chunk.writeUInt32BE(content.byteLength, 0);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -CHECKSUM_BYTES)), chunk.byteLength - CHECKSUM_BYTES);
  return chunk;
}

/**
 * A copy of a PNG with some chunks replaced; the same bytes if none is replaced, or if the file is not a PNG.
 * @param replacement returns the bytes to write instead of a chunk; undefined keeps the chunk.
 */
export function replacePngChunks(
  input: Uint8Array<ArrayBuffer>,
  replacement: (chunk: PngChunk, png: Buffer) => Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const pieces: Uint8Array[] = [];
  let keptFrom = 0;
  for (const chunk of pngChunks(new ByteReader(png))) {
    const piece = replacement(chunk, png);
    if (piece === undefined) continue;
    pieces.push(png.subarray(keptFrom, chunk.at), piece);
    keptFrom = chunk.next;
  }
  return keptFrom === 0 ? input : Buffer.concat([...pieces, png.subarray(keptFrom)]);
}

/** The content of a deflate stream; undefined if it is incomplete or longer than the limit. */
export function inflateWithLimit(packed: Uint8Array, limitBytes: number): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: Math.max(limitBytes, 1) });
  } catch {
    return undefined;
  }
}

/**
 * The meaning of the colours of a PNG (third edition, section 11.3.2) is given by chunks before its palette and pixels.
 */

/** A colour without its brightness, as CIE 1931 coordinates. */
export type Chromaticity = readonly [x: number, y: number];

export interface PngColours {
  bitDepth: number;
  isGrey: boolean;
  /** The code points that the file gives. If there are several, the first are used. */
  codePoints?: ColourCodePoints;
  /** Inflates the ICC profile; absent if there is none. */
  profile?: () => Buffer | undefined;
  isSrgb: boolean;
  /** The exponent that converts light to a stored value, such as 0.45455. */
  gamma?: number;
  chromaticities?: { white: Chromaticity; red: Chromaticity; green: Chromaticity; blue: Chromaticity };
}

/** Types of chunks that give the meaning of colours. */
export const PNG_COLOUR_CHUNK_TYPES: readonly string[] = ['cICP', 'iCCP', 'sRGB', 'gAMA', 'cHRM'];
/** gAMA and cHRM chunks store each of their numbers as an integer, multiplied by this factor. */
const STORED_NUMBER_SCALE = 100_000;
/** The longest profile that is inflated. */
const MAX_PROFILE_BYTES = 1024 * 1024;
const GREY_COLOUR_TYPES: readonly number[] = [0, 4];
/** The length of each chunk. Decoders ignore a chunk of another length. */
const COLOUR_CHUNK_BYTES = { cICP: 4, sRGB: 1, gAMA: 4, cHRM: 32 };

/**
 * Reads how a PNG defines its colours; undefined for any other file. A chunk whose length is wrong for its type is
 * ignored.
 */
export function readPngColours(bytes: ByteReader): PngColours | undefined {
  let colours: PngColours | undefined;
  for (const { type, start, end } of pngChunks(bytes)) {
    const isValidChunk = (one: keyof typeof COLOUR_CHUNK_BYTES) =>
      type === one && end - start === COLOUR_CHUNK_BYTES[one];
    if (colours === undefined) {
      if (type !== 'IHDR') return undefined;
      const isGrey = GREY_COLOUR_TYPES.includes(bytes.u8(start + 9));
      colours = { bitDepth: bytes.u8(start + 8), isGrey, isSrgb: false };
    }
    if (type === 'PLTE' || type === 'IDAT') break;
    if (type === 'iCCP') colours.profile ??= () => inflateProfile(bytes.slice(start, end));
    if (isValidChunk('sRGB')) colours.isSrgb = true;
    if (isValidChunk('cICP'))
      colours.codePoints ??= { primaries: bytes.u8(start), transfer: bytes.u8(start + 1) };
    if (isValidChunk('gAMA')) colours.gamma ??= bytes.u32(start) / STORED_NUMBER_SCALE;
    if (isValidChunk('cHRM')) colours.chromaticities ??= readChromaticitiesAt(bytes, start);
  }
  return colours;
}

/**
 * Inflates the profile in the content of an iCCP chunk: a name, a zero, the method of compression, and the deflated
 * profile.
 */
function inflateProfile(content: Uint8Array): Buffer | undefined {
  return inflateWithLimit(content.subarray(content.indexOf(0) + 2), MAX_PROFILE_BYTES);
}

function readChromaticitiesAt(bytes: ByteReader, start: number): NonNullable<PngColours['chromaticities']> {
  const pointAt = (index: number): Chromaticity => [
    bytes.u32(start + 8 * index) / STORED_NUMBER_SCALE,
    bytes.u32(start + 8 * index + 4) / STORED_NUMBER_SCALE,
  ];
  return { white: pointAt(0), red: pointAt(1), green: pointAt(2), blue: pointAt(3) };
}
