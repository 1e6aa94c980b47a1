import sharp, { type Sharp } from 'sharp';
import type { Encode, MetadataPolicy, OutputFormat } from '../../protocol.ts';
import { canCarryProfile } from '../encode/encoder.ts';
import { type Chosen, metadataOf, openOptions, openPixels, type Source } from '../input.ts';
import type { Picture } from '../picture.ts';
import { type DeepPixels, isDeep, type Pixels } from '../pixels/pixels.ts';
import { withIptc } from './iptc.ts';
import { blankPreviews } from './previews.ts';
import { rightsOf } from './rights.ts';
import { withExifTags } from './tiff-tags.ts';

/** The formats that can hold IPTC. */
const IPTC_FORMATS: readonly OutputFormat[] = ['jpeg', 'tiff'];

/** A file, with the facts about how it was opened that its metadata policy needs. */
export interface CarriedFile {
  input: Uint8Array<ArrayBuffer>;
  source: Source;
  chosen: Chosen;
  policy: MetadataPolicy | undefined;
  carried: CarriedBlocks;
  profile: CarriedProfile;
}

/**
 * The profile of the result when metadata is kept: the file's own, in whose numbers the pixels then stay; sRGB, to
 * which they are converted; or none, for a result that is not RGB.
 */
export type CarriedProfile = 'own' | 'srgb' | 'none';

/** The blocks that are carried when metadata is kept; the ICC profile always is. */
export interface CarriedBlocks {
  exif: boolean;
  /** XMP, IPTC and comments. */
  others: boolean;
}

/**
 * Prepares a file for a pass that keeps metadata: removes copies of the original picture from its blocks.
 * @param conceals whether the pass hides something; blocks that cannot be searched are then not carried.
 * @param moves whether the result is an animation, whose frames are not turned by the codec.
 */
export async function prepareBlocks(
  input: Uint8Array<ArrayBuffer>,
  conceals: boolean,
  moves: boolean,
): Promise<CarriedBlocks> {
  const exif = await blankPreviews(input, { makerNote: conceals, orientation: moves });
  return { exif, others: !conceals };
}

/**
 * @param staysGrey whether the result has a single channel if the picture had one.
 * @param writes the profile that each step requires in the result; undefined for the picture's own.
 */
export function profileOf(
  { isRgb, isGrey, hasProfile, format }: Source,
  encode: Encode & { format: OutputFormat },
  staysGrey: boolean,
  writes: readonly (CarriedProfile | undefined)[],
): CarriedProfile {
  if (writes.includes('none')) return 'none';
  const carries = canCarryProfile(encode.format) && !writes.includes('srgb');
  // Colours cannot be painted in the numbers of a grey profile.
  const isOwn = isRgb || (isGrey && staysGrey && !hasProfile);
  return encode.metadata === 'keep' && isOwn && format !== 'raw' && carries ? 'own' : 'srgb';
}

/** The pipeline of the picture, set to write the metadata that the policy keeps. */
export async function withMetadata(picture: Picture, file: CarriedFile): Promise<Sharp> {
  if (!picture.fromFile) {
    const pixels = picture.isDeep ? await picture.handOver() : await picture.pixels();
    return pixelsWithMetadata(pixels, file, picture.writtenIn);
  }
  const { policy } = file;
  return policy === 'keep' ? keepCarried(picture.finish(), file) : withRights(picture.finish(), file);
}

/**
 * Does the same as withMetadata for pixels. sharp cannot attach a file's blocks to pixels, but carries them with the
 * file's own pixels. So the file is resized to the pixels' size, and the pixels are laid over it.
 * @param writtenIn the colour space of the result, where it is not sRGB.
 */
export async function pixelsWithMetadata(
  pixels: Pixels | DeepPixels,
  file: CarriedFile,
  writtenIn: string | undefined,
): Promise<Sharp> {
  const pipeline = await onFile(pixels, file);
  return writtenIn === undefined ? pipeline : pipeline.toColourspace(writtenIn);
}

async function onFile(pixels: Pixels | DeepPixels, file: CarriedFile): Promise<Sharp> {
  const { input, source, chosen, policy, profile } = file;
  if (policy !== 'keep' || source.format === 'raw') return withRights(openPixels(pixels), file);
  const { data, width, height, channels, frames } = pixels;
  const raw = { width, height: height * frames, channels };
  const canvas = sharp(input, openOptions({}, chosen, profile === 'own'))
    .resize({ width, height, fit: 'fill', kernel: 'nearest' })
    // sharp accepts any typed array, and its type gives the bits per channel, but sharp's types allow buffers only.
    .composite([{ input: data as Uint8Array as Buffer, raw, left: 0, top: 0, blend: 'source' }]);
  // Layers are composited with 8 bits by default.
  if (isDeep(pixels)) canvas.pipelineColourspace('rgb16');
  return keepCarried(channels === 4 ? canvas : canvas.removeAlpha(), file);
}

/** The orientation of a still picture is not carried, because sharp drops the tag once it has turned it upright. */
function keepCarried(pipeline: Sharp, { source, carried, profile }: CarriedFile): Sharp {
  if (source.format === 'raw') return pipeline;
  if (profile === 'none') return keepBlocks(pipeline, carried);
  const kept =
    carried.exif && carried.others ? pipeline.keepMetadata() : keepBlocks(pipeline, carried).keepIccProfile();
  // The file's own profile does not describe pixels that were converted to sRGB.
  return profile === 'own' ? kept : kept.withIccProfile('srgb');
}

function keepBlocks(pipeline: Sharp, { exif, others }: CarriedBlocks): Sharp {
  if (exif) pipeline.keepExif();
  if (others) pipeline.keepXmp();
  return pipeline;
}

/** Adds to a written file the metadata that libvips cannot write: the EXIF of a TIFF, and rights as IPTC. */
export async function withTags(
  data: Uint8Array<ArrayBuffer>,
  format: OutputFormat,
  { input, source, policy, carried }: CarriedFile,
): Promise<Uint8Array<ArrayBuffer>> {
  if (source.format === 'raw') return data;
  const asksRights = policy === 'copyright' && IPTC_FORMATS.includes(format);
  const iptc = asksRights ? rightsOf(input, await metadataOf(input)).iptc : undefined;
  if (format === 'jpeg') return iptc === undefined ? data : withIptc(data, iptc);
  const keeps = (policy === 'keep' && carried.exif) || policy === 'copyright';
  if (format !== 'tiff' || !keeps) return data;
  const exif = source.format === 'tiff' ? input : (await metadataOf(input)).exif;
  return withExifTags(data, exif, policy === 'keep' ? 'all' : 'rights', iptc);
}

async function withRights(pipeline: Sharp, { input, source, policy }: CarriedFile): Promise<Sharp> {
  if (policy !== 'copyright' || source.format === 'raw') return pipeline;
  const { exif, xmp } = rightsOf(input, await metadataOf(input));
  if (Object.keys(exif).length > 0) pipeline.withExif({ IFD0: exif });
  return xmp === undefined ? pipeline : pipeline.withXmp(xmp);
}
