import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { notFoundHint } from '../../platform/ids/ids.ts';
import type { Preset } from './preset.ts';
import { MAX_PRESET_VERSIONS } from './schema.ts';

/**
 * The error 404 for a preset that does not exist or belongs to another account.
 * @param param the parameter that contains the name of the preset.
 * @param known the slugs of the presets that the account may use, for a suggestion.
 */
export function presetNotFoundError(param: string, sent: string, known: readonly string[] = []): ApiError {
  const { says, details } = notFoundHint(sent, 'pre', known);
  const message = `No preset of this account has this id or slug: GET /api/v1/presets lists them.${says}`;
  return new ApiError('preset_not_found', message, { param, details });
}

/**
 * The error 404 for a version that the preset does not have, or that was deleted.
 * @param param the parameter that contains the version.
 */
export function presetVersionNotFoundError(param: string, { version, superseded }: Preset): ApiError {
  const versions = [...superseded, version];
  const message = `This preset has no such version: it has ${versions.join(', ')}. Without a version the current one is taken, ${version}.`;
  return new ApiError('preset_not_found', message, { param, details: { allowed: versions } });
}

/** The error 400 when the text after `@`, or in the parameter `version`, is not a version number. */
export function malformedPresetVersionError(param: string): ApiError {
  return invalidParamError(param, `The version that ${param} names must be a whole number from 1.`);
}

/** The error 403 for a change of a built-in preset. Built-in presets are read-only. */
export function builtInPresetReadOnlyError(): ApiError {
  const message =
    'A built-in preset cannot be changed or deleted: create your own from its steps, under another slug.';
  return new ApiError('forbidden', message, { param: 'slug' });
}

/** The error 400 for a path with a version (`@3`) where only a preset is allowed. */
export function pathNamesVersionError(): ApiError {
  const message = 'The path names a version of a preset: leave out the @ and what follows it.';
  return invalidParamError('slug', message);
}

/** The error 422 when a preset already has the maximum number of stored versions. */
export function tooManyPresetVersionsError(): ApiError {
  const message = `A preset keeps at most ${MAX_PRESET_VERSIONS} versions: delete one with DELETE /api/v1/presets/{slug}/versions/{version}.`;
  const context = { param: 'steps', details: { limit: MAX_PRESET_VERSIONS } };
  return new ApiError('resource_limit_exceeded', message, context);
}
