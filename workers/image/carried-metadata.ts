import sharp, { type Sharp } from 'sharp';
import type { MetadataPolicy } from '../protocol.ts';
import { type Chosen, openOptions, openPixels, type Source } from './input.ts';
import type { Picture } from './picture.ts';
import type { Pixels } from './pixels.ts';
import { blankPreviews } from './previews.ts';
import { readTags } from './tags.ts';

/** EXIF fields that say whose a picture is. */
const RIGHTS = ['Copyright', 'Artist'];

/** A file, and what its metadata policy needs to know of how it was opened. */
export interface CarriedFile {
  input: Uint8Array<ArrayBuffer>;
  source: Source;
  chosen: Chosen;
  policy: MetadataPolicy | undefined;
  carried: CarriedBlocks;
}

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

/** Whether the pixels stay in the file's own RGB, because its profile goes with them. */
export function keepsProfile({ isRgb, format }: Source, policy: MetadataPolicy | undefined): boolean {
  return policy === 'keep' && isRgb && format !== 'raw';
}

/** The picture's pipeline, which writes the metadata that the policy says. */
export async function withMetadata(picture: Picture, file: CarriedFile): Promise<Sharp> {
  if (!picture.fromFile) return pixelsWithMetadata(await picture.pixels(), file);
  const { policy } = file;
  return policy === 'keep' ? keepAll(picture.finish(), file) : withRights(picture.finish(), file);
}

/**
 * The same for pixels. sharp cannot attach a file's blocks to pixels, but carries them along with the file's own: so the
 * file is shrunk to the pixels' size, and the pixels are laid over it.
 */
export async function pixelsWithMetadata(pixels: Pixels, file: CarriedFile): Promise<Sharp> {
  const { input, source, chosen, policy } = file;
  if (policy !== 'keep' || source.format === 'raw') return withRights(openPixels(pixels), file);
  const { data, width, height, channels, frames } = pixels;
  const area = { width, height: height * frames };
  const canvas = sharp(input, openOptions({}, chosen, keepsProfile(source, policy)))
    .resize({ width, height, fit: 'fill', kernel: 'nearest' })
    .composite([
      {
        input: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
        raw: { ...area, channels },
        left: 0,
        top: 0,
        blend: 'source',
      },
    ]);
  return keepAll(channels === 4 ? canvas : canvas.removeAlpha(), file);
}

/** The orientation is left out: sharp drops the tag once it has turned the picture upright. */
function keepAll(pipeline: Sharp, { source, carried }: CarriedFile): Sharp {
  if (source.format === 'raw') return pipeline;
  const kept = keepBlocks(pipeline, carried);
  // Other pixels than RGB have been converted to sRGB, of which their own profile knows nothing.
  return source.isRgb ? kept : kept.withIccProfile('srgb');
}

function keepBlocks(pipeline: Sharp, { exif, others }: CarriedBlocks): Sharp {
  if (exif && others) return pipeline.keepMetadata();
  if (exif) pipeline.keepExif();
  if (others) pipeline.keepXmp();
  return pipeline.keepIccProfile();
}

async function withRights(pipeline: Sharp, { input, source, policy }: CarriedFile): Promise<Sharp> {
  if (policy !== 'copyright' || source.format === 'raw') return pipeline;
  const { exif = {} } = readTags(input, await sharp(input, { failOn: 'error' }).metadata());
  const rights = RIGHTS.map((name) => [name, exif[name]] as const).filter(
    ([, value]) => typeof value === 'string',
  );
  return rights.length === 0
    ? pipeline
    : pipeline.withExif({ IFD0: Object.fromEntries(rights) as Record<string, string> });
}
