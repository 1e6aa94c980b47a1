import {
  type ByteRangeInFile,
  findIsoBox,
  type IsoBox,
  isoBoxes,
  isoBrands,
} from '../../../../workers/formats/boxes.ts';
import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import {
  findHeifMetaBox,
  type HeifReference,
  heifExtents,
  heifItems,
  heifProperties,
  heifReferences,
  primaryItemId,
} from '../../../../workers/formats/heif.ts';
import type { Size } from '../../../../workers/formats/size.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { type ImageHeader, imageHeaderOf, readExifFacts } from './facts.ts';

const AVIF_BRANDS = ['avif', 'avis'];
/**
 * The brands of HEIF files that are not AVIF. mif1, mif2 and msf1 name no codec: an AVIF that has them also has a brand
 * of its own.
 */
export const HEIF_BRANDS = ['heic', 'heix', 'hevc', 'hevx', 'heim', 'heis', 'mif1', 'msf1', 'mif2'];
/** The message for an animation without a still picture. No decoder of the service reads such a file. */
const STILL_PICTURE_MISSING_MESSAGE =
  'This AVIF is an animation, which is not supported; send a GIF or WebP, or its first frame.';
const ALPHA_AUXILIARY_TYPE = /^urn:mpeg:(mpegB:cicp:systems:auxiliary:alpha|hevc:2015:auxid:1)/;
/** The most items of metadata. Real files have one or two for a picture. */
const MAX_METADATA_ITEMS = 16;
const TOO_MUCH_METADATA_MESSAGE = `This AVIF has more than ${MAX_METADATA_ITEMS} items of metadata, or items that share their bytes, and takes too much memory to read: save it again without its metadata.`;
/** The number of bytes before the EXIF of an item, which say where it begins. Decoders skip them. */
const EXIF_OFFSET_BYTES = 4;
const IMAGE_ITEM_TYPES = ['av01', 'hvc1', 'grid', 'iden', 'iovl', 'jpeg', 'avc1', 'j2k1', 'unci', 'vvc1'];

/**
 * Reads the header of an AVIF. A still picture is the primary item and its properties. A sequence is a track whose
 * samples are the frames; it is read as its still picture.
 */
export function readAvifHeader(bytes: ByteReader): ImageHeader | null {
  const format = readHeifFormat(bytes);
  if (format === null) return null;
  const meta = findHeifMetaBox(bytes);
  const items = meta === undefined ? null : readItemProperties(bytes, meta);
  const still = items === null ? null : readPrimaryItem(bytes, items.primaryProperties);
  const sequence = readSequence(bytes);
  const size = still ?? sequence;
  if (size === null) return null;
  const unreadableReason =
    still === null ? STILL_PICTURE_MISSING_MESSAGE : meta && unreadableMetadataReason(bytes, meta);
  const hasAlpha = items?.properties.some((property) => isAlphaProperty(bytes, property)) ?? false;
  return imageHeaderOf({
    format,
    width: size.width,
    height: size.height,
    frames: items?.pages ?? 1,
    ...(sequence !== null && sequence.count > 1 && { unreadFrames: sequence.count - 1 }),
    bitDepth: still?.bitDepth ?? 8,
    channels: hasAlpha ? 4 : 3,
    hasAlpha,
    ...withoutAbsentFields({ unreadableReason }),
  });
}

function readHeifFormat(bytes: ByteReader): 'avif' | 'heif' | null {
  const brands = isoBrands(bytes);
  if (brands.some((brand) => AVIF_BRANDS.includes(brand))) return 'avif';
  return brands.some((brand) => HEIF_BRANDS.includes(brand)) ? 'heif' : null;
}

/**
 * The properties of all items, those of the primary item in the order in which they are applied, and the number of
 * pictures. Null when the box describes no picture.
 */
function readItemProperties(bytes: ByteReader, meta: ByteRangeInFile) {
  const primaryId = primaryItemId(bytes, meta);
  const list = findIsoBox(bytes, meta, 'iprp', 'ipco');
  if (primaryId === undefined || list === undefined) return null;
  const properties = [...isoBoxes(bytes, list)];
  const primaryProperties = heifProperties(bytes, meta, primaryId);
  return { primaryProperties, properties, pages: countPages(bytes, meta) };
}

/** Counts the separate pictures: items that are neither hidden, nor a thumbnail or a plane of another item. */
function countPages(bytes: ByteReader, meta: ByteRangeInFile): number {
  const parts = new Set([...heifReferences(bytes, meta)].flatMap(dependentItemIds));
  const pages = heifItems(bytes, meta).filter(
    ({ id, type, isHidden }) => !isHidden && !parts.has(id) && IMAGE_ITEM_TYPES.includes(type),
  );
  return Math.max(1, [...pages].length);
}

/** The ids of items that are a thumbnail or an auxiliary plane (alpha, depth) of another item, or a tile of a grid. */
function dependentItemIds({ type, from, to }: HeifReference): readonly number[] {
  if (type === 'thmb' || type === 'auxl') return [from];
  return type === 'dimg' ? to : [];
}

/**
 * Why the metadata of an AVIF would cost too much to read; undefined if it does not. libheif copies the bytes of each
 * item, also if many items share them.
 */
function unreadableMetadataReason(bytes: ByteReader, meta: ByteRangeInFile): string | undefined {
  const items = [...heifItems(bytes, meta).filter(({ type }) => !IMAGE_ITEM_TYPES.includes(type))];
  if (items.length === 0) return undefined;
  const ids = new Set(items.map(({ id }) => id));
  const extents = heifExtents(bytes, meta).filter(({ id }) => ids.has(id));
  const total = extents.reduce((sum, { length }) => sum + length, 0);
  if (items.length > MAX_METADATA_ITEMS || total > bytes.length) return TOO_MUCH_METADATA_MESSAGE;
  for (const item of items) {
    if (item.type !== 'Exif') continue;
    const parts = extents.filter(({ id }) => id === item.id);
    const exif = Buffer.concat(parts.map(({ start, length }) => bytes.slice(start, start + length)));
    const { unreadableReason } = readExifFacts(exif.subarray(EXIF_OFFSET_BYTES));
    if (unreadableReason !== undefined) return unreadableReason;
  }
  return undefined;
}

/**
 * Reads the primary item. Decoders crop, turn and mirror it by its own properties, in their order, so its size is the
 * size after that.
 */
function readPrimaryItem(bytes: ByteReader, properties: readonly IsoBox[]) {
  let size: Size | null = null;
  let bitDepth = 8;
  for (const { type, start } of properties) {
    if (type === 'ispe') size = { width: bytes.u32(start + 4), height: bytes.u32(start + 8) };
    if (type === 'pixi') bitDepth = bytes.u8(start + 5);
    if (type === 'clap') size = readCleanAperture(bytes, start) ?? size;
    if (type === 'irot' && bytes.u8(start) % 2 === 1 && size !== null) {
      size = { width: size.height, height: size.width };
    }
  }
  return size && { ...size, bitDepth };
}

/** The size to which a picture is cropped: two fractions. Undefined for a size that is not positive and finite. */
function readCleanAperture(bytes: ByteReader, start: number): Size | undefined {
  const edgeAt = (at: number) => Math.round(bytes.u32(at) / bytes.u32(at + 4));
  const size = { width: edgeAt(start), height: edgeAt(start + 8) };
  const area = size.width * size.height;
  return area > 0 && Number.isFinite(area) ? size : undefined;
}

function isAlphaProperty(bytes: ByteReader, { type, start, end }: IsoBox): boolean {
  return type === 'auxC' && ALPHA_AUXILIARY_TYPE.test(bytes.text(start + 4, Math.min(end - start, 64)));
}

/** Size and number of samples of the first track with a picture. */
function readSequence(bytes: ByteReader): { width: number; height: number; count: number } | null {
  const movie = findIsoBox(bytes, { start: 0, end: bytes.length }, 'moov');
  if (movie === undefined) return null;
  for (const track of isoBoxes(bytes, movie)) {
    const head = track.type === 'trak' ? findIsoBox(bytes, track, 'tkhd') : undefined;
    const samples = head && findIsoBox(bytes, track, 'mdia', 'minf', 'stbl', 'stsz');
    if (head === undefined || samples === undefined) continue;
    const [width, height] = [bytes.u32(head.end - 8) >>> 16, bytes.u32(head.end - 4) >>> 16];
    if (width > 0 && height > 0) return { width, height, count: bytes.u32(samples.start + 8) };
  }
  return null;
}
