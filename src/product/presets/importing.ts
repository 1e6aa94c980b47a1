import { setImmediate as letOthersIn } from 'node:timers/promises';
import { checkOf } from '../../platform/http/error-answers/validation.ts';
import { ApiError, invalidParam } from '../../platform/http/errors.ts';
import { readInstant } from '../../platform/http/instants.ts';
import { slugFromName } from '../../platform/names/slugs.ts';
import type { SentSchema } from '../catalogue/plan/ai-step.ts';
import type { NamedAsset } from '../catalogue/plan/named-assets.ts';
import type { Models } from '../models/models.ts';
import { tooManyEntries } from './errors.ts';
import { checkNamedAssets, type MissingAssets } from './named-assets.ts';
import type { PresetVersion } from './preset.ts';
import { type ContentRules, checkName, isOwnSlug, readContent } from './rules.ts';
import { PresetEntry, VERSIONS_MAX } from './schema.ts';
import { type Draft, PRESETS_PER_ACCOUNT } from './store.ts';

/** The most ids of one query for assets. */
const ASSETS_PER_TRIP = 1_000;

const checkEntry = checkOf(PresetEntry, 'entry');

/** An entry that can be stored if its assets exist. */
interface ReadEntry {
  draft: Draft;
  named: NamedAsset[];
  schemas: SentSchema[];
}

/** The most answer schemas of one import. Each occupies a thread for up to half a second. */
const SCHEMAS_MAX = 20;
/** Ten times the presets of an account: many of the entries may be refused, but their number is bounded. */
const ENTRIES_MAX = 10 * PRESETS_PER_ACCOUNT;

/**
 * Divides the entries of an import into those that can be stored, in the order sent, and refusals with index and
 * reason. Each entry, with its earlier versions, is checked like a new preset. The assets of all entries are looked up
 * together. The event loop serves other calls between two entries.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, for far more than an account can hold.
 */
export async function sortEntries(
  entries: readonly unknown[],
  accountId: string,
  { models, missingAssets, answerSchemas }: ContentRules,
  now: Date,
): Promise<{ drafts: Draft[]; errors: string[] }> {
  if (entries.length > ENTRIES_MAX) throw tooManyEntries(ENTRIES_MAX, entries.length);
  const read: Array<ReadEntry | ApiError> = [];
  for (const entry of entries) {
    read.push(await orRefusal(async () => readEntry(checkEntry(entry), models, now)));
    await letOthersIn();
  }
  const entriesRead = read.flatMap((entry) => (entry instanceof ApiError ? [] : [entry]));
  refuseManySchemas(entriesRead.flatMap(({ schemas }) => schemas));
  const named = entriesRead.flatMap((entry) => entry.named);
  const missing = await missingAmong(named, accountId, missingAssets);
  const drafts: Draft[] = [];
  const errors: string[] = [];
  for (const [index, entry] of read.entries()) {
    const sorted = entry instanceof ApiError ? entry : await orRefusal(() => landing(entry, missing));
    if (sorted instanceof ApiError) errors.push(`[${index}] ${sorted.param}: ${sorted.message}`);
    else drafts.push(sorted);
    await letOthersIn();
  }
  return { drafts, errors };

  async function landing(entry: ReadEntry, missing: ReadonlySet<string>): Promise<Draft> {
    const { draft, named, schemas } = entry;
    await checkNamedAssets(named, accountId, async (_, ids) => ids.filter((id) => missing.has(id)));
    await answerSchemas.check(accountId, schemas);
    return draft;
  }
}

/** @throws ApiError resource_limit_exceeded for more answer schemas than one import may have. */
function refuseManySchemas(schemas: readonly SentSchema[]): void {
  const { size } = new Set(schemas.map(({ schema }) => JSON.stringify(schema)));
  if (size <= SCHEMAS_MAX) return;
  throw new ApiError(
    'resource_limit_exceeded',
    `The presets have ${size} different answer schemas, and one import takes at most ${SCHEMAS_MAX}: send them in several imports.`,
    { details: { limit: SCHEMAS_MAX, received: size } },
  );
}

async function orRefusal<T>(work: () => Promise<T>): Promise<T | ApiError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return error;
    throw error;
  }
}

/** Those of the named assets that do not exist. */
async function missingAmong(
  named: readonly NamedAsset[],
  accountId: string,
  missingAssets: MissingAssets,
): Promise<Set<string>> {
  const ids = [...new Set(named.map(({ assetId }) => assetId))];
  const missing = new Set<string>();
  for (let start = 0; start < ids.length; start += ASSETS_PER_TRIP) {
    const trip = ids.slice(start, start + ASSETS_PER_TRIP);
    for (const id of await missingAssets(accountId, trip)) missing.add(id);
  }
  return missing;
}

function readEntry(entry: PresetEntry, models: Models, now: Date): ReadEntry {
  const { name, description = '', version = 1, slug } = entry;
  checkName(name);
  const { content, named, schemas } = readContent(entry, models);
  const earlier = historyOf(entry, models, now);
  const draft: Draft = {
    name,
    description,
    version,
    ...content,
    history: earlier.history,
    slug: isOwnSlug(slug) ? slug : slugFromName(name, 'preset'),
    takesSuffix: true,
  };
  return { draft, named: [...named, ...earlier.named], schemas: [...schemas, ...earlier.schemas] };
}

function historyOf(
  { version: current = 1, versions = [] }: PresetEntry,
  models: Models,
  now: Date,
): { history: PresetVersion[]; named: NamedAsset[]; schemas: SentSchema[] } {
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
  const named: NamedAsset[] = [];
  const schemas: SentSchema[] = [];
  for (const [index, { version, updatedAt, ...sent }] of versions.entries()) {
    const where = `versions[${index}].`;
    const earlier = readContent(sent, models, where);
    const savedAt = instantOf(updatedAt, `${where}updatedAt`, now);
    history.push({ version, ...earlier.content, updatedAt: savedAt });
    named.push(...earlier.named);
    schemas.push(...earlier.schemas);
  }
  return { history, named, schemas };
}

function instantOf(text: string | undefined, param: string, now: Date): string {
  const instant = text === undefined ? now : readInstant(text);
  if (instant === null) {
    throw invalidParam(param, `${param} must be an instant with its zone, such as 2025-01-31T12:00:00Z.`, {
      received: text,
    });
  }
  return instant.toISOString();
}
