import type { TestServer } from '../../support/harness.ts';

/** Leaves an account of the free plan so many of its 1,000 places. */
export async function leave(server: TestServer, accountId: string, left: number): Promise<void> {
  const places = server.stores.documents.collection({ name: 'assetPlaces', indexes: [] });
  const filled = { $set: { stored: 1000 - left }, $setOnInsert: { moving: [] } };
  await places.updateOne({ _id: accountId }, filled, { upsert: true });
}
