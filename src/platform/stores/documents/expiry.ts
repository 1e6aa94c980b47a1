import { type DocumentCollection, type DocumentWithId, sortBy } from './port.ts';

/** The size of a batch, small enough not to delay other calls. */
const MAX_BATCH_SIZE = 500;

/**
 * Deletes expired documents by their `expiresAt`, oldest first.
 * @returns the number of deleted documents, at most a batch; the caller repeats until it is 0.
 */
export async function deleteExpiredBatch<T extends DocumentWithId & { expiresAt: string | null }>(
  collection: DocumentCollection<T>,
  now: Date,
): Promise<number> {
  const expired = await collection.find(
    { expiresAt: { $lte: now.toISOString() } },
    { sort: sortBy('expiresAt'), limit: MAX_BATCH_SIZE, fields: ['_id'] },
  );
  if (expired.length === 0) return 0;
  return collection.deleteMany({ _id: { $in: expired.map(({ _id }) => _id) } });
}
