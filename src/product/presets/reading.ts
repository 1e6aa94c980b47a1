import { invalidParam } from '../../platform/http/errors/errors.ts';
import { parseReference, parseVersion, type Reference } from '../../platform/ids/slugs.ts';
import { findBuiltIn } from './builtins.ts';
import {
  builtInReadOnly,
  malformedVersion,
  namesAVersion,
  presetNotFound,
  presetVersionNotFound,
} from './errors.ts';
import { currentVersion, type Preset, type PresetVersion } from './preset.ts';
import type { PresetsStore } from './store.ts';

/** A preset and one of its versions. */
export interface FoundPreset {
  preset: Preset;
  version: PresetVersion;
}

/**
 * The preset that a call names by id, slug, or either with `@version`; without one, its current version.
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

/** As `findPreset`, for a reference that is already parsed. */
export async function resolve(
  store: PresetsStore,
  accountId: string,
  { idOrSlug, version: number }: Reference,
  param: string,
): Promise<FoundPreset> {
  const preset = findBuiltIn(idOrSlug) ?? (await store.find(accountId, idOrSlug));
  if (preset === null) throw presetNotFound(param);
  const version =
    number === undefined ? currentVersion(preset) : await store.findVersion(accountId, preset, number);
  if (version === null) throw presetVersionNotFound(param, preset);
  return { preset, version };
}

/**
 * The preset and version that a path names, as `slug@version` or with the version as a query parameter.
 * @throws ApiError invalid_param on slug for an invalid version, on version when it is sent both ways.
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
