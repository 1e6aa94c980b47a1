import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { parseVersion, parseVersionedReference, type VersionedReference } from '../../platform/ids/slugs.ts';
import { BUILT_IN_PRESETS, findBuiltInPreset } from './builtins.ts';
import {
  builtInPresetReadOnlyError,
  malformedPresetVersionError,
  pathNamesVersionError,
  presetNotFoundError,
  presetVersionNotFoundError,
} from './errors.ts';
import { currentPresetVersion, type Preset, type PresetVersion } from './preset.ts';
import { presetDataOf, presetExportOf, type ReadPresetUsage, withPresetUsage } from './responses.ts';
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
  const reference = parseVersionedReference(text);
  if (reference === null) throw malformedPresetVersionError(param);
  return resolvePresetReference(store, accountId, reference, param);
}

/** Does the same as `findPreset` for a parsed reference. */
export async function resolvePresetReference(
  store: PresetsStore,
  accountId: string,
  { idOrSlug, version: number }: VersionedReference,
  param: string,
): Promise<FoundPreset> {
  const preset = findBuiltInPreset(idOrSlug) ?? (await store.find(accountId, idOrSlug));
  if (preset === null) throw presetNotFoundError(param, idOrSlug, await knownSlugs(store, accountId));
  const version =
    number === undefined ? currentPresetVersion(preset) : await store.findVersion(accountId, preset, number);
  if (version === null) throw presetVersionNotFoundError(param, preset);
  return { preset, version };
}

/** The slugs of the account's presets and of the built-ins. */
export async function knownSlugs(store: PresetsStore, accountId: string): Promise<string[]> {
  return [...(await store.slugs(accountId)), ...BUILT_IN_PRESETS.map(({ slug }) => slug)];
}

/**
 * The preset and version that a path names, as `slug@version` or with the version as a query parameter.
 * @throws ApiError invalid_param on slug for an invalid version; on version when both forms are sent.
 */
export function presetReferenceOfPath(slug: string, version: string | undefined): VersionedReference {
  if (version !== undefined && slug.includes('@')) {
    throw invalidParamError(
      'version',
      'The version is given twice: send slug@version or ?version=, not both.',
    );
  }
  const reference = parseVersionedReference(version === undefined ? slug : `${slug}@${version}`);
  if (reference === null) throw malformedPresetVersionError('slug');
  return reference;
}

/** @throws ApiError invalid_param on version. */
export function presetVersionOfPath(text: string): number {
  const version = parseVersion(text);
  if (version === null) throw malformedPresetVersionError('version');
  return version;
}

/**
 * Refuses to write to a path that names a version or a built-in.
 * @throws ApiError invalid_param on slug, or forbidden.
 */
export function refuseReadOnlyPresetPath(idOrSlug: string): void {
  if (idOrSlug.includes('@')) throw pathNamesVersionError();
  if (findBuiltInPreset(idOrSlug) !== undefined) throw builtInPresetReadOnlyError();
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
  usageOf: ReadPresetUsage,
): Promise<AsyncGenerator<PresetData>> {
  const batch = includeVersions ? BATCH_WITH_VERSIONS : BATCH;
  const ids = filter === 'builtin' ? [] : await store.ids(accountId);

  async function* rows(): AsyncGenerator<PresetData> {
    if (filter !== 'user') yield* await readRows(BUILT_IN_PRESETS);
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
      const data =
        histories === undefined ? presetDataOf(preset) : presetExportOf(preset, histories[index] ?? []);
      return withPresetUsage(data, usage);
    });
  }

  return rows();
}
