import { type Collection, type Document, order } from './port.ts';

/** Small enough that a batch holds nobody up. */
const BATCH = 500;

/**
 * Deletes documents whose `expiresAt` has come, oldest first.
 * @returns how many: at most a batch, so ask again until it is 0.
 */
export async function deleteExpired<T extends Document & { expiresAt: string | null }>(
  collection: Collection<T>,
  now: Date,
): Promise<number> {
  const expired = await collection.find(
    { expiresAt: { $lte: now.toISOString() } },
    { sort: order('expiresAt'), limit: BATCH, fields: ['_id'] },
  );
  if (expired.length === 0) return 0;
  return collection.deleteMany({ _id: { $in: expired.map(({ _id }) => _id) } });
}
