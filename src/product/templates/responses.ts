import { isBuiltIn } from '../../platform/ids/slugs.ts';
import type { TemplateData } from './schema.ts';
import type { StoredSummary, TemplateVersion } from './template.ts';

/**
 * A template as the API shows it, at its current version. The response schema drops fields that are only stored; that
 * of a listing also drops html and css.
 */
export function templateDataOf<T extends StoredSummary>({ _id: id, ...rest }: T) {
  return { id, builtIn: isBuiltIn(id), ...rest };
}

/** One version as the API shows it, without the fields that belong to the template as a whole. */
export function versionDataOf({ _id: id, templateId, ...rest }: TemplateVersion): TemplateData {
  return { id, builtIn: isBuiltIn(templateId), ...rest };
}
