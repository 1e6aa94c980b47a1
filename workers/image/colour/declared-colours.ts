import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { readAvifColours } from '../../formats/heif.ts';
import {
  buildPngChunk,
  PNG_COLOUR_CHUNK_TYPES,
  type PngColours,
  readPngColours,
  replacePngChunks,
} from '../../formats/png.ts';
import { MAX_PIXELS } from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { type DeepPixels, type Pixels, readDeepPixels, readPixels } from '../pixels/pixels.ts';
import { greyProfileCurve } from './grey-profile.ts';
import { buildIccProfile } from './icc-profile.ts';
import {
  colourSpaceOfCodePoints,
  coloursOfGamma,
  type DeclaredColourSpace,
  SRGB_PRIMARIES,
} from './named-colours.ts';

const NO_BYTES = new Uint8Array();

/** A file with colours that libvips reads correctly. */
export interface ColouredFile {
  input: Uint8Array<ArrayBuffer>;
  /** Whether the profile describes colours brighter than white, so that the result must not keep it. */
  isHdr: boolean;
}

/**
 * Gives a PNG an equivalent ICC profile if it defines its colours in another way, because libvips reads only profiles
 * and takes all other colours for sRGB. A PNG of sRGB is returned unchanged, and so is a PNG whose own profile takes
 * precedence.
 */
export async function withDeclaredPngColours(input: Uint8Array<ArrayBuffer>): Promise<ColouredFile> {
  const png = readPngColours(new ByteReader(input));
  const colours = png && (declaredColoursOf(png) ?? deepGreyColoursOf(png));
  if (png === undefined || colours === undefined) return { input, isHdr: false };
  if (colours === 'srgb')
    return { input: png.profile ? withColourChunk(input, NO_BYTES) : input, isHdr: false };
  // sharp ignores the profile of 16-bit grey, which is therefore written as RGB.
  const isGrey = png.isGrey && png.bitDepth <= 8;
  const file = png.isGrey && !isGrey ? await convertToPng(input) : input;
  return { input: withNamedColourProfile(file, colours, isGrey ? 'grey' : 'rgb'), isHdr: colours.isHdr };
}

/** The colours of a 16-bit grey picture with a profile. This is needed because sharp ignores such a profile. */
function deepGreyColoursOf({ isGrey, bitDepth, profile }: PngColours): DeclaredColourSpace | undefined {
  const curve = isGrey && bitDepth === 16 && profile ? greyProfileCurve(profile()) : undefined;
  return curve && { ...SRGB_PRIMARIES, name: 'Grey', curve, isHdr: false };
}

/**
 * The colours that a PNG declares. Of its chunks, the first in this order counts: cICP, iCCP, sRGB, gAMA with cHRM.
 * Undefined if the profile takes precedence.
 */
function declaredColoursOf(colours: PngColours): DeclaredColourSpace | 'srgb' | undefined {
  const { codePoints, profile, isSrgb, ...gamma } = colours;
  const named = codePoints && colourSpaceOfCodePoints(codePoints);
  if (named !== undefined) return named;
  if (profile !== undefined) return undefined;
  return isSrgb ? 'srgb' : coloursOfGamma(gamma);
}

/** A copy of a PNG with an ICC profile of these colours. */
function withNamedColourProfile(
  png: Uint8Array<ArrayBuffer>,
  colours: DeclaredColourSpace,
  space: 'rgb' | 'grey',
): Uint8Array<ArrayBuffer> {
  const profile = deflateSync(buildIccProfile(colours, space));
  const content = Buffer.concat([Buffer.from('named colours\0\0', 'latin1'), profile]);
  return withColourChunk(png, buildPngChunk('iCCP', content));
}

/** A copy of a PNG in which one chunk replaces all chunks that define its colours. */
function withColourChunk(png: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return replacePngChunks(png, ({ type, at, next }, file) => {
    if (type === 'IHDR') return Buffer.concat([file.subarray(at, next), chunk]);
    return PNG_COLOUR_CHUNK_TYPES.includes(type) ? NO_BYTES : undefined;
  });
}

/**
 * Converts an AVIF to a PNG if libvips would misread its colours: it takes code points for sRGB, and premultiplied
 * colours for plain ones. Any other AVIF is returned unchanged.
 * @param pictures number of pictures in the file. A file with several is not converted, because the picture is chosen
 *   later.
 */
export async function withReadableAvifColours(
  input: Uint8Array<ArrayBuffer>,
  pictures: number,
): Promise<ColouredFile & { formerFormat?: 'avif' }> {
  const avif = pictures === 1 ? readAvifColours(new ByteReader(input)) : undefined;
  const colours = avif?.codePoints && colourSpaceOfCodePoints(avif.codePoints);
  const named = colours === 'srgb' ? undefined : colours;
  if (named === undefined && !avif?.isPremultiplied) return { input, isHdr: false };
  const png = await convertToPng(input, avif?.isPremultiplied);
  const coloured = named === undefined ? png : withNamedColourProfile(png, named, 'rgb');
  return { input: coloured, isHdr: named?.isHdr ?? false, formerFormat: 'avif' };
}

/**
 * Converts a picture to a PNG with all its bits and its metadata. Its colours are not converted. The compression is
 * low, because the PNG is decoded at once.
 * @param isPremultiplied whether the colours are multiplied by alpha. The result has plain colours.
 */
async function convertToPng(
  file: Uint8Array<ArrayBuffer>,
  isPremultiplied = false,
): Promise<Uint8Array<ArrayBuffer>> {
  const open = () => sharp(file, { failOn: 'error', limitInputPixels: MAX_PIXELS, ignoreIcc: true });
  const isDeep = (await open().metadata()).depth !== 'uchar';
  const space = isDeep ? 'rgb16' : 'srgb';
  const pipeline = open().keepMetadata();
  if (isPremultiplied) {
    const pixels = isDeep ? await readDeepPixels(open()) : await readPixels(open());
    unpremultiplyAlpha(pixels);
    const { data, width, height, channels } = pixels;
    // sharp cannot attach metadata to raw pixels, so the pixels are laid over those of the file. sharp accepts any
    // typed array here, although its types allow only buffers.
    const input = data as Uint8Array as Buffer;
    pipeline.pipelineColourspace(space);
    pipeline.composite([{ input, raw: { width, height, channels }, blend: 'source', left: 0, top: 0 }]);
  }
  return (await encodeOutput(pipeline.toColourspace(space).png({ compressionLevel: 1 }))).data;
}

/**
 * Divides the colours of pixels by their alpha, in place; pixels without alpha stay. Colours with an alpha of 0 become
 * black.
 */
export function unpremultiplyAlpha({
  data,
  channels,
}: Pick<Pixels | DeepPixels, 'data'> & { channels: number }): void {
  if (channels !== 2 && channels !== 4) return;
  const most = 256 ** data.BYTES_PER_ELEMENT - 1;
  for (let at = 0; at < data.length; at += channels) {
    const alphaAt = at + channels - 1;
    const alpha = data[alphaAt] as number;
    if (alpha === most) continue;
    const factor = alpha === 0 ? 0 : most / alpha;
    for (let channel = at; channel < alphaAt; channel++)
      data[channel] = Math.min(most, Math.round((data[channel] as number) * factor));
  }
}
