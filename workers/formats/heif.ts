import { type ByteRangeInFile, findIsoBox, type IsoBox, isoBoxes, isoBrands } from './boxes.ts';
import type { ByteReader } from './bytes.ts';
import { type ContainerPart, MAX_CONTAINER_PARTS, partsBetween, TooManyPartsError } from './parts.ts';

/**
 * Items of HEIF and AVIF (ISO/IEC 14496-12, section 8.11; ISO/IEC 23008-12, section 9.3): the pictures, thumbnails,
 * planes and blocks of metadata that a meta box lists. An entry that does not fit into its box is skipped.
 */

/** A full box is a box whose content begins with version and flags. This is the number of their bytes. */
const VERSION_AND_FLAGS_BYTES = 4;
const ITEM_TYPE_BYTES = 4;

interface HeifItem {
  id: number;
  /** Four characters, such as `av01`, `grid` or `Exif`. */
  type: string;
  isHidden: boolean;
}

/**
 * The relation of an item to other items, such as `thmb` (it is their thumbnail), `auxl` (it is a plane of them) or
 * `dimg` (it is made from them).
 */
export interface HeifReference {
  type: string;
  from: number;
  to: number[];
}

/** Which properties belong to one item. */
interface HeifAssociation extends ContainerPart {
  id: number;
  /**
   * The properties in the order in which they are applied, as indices from 1 into the list of all properties. An index
   * of 0 means none.
   */
  properties: number[];
}

/** The content of the first meta box, which lists the items; undefined if there is none. */
export function findHeifMetaBox(bytes: ByteReader): ByteRangeInFile | undefined {
  const meta = findIsoBox(bytes, { start: 0, end: bytes.length }, 'meta');
  return meta && { start: meta.start + VERSION_AND_FLAGS_BYTES, end: meta.end };
}

/** The id of the item that a viewer shows; undefined if the box names none. */
export function primaryItemId(bytes: ByteReader, meta: ByteRangeInFile): number | undefined {
  const box = findFullBox(bytes, meta, 'pitm');
  if (box === undefined) return undefined;
  const ids = idReaderOf(bytes, box.version > 0);
  return box.content + ids.width > box.end ? undefined : ids.at(box.content);
}

export function* heifItems(bytes: ByteReader, meta: ByteRangeInFile): Generator<HeifItem, void, undefined> {
  const list = findFullBox(bytes, meta, 'iinf');
  if (list === undefined) return;
  // The number of entries is not read, because the end of the box also ends the list.
  const entries = { start: list.content + (list.version === 0 ? 2 : 4), end: list.end };
  for (const { type, start, end } of isoBoxes(bytes, entries)) {
    if (type !== 'infe' || start + VERSION_AND_FLAGS_BYTES > end) continue;
    const ids = idReaderOf(bytes, bytes.u8(start) >= 3);
    const idAt = start + VERSION_AND_FLAGS_BYTES;
    // Two bytes between the id and the type hold the index of the item's protection.
    const typeAt = idAt + ids.width + 2;
    if (typeAt + ITEM_TYPE_BYTES > end) continue;
    const isHidden = (bytes.u8(start + 3) & 1) === 1;
    yield { id: ids.at(idAt), type: bytes.fourCharacters(typeAt), isHidden };
  }
}

/** A part of the bytes of an item. An item may have several. */
interface HeifExtent {
  id: number;
  /** The offset of the bytes in the file, as the box claims it. */
  start: number;
  length: number;
}

/**
 * The extents of all items.
 * @throws TooManyPartsError
 */
export function heifExtents(bytes: ByteReader, meta: ByteRangeInFile): HeifExtent[] {
  const list = findFullBox(bytes, meta, 'iloc');
  if (list === undefined) return [];
  const { version, content, end } = list;
  const sizes = bytes.u16(content);
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15];
  const indexBytes = version === 0 ? 0 : sizes & 15;
  const ids = idReaderOf(bytes, version > 1);
  const numberAt = (at: number, size: number) =>
    size === 8 ? bytes.u64(at) : size === 4 ? bytes.u32(at) : 0;
  // Small items may be in a box of their own, to which their offsets are then relative.
  const { start: smallItemsAt = 0 } = findIsoBox(bytes, meta, 'idat') ?? {};
  // Between the id and the base offset are the kind of the offset (from version 1 on) and the number of the file.
  const baseAt = ids.width + (version === 0 ? 2 : 4);
  const headBytes = baseAt + baseBytes + 2;
  const extentBytes = indexBytes + offsetBytes + lengthBytes;
  const extents: HeifExtent[] = [];
  // The number of items, which is as wide as an id, is not read, because the end of the box also ends the list.
  for (let at = content + 2 + ids.width; at + headBytes <= end; ) {
    const id = ids.at(at);
    const isInFile = version === 0 || (bytes.u16(at + ids.width) & 15) === 0;
    const base = numberAt(at + baseAt, baseBytes) + (isInFile ? 0 : smallItemsAt);
    const count = bytes.u16(at + headBytes - 2);
    at += headBytes;
    for (let index = 0; index < count && at + extentBytes <= end; index += 1) {
      const start = base + numberAt(at + indexBytes, offsetBytes);
      const length = numberAt(at + indexBytes + offsetBytes, lengthBytes);
      if (extents.push({ id, start, length }) > MAX_CONTAINER_PARTS) throw new TooManyPartsError();
      at += extentBytes;
    }
  }
  return extents;
}

export function* heifReferences(
  bytes: ByteReader,
  meta: ByteRangeInFile,
): Generator<HeifReference, void, undefined> {
  const list = findFullBox(bytes, meta, 'iref');
  if (list === undefined) return;
  const ids = idReaderOf(bytes, list.version > 0);
  for (const { type, start, end } of isoBoxes(bytes, { start: list.content, end: list.end })) {
    const countAt = start + ids.width;
    const first = countAt + 2;
    if (first > end) continue;
    const count = Math.min(bytes.u16(countAt), Math.floor((end - first) / ids.width));
    const to = Array.from({ length: count }, (_, index) => ids.at(first + index * ids.width));
    yield { type, from: ids.at(start), to };
  }
}

/**
 * The properties of each item that has some.
 * @throws TooManyPartsError
 */
export function* heifAssociations(
  bytes: ByteReader,
  meta: ByteRangeInFile,
): Generator<HeifAssociation, void, undefined> {
  const list = findFullBox(bytes, meta, 'iprp', 'ipma');
  if (list === undefined) return;
  const { content, end: limit } = list;
  const ids = idReaderOf(bytes, list.version > 0);
  const indexBytes = (list.flags & 1) === 1 ? 2 : 1;
  // The highest bit is the flag for an essential property, and not a part of the index.
  const indexAt = (at: number) => (indexBytes === 2 ? bytes.u16(at) & 0x7fff : bytes.u8(at) & 0x7f);
  // A 4-byte entry count comes before the entries.
  yield* partsBetween(content + 4, limit, (at) => {
    const start = at + ids.width + 1;
    if (start > limit) return undefined;
    const claimed = start + bytes.u8(start - 1) * indexBytes;
    const count = Math.floor((Math.min(claimed, limit) - start) / indexBytes);
    const end = start + count * indexBytes;
    const properties = Array.from({ length: count }, (_, index) => indexAt(start + index * indexBytes));
    return { id: ids.at(at), properties, at, start, end, next: end, truncated: claimed > limit };
  });
}

/** The properties of an item, in the order in which they are applied; none for an item without properties. */
export function heifProperties(bytes: ByteReader, meta: ByteRangeInFile, id: number): IsoBox[] {
  const list = findIsoBox(bytes, meta, 'iprp', 'ipco');
  if (list === undefined) return [];
  const properties = [...isoBoxes(bytes, list)];
  const item = heifAssociations(bytes, meta).find((association) => association.id === id);
  return (item?.properties ?? []).flatMap((number) => properties[number - 1] ?? []);
}

/** Finds a full box, and returns its version, flags and content. */
function findFullBox(bytes: ByteReader, within: ByteRangeInFile, ...types: string[]) {
  const box = findIsoBox(bytes, within, ...types);
  if (box === undefined || box.start + VERSION_AND_FLAGS_BYTES > box.end) return undefined;
  const { start, end } = box;
  return {
    version: bytes.u8(start),
    flags: bytes.u24(start + 1),
    content: start + VERSION_AND_FLAGS_BYTES,
    end,
  };
}

/** Ids have 16 bits or, if there are many items, 32. */
function idReaderOf(bytes: ByteReader, has32BitIds: boolean): { width: 2 | 4; at(offset: number): number } {
  if (has32BitIds) return { width: 4, at: (offset) => bytes.u32(offset) };
  return { width: 2, at: (offset) => bytes.u16(offset) };
}

/** The meaning of the colours of an AVIF's still picture. */
export interface AvifColours {
  codePoints?: ColourCodePoints;
  /** The ICC profile, which overrides the code points. */
  profile?: Uint8Array;
  /** Whether the colours are premultiplied by alpha (MIAF, ISO/IEC 23000-22, section 7.3.5.2). */
  isPremultiplied: boolean;
  /** Whether the picture is stored as levels of grey, without colours. */
  isGrey: boolean;
  /** Whether each channel has more than 8 bits. */
  isDeep: boolean;
  /** Whether black and white are stored as 16 and 235 (of 255), as in television. */
  hasLimitedRange: boolean;
}

/** The number of bytes of the colour type, the primaries, the transfer function, the matrix and the range. */
const NCLX_BYTES = 11;
const FULL_RANGE_FLAG = 0x80;
/** The flags in the third byte of `av1C`, the configuration of an AV1 picture: more than 8 bits, and no colours. */
const HIGH_BIT_DEPTH_FLAG = 0x40;
const MONOCHROME_FLAG = 0x10;

/** Reads how an AVIF defines its colours. Undefined for any other file, and for an AVIF without a still picture. */
export function readAvifColours(bytes: ByteReader): AvifColours | undefined {
  if (isoBrands(bytes).length === 0) return undefined;
  const meta = findHeifMetaBox(bytes);
  const id = meta && primaryItemId(bytes, meta);
  if (meta === undefined || id === undefined) return undefined;
  const references = [...heifReferences(bytes, meta)];
  const flags = [id, firstTileOf(id, references) ?? id].map((item) => av1Flags(bytes, meta, item));
  const colours: AvifColours = {
    isPremultiplied: references.some(({ type, from }) => type === 'prem' && from === id),
    isGrey: flags.some((flag) => (flag & MONOCHROME_FLAG) !== 0),
    isDeep: flags.some((flag) => (flag & HIGH_BIT_DEPTH_FLAG) !== 0),
    hasLimitedRange: false,
  };
  for (const { type, start, end } of heifProperties(bytes, meta, id)) {
    if (type !== 'colr') continue;
    if (bytes.text(start, 4) !== 'nclx') colours.profile ??= bytes.slice(start + 4, end);
    else if (start + NCLX_BYTES <= end) {
      colours.codePoints = { primaries: bytes.u16(start + 4), transfer: bytes.u16(start + 6) };
      colours.hasLimitedRange = (bytes.u8(start + 10) & FULL_RANGE_FLAG) === 0;
    }
  }
  return colours;
}

/** The first of the tiles from which an item is made; undefined if there are none. All have the same configuration. */
function firstTileOf(id: number, references: readonly HeifReference[]): number | undefined {
  return references.find(({ type, from }) => type === 'dimg' && from === id)?.to[0];
}

/** The flags of an item's configuration; 0 if it has none. */
function av1Flags(bytes: ByteReader, meta: ByteRangeInFile, id: number): number {
  const configuration = heifProperties(bytes, meta, id).find(({ type }) => type === 'av1C');
  if (configuration === undefined || configuration.start + 3 > configuration.end) return 0;
  return bytes.u8(configuration.start + 2);
}

/** The meaning of a file's colours as code points (ITU-T H.273): nclx in an AVIF, cICP in a PNG. */
export interface ColourCodePoints {
  primaries: number;
  transfer: number;
}
