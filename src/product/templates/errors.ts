import { ApiError, invalidParam } from '../../platform/http/errors.ts';

/** 404: the template does not exist, or belongs to another account. */
export function templateNotFound(): ApiError {
  return new ApiError(
    'not_found',
    'No template of this account has this id or slug: GET /api/v1/templates lists them.',
    {
      param: 'templateId',
    },
  );
}

/** 404: the template does not have this version, or no longer. @param current the number of its current version. */
export function templateVersionNotFound(current: number): ApiError {
  const message = `This template has no such version: its current one is ${current}, which is taken without a version; GET /api/v1/templates/{templateId}/versions lists all.`;
  return new ApiError('not_found', message, { param: 'templateId', details: { current } });
}

/** 400: the text behind `@` is no version number. */
export function malformedVersion(): ApiError {
  return invalidParam('templateId', 'The version after the @ of templateId must be a whole number from 1.');
}

/** 403: built-ins are read only. */
export function builtInReadOnly(): ApiError {
  return new ApiError(
    'forbidden',
    'A built-in template cannot be changed or deleted: create your own from its html and css.',
    {
      param: 'templateId',
    },
  );
}

/** 400: another template of the account has this slug. */
export function slugTaken(slug: string): ApiError {
  return invalidParam(
    'slug',
    `slug "${slug}" is already one of your templates': send another, or none to have one made.`,
  );
}

/** 422: the account would exceed its number of templates. */
export function tooManyTemplates(limit: number, left: number): ApiError {
  return new ApiError(
    'resource_limit_exceeded',
    `An account holds at most ${limit} templates and ${left} are left: delete some, or send fewer.`,
    { details: { limit, left } },
  );
}

/** 422: an import has far more entries than an account can hold. None of them is checked. */
export function tooManyEntries(limit: number, received: number): ApiError {
  return new ApiError(
    'resource_limit_exceeded',
    `The import has ${received} entries, and at most ${limit} are read: nothing was imported, send fewer.`,
    { details: { limit, received } },
  );
}

/** 500, retryable: concurrent writes to the same template were faster in every attempt. */
export function tooContended(): ApiError {
  return new ApiError('internal_error', 'Too many writes met over the same template: repeat the same call.', {
    details: { reason: 'contention' },
    retryAfterSeconds: 1,
  });
}
