import { type IsoBox, isoBox, isoBoxes, type Stretch } from '../../../workers/formats/boxes.ts';
import type { Bytes } from '../../../workers/formats/bytes.ts';

/** What the meta box of an image file says about its items. */
export interface Items {
  /** In the order in which they are applied. */
  primaryProperties: IsoBox[];
  /** Of all items. */
  properties: IsoBox[];
  /** Pictures of their own: neither hidden, nor a thumbnail or a plane of another. */
  pages: number;
}

const IMAGE_TYPES = ['av01', 'hvc1', 'grid', 'iden', 'iovl', 'jpeg', 'avc1', 'j2k1', 'unci', 'vvc1'];

export function readItems(bytes: Bytes, meta: Stretch): Items | null {
  const primary = isoBox(bytes, meta, 'pitm');
  const list = isoBox(bytes, meta, 'iprp', 'ipco');
  const associations = isoBox(bytes, meta, 'iprp', 'ipma');
  if (primary === undefined || list === undefined || associations === undefined) return null;
  const primaryId =
    bytes.u8(primary.start) === 0 ? bytes.u16(primary.start + 4) : bytes.u32(primary.start + 4);
  const properties = [...isoBoxes(bytes, list)];
  const indices = propertyIndices(bytes, associations, primaryId);
  const primaryProperties = indices.flatMap((index) => properties[index - 1] ?? []);
  return { primaryProperties, properties, pages: countPages(bytes, meta) };
}

/** One-based, 7 or 15 bits wide below the bit that marks a property as essential. */
function propertyIndices(bytes: Bytes, box: IsoBox, itemId: number): number[] {
  const idBytes = bytes.u8(box.start) === 0 ? 2 : 4;
  const isWide = (bytes.u8(box.start + 3) & 1) === 1;
  const indexBytes = isWide ? 2 : 1;
  for (let at = box.start + 8; at + idBytes < box.end; ) {
    const id = idBytes === 2 ? bytes.u16(at) : bytes.u32(at);
    const first = at + idBytes + 1;
    const count = bytes.u8(at + idBytes);
    if (id === itemId) {
      return Array.from({ length: count }, (_, index) =>
        isWide ? bytes.u16(first + index * 2) & 0x7fff : bytes.u8(first + index) & 0x7f,
      );
    }
    at = first + count * indexBytes;
  }
  return [];
}

function countPages(bytes: Bytes, meta: Stretch): number {
  const info = isoBox(bytes, meta, 'iinf');
  if (info === undefined) return 1;
  const parts = partsOfOthers(bytes, isoBox(bytes, meta, 'iref'));
  let pages = 0;
  const start = info.start + (bytes.u8(info.start) === 0 ? 6 : 8);
  for (const entry of isoBoxes(bytes, { start, end: info.end })) {
    if (entry.type !== 'infe') continue;
    const isHidden = (bytes.u8(entry.start + 3) & 1) === 1;
    const isWide = bytes.u8(entry.start) >= 3;
    const id = isWide ? bytes.u32(entry.start + 4) : bytes.u16(entry.start + 4);
    const type = bytes.text(entry.start + (isWide ? 10 : 8), 4);
    if (!isHidden && !parts.has(id) && IMAGE_TYPES.includes(type)) pages += 1;
  }
  return Math.max(1, pages);
}

/** Items that are a thumbnail or an auxiliary plane (alpha, depth) of another, or a tile of a grid. */
function partsOfOthers(bytes: Bytes, references: IsoBox | undefined): Set<number> {
  const parts = new Set<number>();
  if (references === undefined) return parts;
  const isWide = bytes.u8(references.start) !== 0;
  const idBytes = isWide ? 4 : 2;
  const idAt = (at: number) => (isWide ? bytes.u32(at) : bytes.u16(at));
  for (const { type, start, end } of isoBoxes(bytes, { start: references.start + 4, end: references.end })) {
    if (type === 'thmb' || type === 'auxl') parts.add(idAt(start));
    // Which item is made of others, how many, and those.
    if (type !== 'dimg') continue;
    const tiles = start + idBytes + 2;
    const last = Math.min(end, tiles + bytes.u16(start + idBytes) * idBytes);
    for (let at = tiles; at + idBytes <= last; at += idBytes) parts.add(idAt(at));
  }
  return parts;
}
