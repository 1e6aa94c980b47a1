import { type Box, boxesIn, boxIn } from './boxes.ts';
import type { Bytes } from './bytes.ts';

/** What the meta box of an image file says about its items. */
export interface Items {
  /** In the order in which they are applied. */
  primaryProperties: Box[];
  /** Of all items. */
  properties: Box[];
  /** Pictures of their own: neither hidden, nor a thumbnail or a plane of another. */
  pages: number;
}

const IMAGE_TYPES = ['av01', 'hvc1', 'grid', 'iden', 'iovl', 'jpeg', 'avc1', 'j2k1', 'unci', 'vvc1'];

export function readItems(bytes: Bytes, meta: { start: number; end: number }): Items | null {
  const primary = boxIn(bytes, meta, 'pitm');
  const container = boxIn(bytes, meta, 'iprp');
  const list = boxIn(bytes, container, 'ipco');
  const associations = boxIn(bytes, container, 'ipma');
  if (primary === undefined || list === undefined || associations === undefined) return null;
  const primaryId =
    bytes.u8(primary.start) === 0 ? bytes.u16(primary.start + 4) : bytes.u32(primary.start + 4);
  const properties = [...boxesIn(bytes, list.start, list.end)];
  const indices = propertyIndices(bytes, associations, primaryId);
  const primaryProperties = indices.flatMap((index) => properties[index - 1] ?? []);
  return { primaryProperties, properties, pages: countPages(bytes, meta) };
}

/** One-based, 7 or 15 bits wide below the bit that marks a property as essential. */
function propertyIndices(bytes: Bytes, box: Box, itemId: number): number[] {
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

function countPages(bytes: Bytes, meta: { start: number; end: number }): number {
  const info = boxIn(bytes, meta, 'iinf');
  if (info === undefined) return 1;
  const parts = partsOfOthers(bytes, boxIn(bytes, meta, 'iref'));
  let pages = 0;
  for (const entry of boxesIn(bytes, info.start + (bytes.u8(info.start) === 0 ? 6 : 8), info.end)) {
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
function partsOfOthers(bytes: Bytes, references: Box | undefined): Set<number> {
  const parts = new Set<number>();
  if (references === undefined) return parts;
  const isWide = bytes.u8(references.start) !== 0;
  for (const { type, start } of boxesIn(bytes, references.start + 4, references.end)) {
    const idAt = (index: number) => (isWide ? bytes.u32(start + index * 4) : bytes.u16(start + index * 2));
    if (type === 'thmb' || type === 'auxl') parts.add(idAt(0));
    // Which item is made of others, how many, and those.
    if (type !== 'dimg') continue;
    const count = bytes.u16(start + (isWide ? 4 : 2));
    const tiles = start + (isWide ? 6 : 4);
    for (let tile = 0; tile < count; tile += 1) {
      bytes.step();
      parts.add(isWide ? bytes.u32(tiles + tile * 4) : bytes.u16(tiles + tile * 2));
    }
  }
  return parts;
}
