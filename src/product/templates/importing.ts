import { setImmediate as letOthersIn } from 'node:timers/promises';
import { ApiError } from '../../platform/http/errors.ts';
import { tooManyEntries } from './errors.ts';
import { importedContent } from './rules.ts';
import { type Draft, TEMPLATES_PER_ACCOUNT } from './store.ts';

/** Ten times what an account can hold: the refused among them may be many, but not without end. */
const ENTRIES_MAX = 10 * TEMPLATES_PER_ACCOUNT;

/**
 * Sorts the entries of an import into what may land, in the order sent, and one line per refused entry with its
 * index and reason. Each entry is checked like a create, and between two entries others get their turn; slug, version
 * and history are not carried over.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, for far more than an account can hold.
 */
export async function sortEntries(
  entries: readonly unknown[],
): Promise<{ drafts: Draft[]; errors: string[] }> {
  if (entries.length > ENTRIES_MAX) throw tooManyEntries(ENTRIES_MAX, entries.length);
  const drafts: Draft[] = [];
  const errors: string[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      drafts.push({ content: importedContent(entry) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(`[${index}] ${error.message}`);
    }
    await letOthersIn();
  }
  return { drafts, errors };
}
