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
  heifItems,
  heifProperties,
  heifReferences,
  primaryItemId,
} from '../../../../workers/formats/heif.ts';
import { type ImageHeader, imageHeaderOf } from './facts.ts';

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
const IMAGE_ITEM_TYPES = ['av01', 'hvc1', 'grid', 'iden', 'iovl', 'jpeg', 'avc1', 'j2k1', 'unci', 'vvc1'];

/**
 * Reads the header of an AVIF. A still picture is the primary item and its properties. A sequence is a track whose
 * samples are the frames.
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
  const hasAlpha = items?.properties.some((property) => isAlphaProperty(bytes, property)) ?? false;
  return imageHeaderOf({
    format,
    width: size.width,
    height: size.height,
    frames: sequence?.count ?? items?.pages ?? 1,
    bitDepth: still?.bitDepth ?? 8,
    channels: hasAlpha ? 4 : 3,
    hasAlpha,
    animated: sequence !== null,
    ...(still === null && { unreadableReason: STILL_PICTURE_MISSING_MESSAGE }),
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

/** Reads the primary item. Decoders turn and mirror it by its own properties, so its size is the size after turning. */
function readPrimaryItem(bytes: ByteReader, properties: readonly IsoBox[]) {
  let size: { width: number; height: number } | null = null;
  let bitDepth = 8;
  for (const { type, start } of properties) {
    if (type === 'ispe') size = { width: bytes.u32(start + 4), height: bytes.u32(start + 8) };
    if (type === 'pixi') bitDepth = bytes.u8(start + 5);
    if (type === 'irot' && bytes.u8(start) % 2 === 1 && size !== null) {
      size = { width: size.height, height: size.width };
    }
  }
  return size && { ...size, bitDepth };
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
