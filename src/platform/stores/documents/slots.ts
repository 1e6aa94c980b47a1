import { randomInt } from 'node:crypto';
import { type DocumentCollection, type DocumentWithId, type IndexSpec, sortBy } from './port.ts';

/**
 * A document in one of the numbered slots of its account. The number of slots limits how many such documents an account
 * may have.
 */
interface SlottedDocument extends DocumentWithId {
  accountId: string;
  /** The number of the slot, from 0. */
  slot: number;
}

/** The unique index that enforces the limit, even for concurrent writers. */
export const SLOT_INDEX: IndexSpec = { name: 'slot', fields: sortBy('accountId', 'slot'), unique: true };

/** The number of slots of an account, and the errors for a document that gets none. */
interface SlotLimit {
  limit: number;
  /** Makes the error for an account whose slots are all taken. */
  tooMany: () => Error;
  /** The error when other writers took every slot that was tried. */
  tooContended: () => Error;
}

/**
 * Stores a document in a free slot of its account.
 * @throws the errors of the limit.
 */
export async function insertInFreeSlot<T extends SlottedDocument>(
  collection: DocumentCollection<T>,
  { limit, tooMany, tooContended }: SlotLimit,
  document: Omit<T, 'slot'> & Pick<T, 'accountId'>,
): Promise<T> {
  // In every round, one of the racing writers gets a slot. Only more concurrent writers than there are rounds can
  // exhaust them.
  for (let round = 0; round < 2 * limit; round += 1) {
    const existing = await collection.find({ accountId: document.accountId }, { fields: ['slot'] });
    const [slot] = shuffledFreeSlots(limit, existing);
    if (slot === undefined) throw tooMany();
    const placed = { ...document, slot } as unknown as T;
    const { duplicates } = await collection.insertMany([placed]);
    if (duplicates.length === 0) return placed;
  }
  throw tooContended();
}

/** The free slots of an account, beginning with a random one, so that racing writers seldom try the same slot. */
export function shuffledFreeSlots(limit: number, held: readonly SlottedDocument[]): number[] {
  const taken = new Set(held.map(({ slot }) => slot));
  const offset = randomInt(limit);
  const slots = Array.from({ length: limit }, (_, index) => (index + offset) % limit);
  return slots.filter((slot) => !taken.has(slot));
}
