import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import {
  isBuiltInReference,
  parseVersion,
  parseVersionedReference,
  type VersionedReference,
} from '../../platform/ids/slugs.ts';
import { inBatches } from '../../platform/values/batches.ts';
import { type StepWarning, stepWarningsOf } from '../catalogue/checks/warnings.ts';
import { compileSteps } from '../catalogue/plan/compile.ts';
import { sentSteps } from '../catalogue/plan/step.ts';
import type { ModelsFile } from '../models/models.ts';
import { BUILT_IN_PRESETS, findBuiltInPreset } from './builtins.ts';
import {
  builtInPresetReadOnlyError,
  malformedPresetVersionError,
  pathNamesVersionError,
  presetNotFoundError,
  presetVersionNotFoundError,
} from './errors.ts';
import { currentPresetVersion, type Preset, type PresetVersion } from './preset.ts';
import type { PresetData, PresetListQuery, PresetUsage } from './schema.ts';
import type { PresetsStore } from './store.ts';

export interface FoundPreset {
  preset: Preset;
  version: PresetVersion;
}

/**
 * The preset to which a call refers. The reference is an id or a slug, either with or without `@version`. Without a
 * version, it is the current one.
 * @param param the parameter that contains the reference, such as `preset` or `presetId`.
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

/** Finds the preset and the version of a reference that is already parsed. The errors are those of `findPreset`. */
export async function resolvePresetReference(
  store: PresetsStore,
  accountId: string,
  { idOrSlug, version: number }: VersionedReference,
  param: string,
): Promise<FoundPreset> {
  const preset = findBuiltInPreset(idOrSlug) ?? (await store.find(accountId, idOrSlug));
  if (preset === null) throw await readMissingPresetError(store, accountId, param, idOrSlug);
  const version =
    number === undefined ? currentPresetVersion(preset) : await store.findVersion(accountId, preset, number);
  if (version === null) throw presetVersionNotFoundError(param, preset);
  return { preset, version };
}

/** The error for a preset that the account does not have. It suggests similar slugs that the account may use. */
export async function readMissingPresetError(
  store: PresetsStore,
  accountId: string,
  param: string,
  idOrSlug: string,
): Promise<ApiError> {
  const own = await store.listSlugs(accountId);
  return presetNotFoundError(param, idOrSlug, [...own, ...BUILT_IN_PRESETS.map(({ slug }) => slug)]);
}

/**
 * Parses the preset and the version in a path. The version may be part of the slug (`slug@version`) or a query
 * parameter.
 * @throws ApiError invalid_param on slug for an invalid version; on version when both forms are sent.
 */
export function parsePresetReferencePath(slug: string, version: string | undefined): VersionedReference {
  if (version !== undefined && slug.includes('@')) {
    const message = 'The version is given twice: send slug@version or ?version=, not both.';
    throw invalidParamError('version', message);
  }
  const reference = parseVersionedReference(version === undefined ? slug : `${slug}@${version}`);
  if (reference === null) throw malformedPresetVersionError('slug');
  return reference;
}

/**
 * Parses the version in a path.
 * @throws ApiError invalid_param on version.
 */
export function parsePresetVersionPath(text: string): number {
  const version = parseVersion(text);
  if (version === null) throw malformedPresetVersionError('version');
  return version;
}

/**
 * Refuses to change a preset version or a built-in preset.
 * @throws ApiError invalid_param on slug, or forbidden.
 */
export function refuseReadOnlyPresetPath(idOrSlug: string): void {
  if (idOrSlug.includes('@')) throw pathNamesVersionError();
  if (findBuiltInPreset(idOrSlug) !== undefined) throw builtInPresetReadOnlyError();
}

/** How many presets are read at a time. A preset may have 512 KB, and an account a thousand presets. */
const PRESET_BATCH_SIZE = 16;

/**
 * Lists the built-in presets, followed by the account's own, most recently updated first. All ids are read at the
 * start, so that no preset is missed because it is saved during the listing. The presets themselves are read in
 * batches.
 */
export async function listPresets(
  store: PresetsStore,
  accountId: string,
  { filter, includeVersions = false }: PresetListQuery,
  readPresetUsage: ReadPresetUsage,
): Promise<AsyncGenerator<PresetData>> {
  const ids = filter === 'builtin' ? [] : await store.listIds(accountId);

  async function* rows(): AsyncGenerator<PresetData> {
    if (filter !== 'user') yield* readRows(BUILT_IN_PRESETS);
    for (const batch of inBatches(ids, PRESET_BATCH_SIZE)) {
      yield* readRows(await store.findAll(accountId, batch));
    }
  }

  async function* readRows(presets: readonly Preset[]): AsyncGenerator<PresetData> {
    const presetIds = presets.map(({ _id }) => _id);
    const usage = await readPresetUsage(accountId, presetIds);
    for (const preset of presets) {
      // Only one history is held at a time.
      const data = includeVersions
        ? presetExportOf(preset, await store.findHistory(accountId, preset))
        : presetDataOf(preset);
      yield withPresetUsage(data, usage);
    }
  }

  return rows();
}

/** Returns the number of runs by preset id. A preset without an entry has never run. */
export type ReadPresetUsage = (
  accountId: string,
  presetIds: readonly string[],
) => Promise<ReadonlyMap<string, PresetUsage>>;

const NO_USAGE: PresetUsage = { runs: 0 };

function presetDataOf(preset: Preset): PresetData {
  const { _id: id, superseded, versionSavedAt: _, ...rest } = preset;
  return { id, builtIn: isBuiltInReference(id), ...rest, versionCount: superseded.length + 1 };
}

export function presetExportOf(preset: Preset, versions: PresetVersion[]): PresetData {
  return { ...presetDataOf(preset), versions };
}

/** An earlier version as the API shows it. The name is the current one of the preset. */
export function earlierVersionDataOf(
  { widths: _, fallback: __, ...preset }: Preset,
  version: PresetVersion,
): PresetData {
  return presetDataOf({ ...preset, ...version });
}

/** A preset in the response to a write, with warnings. */
export function savedPresetDataOf(preset: Preset, versions: PresetVersion[], models: ModelsFile): PresetData {
  return { ...presetExportOf(preset, versions), warnings: findPresetWarnings(preset, models) };
}

/**
 * The warnings about the steps of a preset. The list is empty if the steps are no longer valid, for example because
 * their model is no longer offered.
 */
function findPresetWarnings({ steps }: Preset, models: ModelsFile): StepWarning[] {
  try {
    return stepWarningsOf(compileSteps(sentSteps(steps), models));
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** Adds the usage to a preset, for responses to reads. Responses to writes have none. */
export function withPresetUsage(data: PresetData, usage: ReadonlyMap<string, PresetUsage>): PresetData {
  return { ...data, usage: usage.get(data.id) ?? NO_USAGE };
}
