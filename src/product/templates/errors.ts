import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { notFoundHint } from '../../platform/ids/ids.ts';

/**
 * The error 404 for a template that does not exist or belongs to another account.
 * @param known the names of the templates that the account may use, for a suggestion.
 */
export function templateNotFoundError(sent: string, known: readonly string[]): ApiError {
  const { says, details } = notFoundHint(sent, 'tpl', known);
  const message = `No template of this account has this id or slug: GET /api/v1/templates lists them.${says}`;
  return new ApiError('not_found', message, { param: 'templateId', details });
}

/**
 * The error 404 for a version that the template does not have, or that was deleted.
 * @param current the number of the current version.
 */
export function templateVersionNotFoundError(current: number): ApiError {
  const message = `This template has no such version: its current one is ${current}, which is taken without a version; GET /api/v1/templates/{templateId}/versions lists all.`;
  return new ApiError('not_found', message, { param: 'templateId', details: { current } });
}

/** The error 400 when the text after `@` is not a version number. */
export function malformedTemplateVersionError(): ApiError {
  const message = 'The version after the @ of templateId must be a whole number from 1.';
  return invalidParamError('templateId', message);
}

/** The error 403 for a change of a built-in template. Built-in templates are read-only. */
export function builtInTemplateReadOnlyError(): ApiError {
  const message = 'A built-in template cannot be changed or deleted: create your own from its html and css.';
  return new ApiError('forbidden', message, { param: 'templateId' });
}

/** The error 422 when a template already has the maximum number of versions. */
export function tooManyTemplateVersionsError(limit: number): ApiError {
  const message = `A template keeps at most ${limit} versions: create another template, or delete this one and create it again.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit } });
}
