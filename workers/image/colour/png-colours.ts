import { deflateSync } from 'node:zlib';
import { ByteReader } from '../../formats/bytes.ts';
import { buildPngChunk, replacePngChunks } from '../../formats/png.ts';
import { PNG_COLOUR_CHUNK_TYPES, type PngColours, readPngColours } from '../../formats/png-colours.ts';
import { convertToPng } from './as-png.ts';
import { buildIccProfile } from './icc-profile.ts';
import { coloursOfCodePoints, coloursOfGamma, type DeclaredColourSpace } from './named-colours.ts';

const NOTHING = new Uint8Array();

/** A file with colours that libvips reads correctly. */
export interface ColouredFile {
  input: Uint8Array<ArrayBuffer>;
  /** Whether the profile describes colours brighter than white, so that the result must not keep it. */
  isHdr: boolean;
}

/**
 * Gives a PNG an equivalent ICC profile if it defines its colours otherwise, because libvips reads only profiles and
 * takes all other colours for sRGB. A PNG of sRGB, and a PNG whose profile counts, is returned unchanged.
 */
export async function withPngProfile(input: Uint8Array<ArrayBuffer>): Promise<ColouredFile> {
  const png = readPngColours(new ByteReader(input));
  const colours = png && coloursOf(png);
  if (png === undefined || colours === undefined) return { input, isHdr: false };
  if (colours === 'srgb')
    return { input: png.hasProfile ? withColourChunk(input, NOTHING) : input, isHdr: false };
  // sharp ignores the profile of 16-bit grey, which is therefore written as RGB.
  const isGrey = png.isGrey && png.bitDepth <= 8;
  const file = png.isGrey && !isGrey ? await convertToPng(input) : input;
  return {
    input: withNamedColourProfile(file, colours, isGrey ? 'grey' : 'rgb'),
    isHdr: colours.isHdr,
  };
}

/**
 * The colours of a PNG by the first of these chunks: cICP, iCCP, sRGB, gAMA with cHRM. Undefined if the profile counts.
 */
function coloursOf({
  codePoints,
  hasProfile,
  isSrgb,
  ...gamma
}: PngColours): DeclaredColourSpace | 'srgb' | undefined {
  const named = codePoints && coloursOfCodePoints(codePoints);
  if (named !== undefined) return named;
  if (hasProfile) return undefined;
  return isSrgb ? 'srgb' : coloursOfGamma(gamma);
}

/** A PNG with a profile of these colours. */
export function withNamedColourProfile(
  png: Uint8Array<ArrayBuffer>,
  colours: DeclaredColourSpace,
  space: 'rgb' | 'grey',
): Uint8Array<ArrayBuffer> {
  const profile = deflateSync(buildIccProfile(colours, space));
  const content = Buffer.concat([Buffer.from('named colours\0\0', 'latin1'), profile]);
  return withColourChunk(png, buildPngChunk('iCCP', content));
}

/** A PNG with this chunk instead of all chunks that define its colours. */
function withColourChunk(png: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return replacePngChunks(png, ({ type, at, next }, file) => {
    if (type === 'IHDR') return Buffer.concat([file.subarray(at, next), chunk]);
    return PNG_COLOUR_CHUNK_TYPES.includes(type) ? NOTHING : undefined;
  });
}
