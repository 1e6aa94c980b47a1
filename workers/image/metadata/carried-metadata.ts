import sharp, { type Sharp } from 'sharp';
import type { Encode, MetadataPolicy, OutputFormat } from '../../protocol.ts';
import { canCarryProfile } from '../encode/encoder.ts';
import { type Chosen, openOptions, openPixels, type Source } from '../input.ts';
import type { Picture } from '../picture.ts';
import { type DeepPixels, isDeep, type Pixels } from '../pixels/pixels.ts';
import { withIptc } from './iptc.ts';
import { blankPreviews } from './previews.ts';
import { rightsOf } from './rights.ts';
import { withExifTags } from './tiff-tags.ts';

/** A file, and what its metadata policy needs to know of how it was opened. */
export interface CarriedFile {
  input: Uint8Array<ArrayBuffer>;
  source: Source;
  chosen: Chosen;
  policy: MetadataPolicy | undefined;
  carried: CarriedBlocks;
  profile: CarriedProfile;
}

/**
 * The profile that goes along when metadata is kept: the file's own, whose numbers the pixels then stay in; that of sRGB,
 * which they are converted to; or none, for a result that is not RGB.
 */
export type CarriedProfile = 'own' | 'srgb' | 'none';

/** Which blocks go along when metadata is kept; the ICC profile always does. */
export interface CarriedBlocks {
  exif: boolean;
  /** XMP, IPTC and comments. */
  others: boolean;
}

/**
 * Readies a file for a pass that keeps metadata: no copy of the picture as it was goes along in a block.
 * @param conceals whether the pass hides something: then blocks that cannot be searched stay behind.
 */
export async function readyBlocks(input: Uint8Array<ArrayBuffer>, conceals: boolean): Promise<CarriedBlocks> {
  return { exif: await blankPreviews(input, { makerNote: conceals }), others: !conceals };
}

/**
 * @param staysGrey whether the result has a single channel if the picture had one.
 * @param writes what each step makes the result carry, where it is not the picture's own profile.
 */
export function profileOf(
  { isRgb, isGrey, hasProfile, format }: Source,
  encode: Encode & { format: OutputFormat },
  staysGrey: boolean,
  writes: readonly (CarriedProfile | undefined)[],
): CarriedProfile {
  if (writes.includes('none')) return 'none';
  const carries = canCarryProfile(encode.format) && !writes.includes('srgb');
  // The numbers of a grey profile are no numbers that colours could be painted in.
  const isOwn = isRgb || (isGrey && staysGrey && !hasProfile);
  return encode.metadata === 'keep' && isOwn && format !== 'raw' && carries ? 'own' : 'srgb';
}

/** The picture's pipeline, which writes the metadata that the policy says. */
export async function withMetadata(picture: Picture, file: CarriedFile): Promise<Sharp> {
  if (!picture.fromFile) {
    const pixels = picture.isDeep ? await picture.handOver() : await picture.pixels();
    return pixelsWithMetadata(pixels, file, picture.writtenIn);
  }
  const { policy } = file;
  return policy === 'keep' ? keepAll(picture.finish(), file) : withRights(picture.finish(), file);
}

/**
 * The same for pixels. sharp cannot attach a file's blocks to pixels, but carries them along with the file's own: so the
 * file is shrunk to the pixels' size, and the pixels are laid over it.
 * @param writtenIn the colour space of the file that is written, where it is not sRGB.
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
  const area = { width, height: height * frames };
  const canvas = sharp(input, openOptions({}, chosen, profile === 'own'))
    .resize({ width, height, fit: 'fill', kernel: 'nearest' })
    .composite([
      {
        // Any typed array will do, and says how many bits a channel has: sharp's types tell of buffers alone.
        input: data as Uint8Array as Buffer,
        raw: { ...area, channels },
        left: 0,
        top: 0,
        blend: 'source',
      },
    ]);
  // Layers are laid on 8 bits where nothing else is said.
  if (isDeep(pixels)) canvas.pipelineColourspace('rgb16');
  return keepAll(channels === 4 ? canvas : canvas.removeAlpha(), file);
}

/** The orientation is left out: sharp drops the tag once it has turned the picture upright. */
function keepAll(pipeline: Sharp, { source, carried, profile }: CarriedFile): Sharp {
  if (source.format === 'raw') return pipeline;
  if (profile === 'none') return keepApart(pipeline, carried);
  const kept =
    carried.exif && carried.others ? pipeline.keepMetadata() : keepApart(pipeline, carried).keepIccProfile();
  // Of pixels that have been converted to sRGB their own profile knows nothing.
  return profile === 'own' ? kept : kept.withIccProfile('srgb');
}

function keepApart(pipeline: Sharp, { exif, others }: CarriedBlocks): Sharp {
  if (exif) pipeline.keepExif();
  if (others) pipeline.keepXmp();
  return pipeline;
}

/** A file that was written, with what libvips has no way to put there: the EXIF of a TIFF, and rights as IPTC. */
export async function withTags(
  data: Uint8Array<ArrayBuffer>,
  format: OutputFormat,
  { input, source, policy, carried }: CarriedFile,
): Promise<Uint8Array<ArrayBuffer>> {
  if (source.format === 'raw') return data;
  const iptc = policy === 'copyright' ? await iptcRights(input, format) : undefined;
  if (format === 'jpeg') return iptc === undefined ? data : withIptc(data, iptc);
  const keeps = (policy === 'keep' && carried.exif) || policy === 'copyright';
  if (format !== 'tiff' || !keeps) return data;
  const exif = source.format === 'tiff' ? input : await exifOf(input);
  return withExifTags(data, exif, policy === 'keep' ? 'all' : 'rights', iptc);
}

/** The formats that IPTC has a place in. */
const IPTC_FORMATS: readonly OutputFormat[] = ['jpeg', 'tiff'];

async function iptcRights(input: Uint8Array<ArrayBuffer>, format: OutputFormat): Promise<Buffer | undefined> {
  if (!IPTC_FORMATS.includes(format)) return undefined;
  return rightsOf(input, await sharp(input, { failOn: 'error' }).metadata()).iptc;
}

async function exifOf(input: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
  return (await sharp(input, { failOn: 'error', limitInputPixels: false }).metadata()).exif;
}

async function withRights(pipeline: Sharp, { input, source, policy }: CarriedFile): Promise<Sharp> {
  if (policy !== 'copyright' || source.format === 'raw') return pipeline;
  const { exif, xmp } = rightsOf(input, await sharp(input, { failOn: 'error' }).metadata());
  if (Object.keys(exif).length > 0) pipeline.withExif({ IFD0: exif });
  return xmp === undefined ? pipeline : pipeline.withXmp(xmp);
}
