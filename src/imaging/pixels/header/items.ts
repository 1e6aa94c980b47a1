import { type IsoBox, isoBox, isoBoxes, type Stretch } from '../../../../workers/formats/boxes.ts';
import type { Bytes } from '../../../../workers/formats/bytes.ts';
import {
  type HeifReference,
  heifAssociations,
  heifItems,
  heifReferences,
  primaryItem,
} from '../../../../workers/formats/heif.ts';

/** The items of an image file, as its meta box describes them. */
export interface Items {
  /** In the order in which they are applied. */
  primaryProperties: IsoBox[];
  /** Of all items. */
  properties: IsoBox[];
  /** Pictures of their own: neither hidden, nor a thumbnail or a plane of another. */
  pages: number;
}

const IMAGE_TYPES = ['av01', 'hvc1', 'grid', 'iden', 'iovl', 'jpeg', 'avc1', 'j2k1', 'unci', 'vvc1'];

/** Null when the box says nothing about a picture. */
export function readItems(bytes: Bytes, meta: Stretch): Items | null {
  const primaryId = primaryItem(bytes, meta);
  const list = isoBox(bytes, meta, 'iprp', 'ipco');
  if (primaryId === undefined || list === undefined) return null;
  const properties = [...isoBoxes(bytes, list)];
  const primary = heifAssociations(bytes, meta).find(({ id }) => id === primaryId);
  const primaryProperties = (primary?.properties ?? []).flatMap((place) => properties[place - 1] ?? []);
  return { primaryProperties, properties, pages: countPages(bytes, meta) };
}

function countPages(bytes: Bytes, meta: Stretch): number {
  const parts = new Set([...heifReferences(bytes, meta)].flatMap(partsIn));
  let pages = 0;
  for (const { id, type, isHidden } of heifItems(bytes, meta))
    if (!isHidden && !parts.has(id) && IMAGE_TYPES.includes(type)) pages += 1;
  return Math.max(1, pages);
}

/** Items that are a thumbnail or an auxiliary plane (alpha, depth) of another, or a tile of a grid. */
function partsIn({ type, from, to }: HeifReference): readonly number[] {
  if (type === 'thmb' || type === 'auxl') return [from];
  return type === 'dimg' ? to : [];
}
