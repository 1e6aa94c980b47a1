import { ApiError, invalidParam } from '../http/errors.ts';
import { checkOf } from '../http/validation.ts';
import { slugFromName } from '../names/slugs.ts';
import type { PresetVersion } from './preset.ts';
import { type ContentRules, checkedContent, checkName, checkSlug } from './rules.ts';
import { PresetEntry, VERSIONS_MAX } from './schema.ts';
import type { Draft } from './store.ts';

const checkEntry = checkOf(PresetEntry, 'entry');

/**
 * Sorts the entries of an import into what may land, in the order sent, and one line per refused entry with its
 * index and reason. Each entry is checked like a create, its earlier versions too.
 */
export async function sortEntries(
  entries: readonly unknown[],
  accountId: string,
  rules: ContentRules,
  now: Date,
): Promise<{ drafts: Draft[]; errors: string[] }> {
  const drafts: Draft[] = [];
  const errors: string[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      drafts.push(await draftOf(checkEntry(entry), accountId, rules, now));
    } catch (error) {
      if (!(error instanceof ApiError && error.status < 500)) throw error;
      errors.push(`[${index}] ${error.param}: ${error.message}`);
    }
  }
  return { drafts, errors };
}

async function draftOf(
  entry: PresetEntry,
  accountId: string,
  rules: ContentRules,
  now: Date,
): Promise<Draft> {
  const { name, description = '', version = 1, slug } = entry;
  checkName(name);
  if (slug !== undefined) checkSlug(slug);
  const content = await checkedContent(entry, accountId, rules);
  const history = await historyOf(entry, accountId, rules, now);
  return {
    name,
    description,
    version,
    ...content,
    history,
    slug: slug ?? slugFromName(name, 'preset'),
    takesSuffix: true,
  };
}

async function historyOf(
  { version: current = 1, versions = [] }: PresetEntry,
  accountId: string,
  rules: ContentRules,
  now: Date,
): Promise<PresetVersion[]> {
  if (versions.length >= VERSIONS_MAX) {
    const message = `The entry has ${versions.length + 1} versions with the current one: at most ${VERSIONS_MAX} are kept.`;
    throw invalidParam('versions', message, { limit: VERSIONS_MAX, received: versions.length + 1 });
  }
  const numbers = [...versions.map(({ version }) => version), current];
  if (numbers.some((number, index) => index > 0 && number <= (numbers[index - 1] ?? 0))) {
    const message = `The version numbers ${numbers.join(', ')} must rise, the current one last.`;
    throw invalidParam('versions', message, { received: numbers });
  }
  const history: PresetVersion[] = [];
  for (const [index, { version, updatedAt, ...sent }] of versions.entries()) {
    const where = `versions[${index}].`;
    const content = await checkedContent(sent, accountId, rules, where);
    history.push({ version, ...content, updatedAt: instantOf(updatedAt, `${where}updatedAt`, now) });
  }
  return history;
}

function instantOf(text: string | undefined, param: string, now: Date): string {
  const instant = text === undefined ? now : new Date(text);
  if (Number.isNaN(instant.getTime())) {
    throw invalidParam(param, `${param} is no date-time such as 2025-01-31T12:00:00Z.`, { received: text });
  }
  return instant.toISOString();
}
