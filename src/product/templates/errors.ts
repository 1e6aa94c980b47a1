import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { missingHint } from '../../platform/ids/ids.ts';

/**
 * The error 404: the template does not exist, or belongs to another account.
 * @param known the template names that the account may use.
 */
export function templateNotFoundError(sent: string, known: readonly string[]): ApiError {
  const { says, details } = missingHint(sent, 'tpl', known);
  const message = `No template of this account has this id or slug: GET /api/v1/templates lists them.${says}`;
  return new ApiError('not_found', message, { param: 'templateId', details });
}

/**
 * The error 404: the template does not have this version, or no longer has it.
 * @param current the number of its current version.
 */
export function templateVersionNotFoundError(current: number): ApiError {
  const message = `This template has no such version: its current one is ${current}, which is taken without a version; GET /api/v1/templates/{templateId}/versions lists all.`;
  return new ApiError('not_found', message, { param: 'templateId', details: { current } });
}

/** The error 400: the text after `@` is not a version number. */
export function malformedTemplateVersionError(): ApiError {
  const message = 'The version after the @ of templateId must be a whole number from 1.';
  return invalidParamError('templateId', message);
}

/** The error 403 for a change of a built-in template, which is read-only. */
export function builtInTemplateReadOnlyError(): ApiError {
  const message = 'A built-in template cannot be changed or deleted: create your own from its html and css.';
  return new ApiError('forbidden', message, { param: 'templateId' });
}
