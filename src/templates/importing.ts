import { ApiError } from '../http/errors.ts';
import { importedContent } from './rules.ts';
import type { Draft } from './store.ts';

/**
 * Sorts the entries of an import into what may land, in the order sent, and one line per refused entry with its
 * index and reason. Each entry is checked like a create; its slug, version and history are not carried over.
 */
export function sortEntries(entries: readonly unknown[]): { drafts: Draft[]; errors: string[] } {
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
