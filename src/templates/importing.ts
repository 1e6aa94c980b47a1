import { ApiError } from '../http/errors.ts';
import { tooManyEntries } from './errors.ts';
import { importedContent } from './rules.ts';
import { type Draft, TEMPLATES_PER_ACCOUNT } from './store.ts';

/**
 * Sorts the entries of an import into what may land, in the order sent, and one line per refused entry with its
 * index and reason. Each entry is checked like a create; its slug, version and history are not carried over.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, for more than an account can hold at all.
 */
export function sortEntries(entries: readonly unknown[]): { drafts: Draft[]; errors: string[] } {
  if (entries.length > TEMPLATES_PER_ACCOUNT) throw tooManyEntries(TEMPLATES_PER_ACCOUNT, entries.length);
  const drafts: Draft[] = [];
  const errors: string[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      drafts.push({ content: importedContent(entry) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(`[${index}] ${error.message}`);
    }
  }
  return { drafts, errors };
}
