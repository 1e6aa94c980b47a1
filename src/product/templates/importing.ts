import { setImmediate as letOthersIn } from 'node:timers/promises';
import { ApiError } from '../../platform/http/errors.ts';
import { tooManyEntries } from './errors.ts';
import { importedContent } from './rules.ts';
import { type Draft, TEMPLATES_PER_ACCOUNT } from './store.ts';

/** Ten times the templates of an account: many of the entries may be refused, but their number is bounded. */
const ENTRIES_MAX = 10 * TEMPLATES_PER_ACCOUNT;

/**
 * Divides the entries of an import into those that can be stored, in the order sent, and refusals with index and
 * reason. Each entry is checked like a new template. The event loop serves other calls between two entries. Slug,
 * version and history are not imported.
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
