import { deflateSync } from 'node:zlib';
import { Bytes } from '../../formats/bytes.ts';
import { pngChunk, withChunks } from '../../formats/png.ts';
import { COLOUR_CHUNKS, type PngColours, pngColours } from '../../formats/png-colours.ts';
import { asPng } from './as-png.ts';
import { profileFor } from './icc-profile.ts';
import { coloursOfCodePoints, coloursOfGamma, type NamedColours } from './named-colours.ts';

const NOTHING = new Uint8Array();

/** A file with colours that libvips reads correctly. */
export interface ColouredFile {
  input: Uint8Array<ArrayBuffer>;
  /** Whether its profile describes colours brighter than white, and so is not right for the result. */
  isHdr: boolean;
}

/**
 * Gives a PNG that names its colours in another way an equivalent ICC profile, because libvips reads only profiles and
 * takes all other colours for sRGB. A PNG of sRGB, and one whose profile counts, is returned unchanged.
 */
export async function withPngProfile(input: Uint8Array<ArrayBuffer>): Promise<ColouredFile> {
  const png = pngColours(new Bytes(input));
  const colours = png && coloursOf(png);
  if (png === undefined || colours === undefined) return { input, isHdr: false };
  if (colours === 'srgb')
    return { input: png.hasProfile ? withColourChunk(input, NOTHING) : input, isHdr: false };
  // sharp ignores the profile of 16 bits of grey, which are therefore written as RGB.
  const isGrey = png.isGrey && png.bitDepth <= 8;
  const file = png.isGrey && !isGrey ? await asPng(input) : input;
  return {
    input: withNamedProfile(file, colours, isGrey ? 'grey' : 'rgb'),
    isHdr: colours.isHdr,
  };
}

/** The colours of a PNG by the first of cICP, iCCP, sRGB, and gAMA with cHRM; undefined if its profile counts. */
function coloursOf({
  codePoints,
  hasProfile,
  isSrgb,
  ...gamma
}: PngColours): NamedColours | 'srgb' | undefined {
  const named = codePoints && coloursOfCodePoints(codePoints);
  if (named !== undefined) return named;
  if (hasProfile) return undefined;
  return isSrgb ? 'srgb' : coloursOfGamma(gamma);
}

/** A PNG with a profile of these colours. */
export function withNamedProfile(
  png: Uint8Array<ArrayBuffer>,
  colours: NamedColours,
  space: 'rgb' | 'grey',
): Uint8Array<ArrayBuffer> {
  const profile = deflateSync(profileFor(colours, space));
  const content = Buffer.concat([Buffer.from('named colours\0\0', 'latin1'), profile]);
  return withColourChunk(png, pngChunk('iCCP', content));
}

/** A PNG with this chunk in place of all that give the meaning of its colours. */
function withColourChunk(png: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return withChunks(png, ({ type, at, next }, file) => {
    if (type === 'IHDR') return Buffer.concat([file.subarray(at, next), chunk]);
    return COLOUR_CHUNKS.includes(type) ? NOTHING : undefined;
  });
}
