import { AssetsStore } from '../assets/store.ts';
import { ENDPOINTS_COLLECTION } from '../events/subscriptions.ts';
import type { CommandContext } from './command.ts';

/** Collections whose documents belong to one account each, and to nothing else. */
const COLLECTIONS = [
  'presets',
  'presetVersions',
  'templates',
  'templateVersions',
  'feedback',
  ENDPOINTS_COLLECTION,
  'webhookDeliveries',
];

/**
 * Removes what a deleted account kept. Its assets expire at once: the sweep removes them with their files. The ledger, the
 * usage and the jobs stay: they are the books, and end by their own retention.
 */
export async function removeDataOf(accountId: string, { documents, now }: CommandContext): Promise<void> {
  for (const name of COLLECTIONS) {
    const collection = await documents.collection({ name, indexes: [] });
    await collection.deleteMany({ accountId });
  }
  const assets = await AssetsStore.open(documents, now);
  await assets.expireAllOf(accountId, now());
}
