import { checkEntryCount, partition } from '../versioned-resources/importing.ts';
import { importedContent } from './rules.ts';
import { TEMPLATE, type TemplateDraft } from './store.ts';

/**
 * Divides the entries of an import into those that can be stored, in the order sent, and refusals with index and
 * reason. Each entry is checked like a new template. Slug, version and history are not imported.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, for far more than an account can hold.
 */
export async function checkEntries(
  entries: readonly unknown[],
): Promise<{ drafts: TemplateDraft[]; errors: string[] }> {
  checkEntryCount(TEMPLATE, entries.length);
  const { accepted, refused } = await partition(entries.entries(), importedContent);
  return {
    drafts: accepted.map(([, content]) => ({ content })),
    errors: refused.map(({ index, error }) => `[${index}] ${error.message}`),
  };
}
