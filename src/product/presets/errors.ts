import { ApiError, invalidParam } from '../../platform/http/errors.ts';
import type { Preset } from './preset.ts';
import { VERSIONS_MAX } from './schema.ts';

/**
 * 404: the preset does not exist, or belongs to another account.
 * @param param the parameter that named the preset.
 */
export function presetNotFound(param: string): ApiError {
  const message = 'No preset of this account has this id or slug: GET /api/v1/presets lists them.';
  return new ApiError('preset_not_found', message, { param });
}

/**
 * 404: the preset does not have this version, or no longer.
 * @param param the parameter that named the version.
 */
export function presetVersionNotFound(param: string, { version, superseded }: Preset): ApiError {
  const versions = [...superseded, version];
  const message = `This preset has no such version: it has ${versions.join(', ')}. Without a version the current one is taken, ${version}.`;
  return new ApiError('preset_not_found', message, { param, details: { allowed: versions } });
}

/** 400: the text behind `@`, or the parameter `version`, is no version number. */
export function malformedVersion(param: string): ApiError {
  return invalidParam(param, `The version that ${param} names must be a whole number from 1.`);
}

/** 403: built-ins are read only. */
export function builtInReadOnly(): ApiError {
  const message =
    'A built-in preset cannot be changed or deleted: create your own from its steps, under a slug of its own.';
  return new ApiError('forbidden', message, { param: 'slug' });
}

/** 400: another preset of the account has this slug. */
export function slugTaken(slug: string): ApiError {
  const message = `slug "${slug}" is already one of your presets': send another, or none to have one made.`;
  return invalidParam('slug', message);
}

/** 400: a path names a version where only the preset may be named. */
export function namesAVersion(): ApiError {
  return invalidParam('slug', 'The path names a version of a preset: leave out the @ and what follows it.');
}

/** 422: the account would exceed its number of presets. */
export function tooManyPresets(limit: number, left: number): ApiError {
  const message = `An account holds at most ${limit} presets and ${left} are left: delete some, or send fewer.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit, left } });
}

/** 422: an import has far more entries than an account can hold. None of them is checked. */
export function tooManyEntries(limit: number, received: number): ApiError {
  const message = `The import has ${received} entries, and at most ${limit} are read: nothing was imported, send fewer.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit, received } });
}

/** 422: the preset has reached its number of stored versions. */
export function tooManyVersions(): ApiError {
  const message = `A preset keeps at most ${VERSIONS_MAX} versions: delete one with DELETE /api/v1/presets/{slug}/versions/{version}.`;
  return new ApiError('resource_limit_exceeded', message, {
    param: 'steps',
    details: { limit: VERSIONS_MAX },
  });
}

/** 500, retryable: concurrent writes to the same preset were faster in every attempt. */
export function tooContended(): ApiError {
  return new ApiError('internal_error', 'Too many writes met over the same preset: repeat the same call.', {
    details: { reason: 'contention' },
    retryAfterSeconds: 1,
  });
}
