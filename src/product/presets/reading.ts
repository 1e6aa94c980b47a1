import { invalidParam } from '../../platform/http/errors/errors.ts';
import { parseReference, parseVersion, type Reference } from '../../platform/ids/slugs.ts';
import { BUILT_INS, findBuiltIn } from './builtins.ts';
import {
  builtInReadOnly,
  malformedVersion,
  namesAVersion,
  presetNotFound,
  presetVersionNotFound,
} from './errors.ts';
import { currentVersion, type Preset, type PresetVersion } from './preset.ts';
import { exportOf, presetDataOf, type UsageOf, withUsage } from './responses.ts';
import type { PresetData, PresetListQuery } from './schema.ts';
import type { PresetsStore } from './store.ts';

/** A preset and one of its versions. */
export interface FoundPreset {
  preset: Preset;
  version: PresetVersion;
}

/**
 * The preset that a call names by id, slug, or either with `@version`. Without a version, the current one is used.
 * @param param the parameter that named it, such as `preset` or `presetId`.
 * @throws ApiError invalid_param on `param`, or preset_not_found.
 */
export async function findPreset(
  store: PresetsStore,
  accountId: string,
  text: string,
  param: string,
): Promise<FoundPreset> {
  const reference = parseReference(text);
  if (reference === null) throw malformedVersion(param);
  return resolve(store, accountId, reference, param);
}

/** Does the same as `findPreset` for a parsed reference. */
export async function resolve(
  store: PresetsStore,
  accountId: string,
  { idOrSlug, version: number }: Reference,
  param: string,
): Promise<FoundPreset> {
  const preset = findBuiltIn(idOrSlug) ?? (await store.find(accountId, idOrSlug));
  if (preset === null) throw presetNotFound(param, idOrSlug, await knownSlugs(store, accountId));
  const version =
    number === undefined ? currentVersion(preset) : await store.findVersion(accountId, preset, number);
  if (version === null) throw presetVersionNotFound(param, preset);
  return { preset, version };
}

/** The slugs of the account's presets and of the built-ins. */
export async function knownSlugs(store: PresetsStore, accountId: string): Promise<string[]> {
  return [...(await store.slugs(accountId)), ...BUILT_INS.map(({ slug }) => slug)];
}

/**
 * The preset and version that a path names, as `slug@version` or with the version as a query parameter.
 * @throws ApiError invalid_param on slug for an invalid version; on version when both forms are sent.
 */
export function pathReference(slug: string, version: string | undefined): Reference {
  if (version !== undefined && slug.includes('@')) {
    throw invalidParam('version', 'The version is given twice: send slug@version or ?version=, not both.');
  }
  const reference = parseReference(version === undefined ? slug : `${slug}@${version}`);
  if (reference === null) throw malformedVersion('slug');
  return reference;
}

/** @throws ApiError invalid_param on version. */
export function pathVersion(text: string): number {
  const version = parseVersion(text);
  if (version === null) throw malformedVersion('version');
  return version;
}

/**
 * Refuses to write to a path that names a version or a built-in.
 * @throws ApiError invalid_param on slug, or forbidden.
 */
export function checkWritable(idOrSlug: string): void {
  if (idOrSlug.includes('@')) throw namesAVersion();
  if (findBuiltIn(idOrSlug) !== undefined) throw builtInReadOnly();
}

/** The number of presets in one batch. Each may have 512 KB, and an account may have a thousand. */
const BATCH = 16;
/** The number of presets with their versions in one batch. Each may have 25 MB. */
const BATCH_WITH_VERSIONS = 4;

/**
 * Lists the built-in presets, followed by the account's presets, most recently updated first. Their ids are read at the
 * start, so that a save during the listing hides no preset; the presets are read in batches.
 */
export async function listPresets(
  store: PresetsStore,
  accountId: string,
  { filter, includeVersions = false }: PresetListQuery,
  usageOf: UsageOf,
): Promise<AsyncGenerator<PresetData>> {
  const batch = includeVersions ? BATCH_WITH_VERSIONS : BATCH;
  const ids = filter === 'builtin' ? [] : await store.ids(accountId);

  async function* rows(): AsyncGenerator<PresetData> {
    if (filter !== 'user') yield* await readRows(BUILT_INS);
    for (let start = 0; start < ids.length; start += batch) {
      yield* await readRows(await store.findAll(accountId, ids.slice(start, start + batch)));
    }
  }

  async function readRows(presets: readonly Preset[]): Promise<PresetData[]> {
    const [usage, histories] = await Promise.all([
      usageOf(
        accountId,
        presets.map(({ _id }) => _id),
      ),
      includeVersions ? store.histories(accountId, presets) : undefined,
    ]);
    return presets.map((preset, index) => {
      const data = histories === undefined ? presetDataOf(preset) : exportOf(preset, histories[index] ?? []);
      return withUsage(data, usage);
    });
  }

  return rows();
}
