import { COLLECTIONS } from '../collections.ts';
import type { CommandContext } from './command.ts';

/**
 * Removes the data of a deleted account, as each collection declares. Its assets expire at once, and the sweep removes
 * them with their files. The ledger, the usage and the jobs stay for accounting, and end by their own retention.
 */
export async function removeDataOf(accountId: string, { documents, now }: CommandContext): Promise<void> {
  for (const spec of COLLECTIONS) {
    if (spec.onAccountDeletion === 'keep') continue;
    const collection = await documents.collection(spec);
    if (spec.onAccountDeletion === 'delete') await collection.deleteMany({ accountId });
    else await collection.updateMany({ accountId }, { $set: { expiresAt: now().toISOString() } });
  }
}
