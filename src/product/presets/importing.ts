import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { createValidator } from '../../platform/http/errors/validation.ts';
import { parseRfc3339Instant } from '../../platform/http/fields.ts';
import { slugFromName } from '../../platform/ids/slugs.ts';
import { checkImportEntryCount, partitionEntries } from '../../platform/named-documents.ts';
import { inBatches } from '../../platform/values/batches.ts';
import type { RequestedAnswerSchema } from '../catalogue/plan/subjects.ts';
import type { ModelsFile } from '../models/models.ts';
import {
  checkPresetName,
  type FindMissingAssets,
  isUsablePresetSlug,
  type ParsedPresetContent,
  type PresetContentRules,
  parsePresetContent,
  refuseMissingAssets,
} from './rules.ts';
import { MAX_PRESET_VERSIONS, PresetEntry } from './schema.ts';
import { PRESET_KIND, type PresetDraft } from './store.ts';

/** The maximum number of asset ids in one query. */
const ASSETS_PER_QUERY = 1_000;

const validateEntry = createValidator(PresetEntry, 'entry');

/** An entry that can be stored, provided that its assets exist. */
interface ParsedEntry extends Omit<ParsedPresetContent, 'content'> {
  draft: PresetDraft;
}

/** The maximum number of answer schemas in one import. Compiling a schema occupies a thread for up to half a second. */
const MAX_IMPORTED_SCHEMAS = 20;

/**
 * Checks the entries of an import. Returns those that can be stored, in the order sent, and for each of the others its
 * index and the reason. Each entry and its earlier versions are checked like a new preset; the assets of all entries
 * are looked up together. The event loop serves other calls between two entries.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, if there are far more entries than an account
 * may store.
 */
export async function parsePresetEntries(
  entries: readonly unknown[],
  accountId: string,
  { models, findMissingAssets, answerSchemas }: PresetContentRules,
  now: Date,
): Promise<{ drafts: PresetDraft[]; errors: string[] }> {
  checkImportEntryCount(PRESET_KIND, entries.length);
  const read = await partitionEntries(entries.entries(), (entry) =>
    parseEntry(validateEntry(entry), models, now),
  );
  const entriesRead = read.accepted.map(([, entry]) => entry);
  refuseTooManySchemas(entriesRead.flatMap(({ schemas }) => schemas));
  const references = entriesRead.flatMap(({ named }) => named);
  const missing = await findMissingAssetIds(references, accountId, findMissingAssets);
  const checked = await partitionEntries(read.accepted, async ({ draft, named, schemas }) => {
    await refuseMissingAssets(named, accountId, async (_, ids) => ids.filter((id) => missing.has(id)));
    await answerSchemas.check(accountId, schemas);
    return draft;
  });
  const refused = [...read.refused, ...checked.refused].sort((one, other) => one.index - other.index);
  return {
    drafts: checked.accepted.map(([, draft]) => draft),
    errors: refused.map(({ index, error }) => `[${index}] ${error.param}: ${error.message}`),
  };
}

/**
 * Refuses an import with too many answer schemas.
 * @throws ApiError resource_limit_exceeded.
 */
function refuseTooManySchemas(schemas: readonly RequestedAnswerSchema[]): void {
  const { size } = new Set(schemas.map(({ schema }) => JSON.stringify(schema)));
  if (size <= MAX_IMPORTED_SCHEMAS) return;
  throw new ApiError(
    'resource_limit_exceeded',
    `The presets have ${size} different answer schemas, and one import takes at most ${MAX_IMPORTED_SCHEMAS}: send them in several imports.`,
    { details: { limit: MAX_IMPORTED_SCHEMAS, received: size } },
  );
}

/** Finds which of these assets do not exist. */
async function findMissingAssetIds(
  named: ParsedPresetContent['named'],
  accountId: string,
  findMissingAssets: FindMissingAssets,
): Promise<Set<string>> {
  const ids = [...new Set(named.map(({ assetId }) => assetId))];
  const missing = new Set<string>();
  for (const batch of inBatches(ids, ASSETS_PER_QUERY)) {
    for (const id of await findMissingAssets(accountId, batch)) missing.add(id);
  }
  return missing;
}

function parseEntry(entry: PresetEntry, models: ModelsFile, now: Date): ParsedEntry {
  const { name, description = '', version = 1, versions = [], slug } = entry;
  checkPresetName(name);
  const current = parsePresetContent(entry, models);
  checkVersionNumbers([...versions.map((earlier) => earlier.version), version]);
  const earlier = versions.map((sent, index) => {
    const where = `versions[${index}].`;
    const read = parsePresetContent(sent, models, where);
    const updatedAt = parseInstant(sent.updatedAt, `${where}updatedAt`, now);
    return { ...read, version: { version: sent.version, ...read.content, updatedAt } };
  });
  const all = [current, ...earlier];
  return {
    draft: {
      name,
      description,
      version,
      ...current.content,
      history: earlier.map((read) => read.version),
      slug: isUsablePresetSlug(slug) ? slug : slugFromName(name, 'preset'),
      takesSuffix: true,
    },
    named: all.flatMap(({ named }) => named),
    schemas: all.flatMap(({ schemas }) => schemas),
  };
}

/** Checks the version numbers of an entry. The last one is that of the current version. */
function checkVersionNumbers(numbers: readonly number[]): void {
  if (numbers.length > MAX_PRESET_VERSIONS) {
    const message = `The entry has ${numbers.length} versions with the current one: at most ${MAX_PRESET_VERSIONS} are kept.`;
    throw invalidParamError('versions', message, { limit: MAX_PRESET_VERSIONS, received: numbers.length });
  }
  if (numbers.some((number, index) => index > 0 && number <= (numbers[index - 1] ?? 0))) {
    const message = `The version numbers ${numbers.join(', ')} must rise, the current one last.`;
    throw invalidParamError('versions', message, { received: numbers });
  }
}

function parseInstant(text: string | undefined, param: string, now: Date): string {
  const instant = text === undefined ? now : parseRfc3339Instant(text);
  if (instant === null) {
    const message = `${param} must be an instant with its zone, such as 2025-01-31T12:00:00Z.`;
    throw invalidParamError(param, message, { received: text });
  }
  return instant.toISOString();
}
