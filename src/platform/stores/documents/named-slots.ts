import { randomInt } from 'node:crypto';
import { freeSlug } from '../../names/slugs.ts';
import { type Collection, type Document, type Filter, type IndexSpec, order } from './port.ts';

/**
 * Documents that an account keeps under names of its own (templates, presets): a bounded number, each under a slug that
 * no other of the account has. Two unique indexes enforce it, however many writers race.
 */
export interface Named extends Document {
  accountId: string;
  slug: string;
  /**
   * Which of the account's slots, from 0, this one takes: a unique index over them is the limit. Another name for it
   * than the stored one would ask every installation for a migration.
   */
  slot: number;
  updatedAt: string;
}

/** The indexes of a named collection: the limits, and the order of its listing. */
export const NAMED_INDEXES: readonly IndexSpec[] = [
  { name: 'slug', fields: order('accountId', 'slug'), unique: true },
  { name: 'slot', fields: order('accountId', 'slot'), unique: true },
  { name: 'updated', fields: order('accountId', '-updatedAt', '-_id') },
];

/** A document that still looks for its place. */
interface Draft<T extends Named> {
  document: Omit<T, 'accountId' | 'slug' | 'slot'>;
  slug: string;
  /** Whether the slug gets a numeric suffix when it is taken; else the draft is refused. */
  takesSuffix: boolean;
}

/** How many an account holds, and the errors of a slice that refuses more. */
interface SlotLimit {
  limit: number;
  /** More drafts than slots left. */
  full(left: number): Error;
  slugTaken(slug: string): Error;
  /** Other writers won every attempt. */
  contended(): Error;
}

/** Finds one by id or slug; an id holds `_` and a slug does not, so only one can match. */
export function named(idOrSlug: string): Filter {
  return idOrSlug.includes('_') ? { _id: idOrSlug } : { slug: idOrSlug };
}

/**
 * Stores all of the drafts or none, in their order. Who loses a slot or a slug to another writer looks again. Where
 * racing inserts of several drafts do not fit together, each may refuse the other. A crash in the middle leaves what
 * was stored.
 * @throws the errors of the limits.
 */
export async function insertNamed<T extends Named>(
  collection: Collection<T>,
  limits: SlotLimit,
  accountId: string,
  drafts: readonly Draft<T>[],
): Promise<T[]> {
  if (drafts.length === 0) return [];
  const stored = new Map<Draft<T>, T>();
  try {
    // One of the racing writers wins every round: only more writers than this at once can exhaust it.
    for (let round = 0; round < 2 * limits.limit; round++) {
      const waiting = drafts.filter((draft) => !stored.has(draft));
      const placed = await slot(collection, limits, accountId, waiting);
      const { duplicates } = await collection.insertMany(placed);
      const lost = new Set(duplicates);
      waiting.forEach((draft, index) => {
        const document = placed[index];
        if (document !== undefined && !lost.has(index)) stored.set(draft, document);
      });
      if (lost.size === 0) return drafts.flatMap((draft) => stored.get(draft) ?? []);
    }
    throw limits.contended();
  } catch (error) {
    const ids = Array.from(stored.values(), ({ _id }) => _id);
    if (ids.length > 0) await collection.deleteMany({ accountId, _id: { $in: ids } });
    throw error;
  }
}

/** Gives each draft a free slot and a free slug, as the account stands at this moment. */
async function slot<T extends Named>(
  collection: Collection<T>,
  limits: SlotLimit,
  accountId: string,
  drafts: readonly Draft<T>[],
): Promise<T[]> {
  const held = await collection.find({ accountId }, { fields: ['slug', 'slot'] });
  const slots = freeSlots(limits.limit, new Set(held.map(({ slot }) => slot)));
  if (drafts.length > slots.length) throw limits.full(slots.length);
  const slugs = new Set(held.map(({ slug }) => slug));
  return drafts.map((draft, index) => {
    if (!draft.takesSuffix && slugs.has(draft.slug)) throw limits.slugTaken(draft.slug);
    const slug = freeSlug(draft.slug, slugs);
    slugs.add(slug);
    return { ...draft.document, accountId, slug, slot: slots[index] } as T;
  });
}

/** The free slots of an account, from a random one on, so that racing writers seldom want the same. */
function freeSlots(limit: number, taken: ReadonlySet<number>): number[] {
  const offset = randomInt(limit);
  const slots = Array.from({ length: limit }, (_, index) => (index + offset) % limit);
  return slots.filter((slot) => !taken.has(slot));
}
