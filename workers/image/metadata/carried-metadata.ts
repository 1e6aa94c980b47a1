import sharp, { type Metadata, type Sharp } from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { withGifXmp } from '../../formats/gif.ts';
import {
  buildJpegSegment,
  buildProfileSegments,
  JPEG_MARKER_BYTES,
  JPEG_MARKERS,
  jpegHeadSegments,
  MAX_JPEG_SEGMENT_BYTES,
  withJpegSegments,
} from '../../formats/jpeg.ts';
import { EXIF_PREFIX, tiffFromPage } from '../../formats/tiff.ts';
import type { EncodeOptions, MetadataPolicy, OutputFormat } from '../../protocol.ts';
import { encodeOutput, type PipelineOutput } from '../../transport/output.ts';
import type { ChosenFrames } from '../frames.ts';
import { type InputFacts, openPixelPipeline, readSharpMetadata, sharpOptionsFor } from '../input.ts';
import type { PassPicture } from '../picture.ts';
import { type DeepPixels, is16BitPixels, type Pixels } from '../pixels/pixels.ts';
import { blankUncarriedExif } from './edited-exif.ts';
import { carriedIptc, iptcSegment } from './iptc.ts';
import { type PngText, pngTexts, withPngTexts } from './png.ts';
import { readRights, readRightsOutsideXmp } from './rights.ts';
import { exifBlockOf, withExifTags } from './tiff-tags.ts';
import { carriedXmp, type XmpPacket, xmpText } from './xmp.ts';
import { longXmpSegments, secondXmpPacket, xmpPacket } from './xmp-packets.ts';

/** The part of a pass that decides which metadata of its file is kept. */
interface MetadataPass {
  task: { input: Uint8Array<ArrayBuffer> };
  encode: Pick<EncodeOptions, 'metadata'>;
  source: InputFacts;
  chosen: ChosenFrames;
  carried: CarriedMetadataBlocks;
  profile: CarriedProfile;
}

/**
 * The colour profile of the result when metadata is kept. `own`: the file's profile, and the pixel values stay. `srgb`:
 * the pixels are converted to sRGB. `none`: the result is not RGB.
 */
export type CarriedProfile = 'own' | 'srgb' | 'none';

/** The metadata blocks that the policy copies from a file to its result, in addition to the profile. */
export interface CarriedMetadataBlocks {
  /**
   * The EXIF block of the file, as a TIFF structure. Usually the codec copies the block from the file. With `fields`,
   * only these fields of its first directory are written instead.
   */
  exif?: { structure: Uint8Array; fields?: Record<string, string> } | undefined;
  xmp?: XmpPacket | undefined;
  iptc?: Buffer | undefined;
  texts?: readonly PngText[];
  /**
   * A small file with the same blocks. The codec copies the blocks from it, so that it need not open the whole file
   * again.
   */
  carrier?: Uint8Array<ArrayBuffer> | undefined;
  /**
   * Whether only the pixels of the file may be used: the codec would copy an embedded preview from it, or would not
   * find its EXIF.
   */
  pixelsOnly?: true;
  /** Whether the result lacks blocks that the file has, because its format cannot carry them. */
  isIncomplete?: boolean;
}

/** The facts about a pass that decide its metadata. */
interface CarriedMetadataOptions {
  /** The header of the file, if it was read before. */
  header: Metadata | undefined;
  policy: MetadataPolicy | undefined;
  /** Format of the file, as named by libvips. */
  format: string;
  outputFormat: OutputFormat;
  /** The index of the page from which the picture is read; each page of a TIFF has its own metadata. */
  page: number;
  /** Whether the result is an animation. The codec does not turn its frames upright. */
  isAnimated: boolean;
  /** Whether the pass may move a pixel of the picture. */
  movesPixels: boolean;
  /**
   * Whether the pass hides content, as a redaction does. Of metadata blocks that cannot be searched, only the rights
   * are then kept.
   */
  hidesContent: boolean;
}

/**
 * Prepares the metadata that a result carries: without embedded copies of the picture, and without facts that are no
 * longer true. The EXIF block is edited in place, so that `file` changes.
 */
export async function prepareCarriedBlocks(
  file: Uint8Array<ArrayBuffer>,
  {
    header: known,
    policy,
    format,
    outputFormat,
    page,
    isAnimated,
    movesPixels,
    hidesContent,
  }: CarriedMetadataOptions,
): Promise<CarriedMetadataBlocks> {
  if (format === 'raw' || (policy !== 'keep' && policy !== 'copyright')) return {};
  const input = format === 'tiff' ? tiffFromPage(file, page) : file;
  const header = input === file && known !== undefined ? known : await readSharpMetadata(input);
  const isCorrected =
    header.exif === undefined || blankUncarriedExif(input, header.exif, { orientation: isAnimated });
  const structure = format === 'tiff' ? input : header.exif;
  if (policy === 'copyright') {
    const { fields, ...rights } = readRights(input, header, outputFormat);
    const hasFields = Object.keys(fields).length > 0;
    const exif = structure && hasFields ? { structure, fields } : undefined;
    return { exif, ...rights, ...(!isCorrected && { pixelsOnly: true }) };
  }
  const exif = structure && isCorrected ? { structure } : undefined;
  const carrier = await makeCarrier(input, header, outputFormat);
  const carried = { exif, carrier, ...(format === 'tiff' && carrier && { pixelsOnly: true as const }) };
  if (hidesContent) {
    const { fields: _, ...rights } = readRights(input, header, outputFormat);
    return { ...carried, ...rights };
  }
  const packet = xmpPacket(input, header);
  const xmp = packet && carriedXmp(packet, { movesPixels, second: secondXmpPacket(input, header, packet) });
  const iptc = header.iptc && carriedIptc(header.iptc);
  const texts = pngTexts(input);
  const isIncomplete =
    (outputFormat === 'gif' && (format === 'tiff' ? exifBlockOf(input) : header.exif) !== undefined) ||
    (iptc !== undefined && !IPTC_FORMATS.includes(outputFormat)) ||
    (texts.length > 0 && outputFormat !== 'png');
  // A block that the format cannot carry may hold the rights. They are then written as XMP.
  const rights = isIncomplete ? readRightsOutsideXmp(input, header, outputFormat) : undefined;
  return { ...carried, xmp: withDescriptions(xmp, rights), iptc, texts, isIncomplete };
}

/** The formats that can carry IPTC. */
const IPTC_FORMATS: readonly OutputFormat[] = ['jpeg', 'tiff'];

/** A packet to which the descriptions of another one are added. No property is in both packets. */
function withDescriptions(packet: XmpPacket | undefined, more: XmpPacket | undefined): XmpPacket | undefined {
  if (packet === undefined || more === undefined) return packet ?? more;
  return { ...packet, descriptions: [...packet.descriptions, ...more.descriptions] };
}

/**
 * The colour profile of the result.
 * @param staysGrey whether the result has a single channel if the picture had one.
 * @param writes the profile that each step requires in the result; undefined where the step keeps the picture's own.
 */
export function carriedProfileOf(
  { isRgb, isGrey, hasProfile, format }: InputFacts,
  encode: EncodeOptions & { format: OutputFormat },
  staysGrey: boolean,
  writes: readonly (CarriedProfile | undefined)[],
): CarriedProfile {
  if (writes.includes('none')) return 'none';
  const canCarryProfile = encode.format !== 'gif' && !writes.includes('srgb');
  // A grey profile is not kept, because the colours that steps paint cannot be expressed in it.
  const isOwn = isRgb || (isGrey && staysGrey && !hasProfile);
  return encode.metadata === 'keep' && isOwn && format !== 'raw' && canCarryProfile ? 'own' : 'srgb';
}

/** Sets the pipeline of the picture to write the metadata that the policy keeps. */
export async function pipelineWithMetadata(pass: MetadataPass & { picture: PassPicture }): Promise<Sharp> {
  const { picture, carried } = pass;
  if (picture.fromFile && !carried.pixelsOnly && !wouldCorruptProfile(pass))
    return withMetadataBlocks(picture.finish(), pass);
  const pixels = picture.isDeep ? await picture.runPipeline() : await picture.pixels();
  return pixelsWithMetadata(pixels, pass, picture.writtenIn);
}

/**
 * Whether sharp 0.35.5 would write freed memory in place of the profile. After a conversion of greyscale or 16-bit
 * colours, sharp sets the profile again. By then it has freed the profile if it copied the picture in order to turn it.
 */
function wouldCorruptProfile({ picture, source, profile }: MetadataPass & { picture: PassPicture }): boolean {
  return profile === 'own' && (picture.usesSlot('greyscale') || (source.isDeep && !picture.isDeep));
}

/**
 * Returns a pipeline over raw pixels that writes the metadata that the policy keeps. sharp attaches metadata only to
 * the pixels of the file that has it. Therefore one pixel of the file is enlarged to the size of the result, and the
 * raw pixels are laid over it. The decoders of most formats stop after the first rows.
 * @param writtenIn the colour space of the result, if it is not sRGB.
 */
export function pixelsWithMetadata(
  pixels: Pixels | DeepPixels,
  pass: MetadataPass,
  writtenIn: string | undefined,
): Sharp {
  const pipeline = layOverFile(pixels, pass);
  return writtenIn === undefined ? pipeline : pipeline.toColourspace(writtenIn);
}

function layOverFile(pixels: Pixels | DeepPixels, pass: MetadataPass): Sharp {
  const { task, encode, source, chosen, carried, profile } = pass;
  if (encode.metadata !== 'keep' || source.format === 'raw')
    return withMetadataBlocks(openPixelPipeline(pixels), pass);
  const { data, width, height, channels, frames } = pixels;
  const raw = { width, height: height * frames, channels };
  const canvas = sharp(carried.carrier ?? task.input, sharpOptionsFor({}, chosen, profile === 'own'));
  // An animation keeps its frames, because their delays are metadata too. A WebP is decoded as a whole, at any size.
  if (frames === 1 && source.format !== 'webp') canvas.extract({ left: 0, top: 0, width: 1, height: 1 });
  canvas
    .resize({ width, height, fit: 'fill', kernel: 'nearest' })
    // sharp accepts any typed array, and its type gives the bits per channel, but sharp's types allow buffers only.
    .composite([{ input: data as Uint8Array as Buffer, raw, left: 0, top: 0, blend: 'source' }]);
  // Layers are composited with 8 bits by default.
  if (is16BitPixels(pixels)) canvas.pipelineColourspace('rgb16');
  return withMetadataBlocks(channels === 4 ? canvas : canvas.removeAlpha(), pass);
}

/**
 * Sets the pipeline to write EXIF, XMP and the profile. The orientation of a still picture is not written, because
 * sharp drops the tag once it has turned the picture upright.
 */
function withMetadataBlocks(pipeline: Sharp, { source, encode, carried, profile }: MetadataPass): Sharp {
  const { exif, xmp } = carried;
  if (exif?.fields !== undefined) pipeline.withExif({ IFD0: exif.fields });
  else if (exif !== undefined) pipeline.keepExif();
  if (xmp !== undefined) pipeline.withXmp(xmpText(xmp));
  if (encode.metadata !== 'keep' || source.format === 'raw' || profile === 'none') return pipeline;
  // The file's own profile does not describe pixels that were converted to sRGB.
  return profile === 'own' ? pipeline.keepIccProfile() : pipeline.withIccProfile('srgb');
}

/**
 * Adds to a written file the metadata that libvips cannot write: the EXIF of a TIFF, IPTC, the texts of a PNG, the long
 * XMP of a JPEG, and the XMP of a GIF.
 */
export function addMetadataTags(
  data: Uint8Array<ArrayBuffer>,
  format: OutputFormat,
  { exif, xmp, iptc, texts = [] }: CarriedMetadataBlocks,
): Uint8Array<ArrayBuffer> {
  if (format === 'png') return withPngTexts(data, texts);
  if (format === 'gif') return xmp === undefined ? data : withGifXmp(data, xmpText(xmp));
  if (format === 'jpeg') {
    const long = xmp === undefined ? [] : longXmpSegments(xmp);
    return withJpegSegments(data, iptc === undefined ? long : [...long, iptcSegment(iptc)]);
  }
  if (format !== 'tiff') return data;
  return withExifTags(data, exif?.structure, exif?.fields === undefined ? 'all' : 'rights', iptc);
}

/** The segments that hold the density (APP0), EXIF and XMP (APP1), and the profile (APP2). */
const CARRIED_JPEG_MARKERS = [JPEG_MARKERS.app0, JPEG_MARKERS.app1, JPEG_MARKERS.app2];

let onePixelJpeg: Promise<PipelineOutput> | undefined;

/**
 * A JPEG of one pixel that carries the metadata of a file: all blocks of a JPEG, or the EXIF and the profile of a TIFF,
 * which libvips writes to no other format. The codec copies metadata only together with pixels of the same file. It
 * copies from this file, so that the original is not decoded again. Undefined for any other file, and where the pixel,
 * which is in sRGB, would not fit the profile.
 */
async function makeCarrier(
  file: Uint8Array,
  { format, space, icc }: Metadata,
  outputFormat: OutputFormat,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (format === 'jpeg' && space === 'srgb') {
    const blocks = jpegHeadSegments(new ByteReader(file)).filter(({ marker }) =>
      CARRIED_JPEG_MARKERS.includes(marker),
    );
    return makeOnePixelJpegWith([...blocks].map(({ at, next }) => file.subarray(at, next)));
  }
  const exif = format === 'tiff' && outputFormat !== 'tiff' ? exifBlockOf(file) : undefined;
  if (exif === undefined || exif.length > MAX_JPEG_SEGMENT_BYTES) return undefined;
  const profile =
    icc !== undefined && (space === 'srgb' || space === 'rgb16') ? buildProfileSegments(icc) : [];
  return makeOnePixelJpegWith([
    buildJpegSegment(JPEG_MARKERS.app1, Buffer.from(EXIF_PREFIX, 'latin1'), exif),
    ...profile,
  ]);
}

async function makeOnePixelJpegWith(segments: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const create = { width: 1, height: 1, channels: 3, background: 'white' } as const;
  onePixelJpeg ??= encodeOutput(sharp({ create }).jpeg());
  const { data: white } = await onePixelJpeg;
  const own = jpegHeadSegments(new ByteReader(white)).find(({ marker }) => marker === JPEG_MARKERS.app0);
  return Buffer.concat([
    white.subarray(0, JPEG_MARKER_BYTES),
    ...segments,
    white.subarray(own?.next ?? JPEG_MARKER_BYTES),
  ]);
}
