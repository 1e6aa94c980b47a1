import { deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { type AvifColours, readAvifColours } from '../../formats/heif.ts';
import {
  buildPngChunk,
  PNG_COLOUR_CHUNK_TYPES,
  pngChunks,
  readPngColours,
  replacePngChunks,
} from '../../formats/png.ts';
import { MAX_PIXELS } from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { type DeepPixels, type Pixels, readDeepPixels, readPixels } from '../pixels/pixels.ts';
import { convertGreyToSrgb, greyProfileCurve } from './grey-profile.ts';
import { buildIccProfile } from './icc-profile.ts';
import { declaredPngColoursOf, type MisreadColours, misreadPngColoursOf } from './misread-colours.ts';
import { colourSpaceOfCodePoints, type DeclaredColourSpace, SRGB_PRIMARIES } from './named-colours.ts';
import { convertRgbToSrgb, readRgbProfile, rgbProfileOf } from './rgb-profile.ts';

const NO_BYTES = new Uint8Array();

/** A file with colours that libvips reads correctly. */
export interface ColouredFile {
  input: Uint8Array<ArrayBuffer>;
  /** Whether the profile describes colours brighter than white, so that the result must not keep it. */
  isHdr: boolean;
}

/**
 * Gives a PNG an equivalent ICC profile if it defines its colours in another way, because libvips reads only profiles
 * and takes all other colours for sRGB. A PNG that declares sRGB loses a profile that its declaration overrides. A grey
 * PNG, and one of 16 bits whose colours are not kept, gets the values of sRGB instead of a profile that sharp misreads.
 * If that profile is sRGB, the values stay. Any other PNG with a profile that takes precedence is returned unchanged.
 * @param keepsProfile whether the result may keep the colours of the file.
 */
export async function withDeclaredPngColours(
  input: Uint8Array<ArrayBuffer>,
  keepsProfile: boolean,
): Promise<ColouredFile> {
  const png = readPngColours(new ByteReader(input));
  const colours = png && declaredPngColoursOf(png, keepsProfile);
  if (png === undefined || colours === 'srgb')
    return { input: png?.profile ? withColourChunk(input, NO_BYTES) : input, isHdr: false };
  const isHdr = colours?.isHdr ?? false;
  const misread = misreadPngColoursOf(png, keepsProfile);
  if (misread !== undefined)
    return { input: withColourChunk(await convertToPng(input, misread), NO_BYTES), isHdr };
  return { input: colours === undefined ? input : withNamedColourProfile(input, colours), isHdr };
}

/** The colours of a grey profile for a picture in RGB; undefined for any other profile. */
function coloursOfGreyProfile(profile: Uint8Array | undefined): DeclaredColourSpace | undefined {
  const curve = greyProfileCurve(profile);
  return curve && { ...SRGB_PRIMARIES, name: 'Grey', curve, isHdr: false };
}

/** A copy of a PNG in RGB, with an ICC profile of the given colours. */
function withNamedColourProfile(
  png: Uint8Array<ArrayBuffer>,
  colours: DeclaredColourSpace,
): Uint8Array<ArrayBuffer> {
  const profile = deflateSync(buildIccProfile(colours));
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
 * Converts an AVIF to a PNG if libvips would misread its colours: libvips ignores code points and assumes sRGB, and it
 * takes premultiplied colours for straight ones. In a grey AVIF it also ignores a limited range and a grey profile. Any
 * other AVIF is returned unchanged.
 * @param pictures number of pictures in the file. A file with several is not converted, because the picture is chosen
 * later.
 */
export async function withReadableAvifColours(
  input: Uint8Array<ArrayBuffer>,
  pictures: number,
  keepsProfile: boolean,
): Promise<ColouredFile & { formerFormat?: 'avif' }> {
  const avif = pictures === 1 ? readAvifColours(new ByteReader(input)) : undefined;
  if (avif === undefined) return { input, isHdr: false };
  const { isGrey, isDeep, isPremultiplied, hasLimitedRange, profile } = avif;
  const colours = declaredAvifColoursOf(avif);
  const declared = colours === 'srgb' ? undefined : colours;
  const isHdr = declared?.isHdr ?? false;
  const isConvertible = isDeep && !isGrey && colours !== 'srgb' && (!keepsProfile || isHdr);
  const rgbProfile = isConvertible
    ? declared === undefined
      ? readRgbProfile(profile)
      : rgbProfileOf(declared)
    : undefined;
  const misread = { isPremultiplied, isLimited: isGrey && hasLimitedRange, rgbProfile };
  if (declared === undefined && rgbProfile === undefined && !isPremultiplied && !misread.isLimited)
    return { input, isHdr: false };
  const png = await convertToPng(input, misread);
  if (rgbProfile !== undefined) return { input: withColourChunk(png, NO_BYTES), isHdr, formerFormat: 'avif' };
  const coloured = declared === undefined ? png : withNamedColourProfile(png, declared);
  return { input: coloured, isHdr, formerFormat: 'avif' };
}

/** The colours that an AVIF declares and libvips ignores; undefined for any other AVIF. */
function declaredAvifColoursOf({ codePoints, profile, isGrey }: AvifColours) {
  if (profile !== undefined) return isGrey ? coloursOfGreyProfile(profile) : undefined;
  return codePoints && colourSpaceOfCodePoints(codePoints);
}

/** The encodings of pixel values that libvips ignores or misreads. */
interface MisreadValues extends MisreadColours {
  /** Whether the colours are multiplied by alpha. */
  isPremultiplied?: boolean;
  /** Whether black and white are stored as 16 and 235 (of 255). */
  isLimited?: boolean;
}

/**
 * Converts a picture to a PNG with all its bits and its metadata, without converting its colours to another space. The
 * PNG is not compressed, because it is decoded at once.
 * @param misread the encodings that libvips ignores or misreads. They are undone in the PNG.
 */
async function convertToPng(
  file: Uint8Array<ArrayBuffer>,
  { isPremultiplied, isLimited, greyCurve, rgbProfile }: MisreadValues,
): Promise<Uint8Array<ArrayBuffer>> {
  const open = () => sharp(file, { failOn: 'error', limitInputPixels: MAX_PIXELS, ignoreIcc: true });
  const { format, depth } = await open().metadata();
  const isDeep = depth !== 'uchar';
  const [space, greySpace] = isDeep ? (['rgb16', 'grey16'] as const) : (['srgb', 'b-w'] as const);
  const resultSpace = greyCurve === undefined ? space : greySpace;
  const pipeline = open().keepMetadata();
  if (isPremultiplied || isLimited || greyCurve !== undefined || rgbProfile !== undefined) {
    const pixels = isDeep ? await readDeepPixels(open()) : await readPixels(open());
    if (isLimited) expandLimitedRange(pixels);
    if (isPremultiplied) unpremultiplyAlpha(pixels);
    if (greyCurve !== undefined) convertGreyToSrgb(pixels, greyCurve);
    if (rgbProfile !== undefined) convertRgbToSrgb(pixels, rgbProfile);
    const { data, width, height, channels } = pixels;
    const raw = { width, height, channels };
    // sharp accepts any typed array here, although its types allow only buffers.
    const input = data as Uint8Array as Buffer;
    if (format === 'png') {
      const png = await encodeUncompressed(sharp(input, { raw, limitInputPixels: false }), resultSpace);
      return withMetadataChunks(png, file);
    }
    // sharp cannot attach metadata to raw pixels, so those of an AVIF are laid over those of the file.
    pipeline.pipelineColourspace(space);
    pipeline.composite([{ input, raw, blend: 'source', left: 0, top: 0 }]);
    // Laying pixels over others adds alpha.
    if (channels < 4) pipeline.removeAlpha();
  }
  return encodeUncompressed(pipeline, resultSpace);
}

async function encodeUncompressed(pipeline: Sharp, space: string): Promise<Uint8Array<ArrayBuffer>> {
  return (await encodeOutput(pipeline.toColourspace(space).png({ compressionLevel: 0 }))).data;
}

const METADATA_CHUNK_TYPES: readonly string[] = ['pHYs', 'eXIf', 'tEXt', 'zTXt', 'iTXt'];

/** A copy of a PNG with the metadata of another one. */
function withMetadataChunks(
  png: Uint8Array<ArrayBuffer>,
  from: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const carried = [...pngChunks(new ByteReader(from))]
    .filter(({ type }) => METADATA_CHUNK_TYPES.includes(type))
    .map(({ at, next }) => from.subarray(at, next));
  return replacePngChunks(png, ({ type, at, next }, file) => {
    if (type === 'IHDR') return Buffer.concat([file.subarray(at, next), ...carried]);
    return METADATA_CHUNK_TYPES.includes(type) ? NO_BYTES : undefined;
  });
}

/** Expands colours of limited range to the full range, in place. Alpha always has the full range. */
function expandLimitedRange({ data, channels }: Pixels | DeepPixels): void {
  const levels = 256 ** data.BYTES_PER_ELEMENT;
  const [black, range] = [(levels * 16) / 256, (levels * 219) / 256];
  const colours = channels - (channels % 2 === 0 ? 1 : 0);
  for (let at = 0; at < data.length; at += channels) {
    for (let channel = at; channel < at + colours; channel++) {
      const share = ((data[channel] as number) - black) / range;
      data[channel] = Math.round((levels - 1) * Math.min(1, Math.max(0, share)));
    }
  }
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
  const maxSample = 256 ** data.BYTES_PER_ELEMENT - 1;
  for (let at = 0; at < data.length; at += channels) {
    const alphaAt = at + channels - 1;
    const alpha = data[alphaAt] as number;
    if (alpha === maxSample) continue;
    const factor = alpha === 0 ? 0 : maxSample / alpha;
    for (let channel = at; channel < alphaAt; channel++)
      data[channel] = Math.min(maxSample, Math.round((data[channel] as number) * factor));
  }
}
