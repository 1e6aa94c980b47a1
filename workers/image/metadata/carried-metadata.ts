import sharp, { type Sharp } from 'sharp';
import { tiffFromPage } from '../../formats/tiff.ts';
import type { Encode, MetadataPolicy, OutputFormat } from '../../protocol.ts';
import type { Chosen } from '../chosen-frames.ts';
import { type InputFacts, openOptions, openPixels, readMetadata } from '../input.ts';
import type { Picture } from '../picture.ts';
import { type DeepPixels, isDeep, type Pixels } from '../pixels/pixels.ts';
import { carriedIptc, withIptc } from './iptc.ts';
import { mendExif } from './mended-exif.ts';
import { onePixelWith } from './one-pixel.ts';
import { carriedTexts, withTexts } from './png-texts.ts';
import { rightsOf } from './rights.ts';
import { withExifTags } from './tiff-tags.ts';
import { carriedXmp } from './xmp.ts';
import { xmpPacket } from './xmp-packets.ts';

/** A file, with the facts about how it was opened that its metadata policy needs. */
export interface CarriedFile {
  input: Uint8Array<ArrayBuffer>;
  source: InputFacts;
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

/** What the policy carries of a file's metadata, besides the profile. */
export interface CarriedBlocks {
  /**
   * A TIFF structure, which the codec reads in the file itself; or, with `fields`, only these fields of its first
   * directory.
   */
  exif?: { structure: Uint8Array; fields?: Record<string, string> } | undefined;
  xmp?: string | undefined;
  iptc?: Buffer | undefined;
  /** Text chunks of a PNG. */
  texts?: Uint8Array[];
  /** A small file with the same blocks, with which the codec carries them to pixels instead of the whole file. */
  carrier?: Uint8Array<ArrayBuffer> | undefined;
  /** Whether the codec would carry a preview from the file, so that only pixels may be written. */
  fileLeaks?: true;
}

/** The facts about a pass that decide its metadata. */
interface PreparedFor {
  policy: MetadataPolicy | undefined;
  /** Format of the file, as named by libvips. */
  format: string;
  /** Index of the page that the picture is; each page of a TIFF has its own metadata. */
  page: number;
  /** Whether the result is an animation, whose frames are not turned by the codec. */
  isMoving: boolean;
  /** Whether a pixel of the picture may have another place. */
  movesPixels: boolean;
  /** Whether the pass hides something; blocks that cannot be searched are then not carried. */
  conceals: boolean;
}

/**
 * Prepares what is carried of a file's metadata: without further copies of the picture, and without facts that are no
 * longer true. The EXIF is mended in the file itself.
 */
export async function prepareBlocks(
  file: Uint8Array<ArrayBuffer>,
  { policy, format, page, isMoving, movesPixels, conceals }: PreparedFor,
): Promise<CarriedBlocks> {
  if (format === 'raw' || (policy !== 'keep' && policy !== 'copyright')) return {};
  const input = format === 'tiff' ? tiffFromPage(file, page) : file;
  const header = await readMetadata(input);
  const isMended = header.exif === undefined || mendExif(input, header.exif, { orientation: isMoving });
  const structure = format === 'tiff' ? input : header.exif;
  if (policy === 'copyright') {
    const { fields, xmp, iptc } = rightsOf(input, header);
    const hasFields = Object.keys(fields).length > 0;
    const exif = structure && hasFields ? { structure, fields } : undefined;
    return { exif, xmp, iptc, ...(!isMended && { fileLeaks: true }) };
  }
  const exif = structure && isMended ? { structure } : undefined;
  // A profile of other colours does not fit the pixel.
  const carrier = format === 'jpeg' && header.space === 'srgb' ? await onePixelWith(input) : undefined;
  if (conceals) return { exif, carrier };
  const packet = xmpPacket(input, header);
  return {
    exif,
    carrier,
    xmp: packet && carriedXmp(packet, { movesPixels }),
    iptc: header.iptc && carriedIptc(header.iptc),
    texts: carriedTexts(input),
  };
}

/**
 * @param staysGrey whether the result has a single channel if the picture had one.
 * @param writes the profile that each step requires in the result; undefined for the picture's own.
 */
export function profileOf(
  { isRgb, isGrey, hasProfile, format }: InputFacts,
  encode: Encode & { format: OutputFormat },
  staysGrey: boolean,
  writes: readonly (CarriedProfile | undefined)[],
): CarriedProfile {
  if (writes.includes('none')) return 'none';
  const canCarryProfile = encode.format !== 'gif' && !writes.includes('srgb');
  // Colours cannot be painted in the numbers of a grey profile.
  const isOwn = isRgb || (isGrey && staysGrey && !hasProfile);
  return encode.metadata === 'keep' && isOwn && format !== 'raw' && canCarryProfile ? 'own' : 'srgb';
}

/** The pipeline of the picture, set to write the metadata that the policy keeps. */
export async function withMetadata(picture: Picture, file: CarriedFile): Promise<Sharp> {
  if (!picture.fromFile || file.carried.fileLeaks) {
    const pixels = picture.isDeep ? await picture.handOver() : await picture.pixels();
    return pixelsWithMetadata(pixels, file, picture.writtenIn);
  }
  return withBlocks(picture.finish(), file);
}

/**
 * Does the same as withMetadata for pixels. sharp cannot attach a file's blocks to pixels, but carries them with the
 * pixels of a file that has them. So such a file is resized to the pixels' size, and the pixels are laid over it.
 * @param writtenIn the colour space of the result, if it is not sRGB.
 */
export function pixelsWithMetadata(
  pixels: Pixels | DeepPixels,
  file: CarriedFile,
  writtenIn: string | undefined,
): Sharp {
  const pipeline = onFile(pixels, file);
  return writtenIn === undefined ? pipeline : pipeline.toColourspace(writtenIn);
}

function onFile(pixels: Pixels | DeepPixels, file: CarriedFile): Sharp {
  const { input, source, chosen, policy, carried, profile } = file;
  if (policy !== 'keep' || source.format === 'raw') return withBlocks(openPixels(pixels), file);
  const { data, width, height, channels, frames } = pixels;
  const raw = { width, height: height * frames, channels };
  const canvas = sharp(carried.carrier ?? input, openOptions({}, chosen, profile === 'own'))
    .resize({ width, height, fit: 'fill', kernel: 'nearest' })
    // sharp accepts any typed array, and its type gives the bits per channel, but sharp's types allow buffers only.
    .composite([{ input: data as Uint8Array as Buffer, raw, left: 0, top: 0, blend: 'source' }]);
  // Layers are composited with 8 bits by default.
  if (isDeep(pixels)) canvas.pipelineColourspace('rgb16');
  return withBlocks(channels === 4 ? canvas : canvas.removeAlpha(), file);
}

/**
 * Sets the pipeline to write EXIF, XMP and the profile. The orientation of a still picture is not carried, because
 * sharp drops the tag once it has turned it upright.
 */
function withBlocks(pipeline: Sharp, { source, policy, carried, profile }: CarriedFile): Sharp {
  const { exif, xmp } = carried;
  if (exif?.fields !== undefined) pipeline.withExif({ IFD0: exif.fields });
  else if (exif !== undefined) pipeline.keepExif();
  if (xmp !== undefined) pipeline.withXmp(xmp);
  if (policy !== 'keep' || source.format === 'raw' || profile === 'none') return pipeline;
  // The file's own profile does not describe pixels that were converted to sRGB.
  return profile === 'own' ? pipeline.keepIccProfile() : pipeline.withIccProfile('srgb');
}

/** Adds to a written file the metadata that libvips cannot write: the EXIF of a TIFF, IPTC, and the texts of a PNG. */
export function withTags(
  data: Uint8Array<ArrayBuffer>,
  format: OutputFormat,
  { exif, iptc, texts = [] }: CarriedBlocks,
): Uint8Array<ArrayBuffer> {
  if (format === 'png') return withTexts(data, texts);
  if (format === 'jpeg') return iptc === undefined ? data : withIptc(data, iptc);
  if (format !== 'tiff') return data;
  return withExifTags(data, exif?.structure, exif?.fields === undefined ? 'all' : 'rights', iptc);
}
