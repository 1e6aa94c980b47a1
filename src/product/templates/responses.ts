import { isBuiltInReference } from '../../platform/ids/slugs.ts';
import type { TemplateData } from './schema.ts';
import type { StoredTemplateSummary, TemplateVersion } from './template.ts';

/**
 * A template as the API shows it, at its current version. The response schema drops fields that are only stored; that
 * of a listing also drops html and css.
 */
export function templateDataOf<T extends StoredTemplateSummary>({ _id: id, ...rest }: T) {
  return { id, builtIn: isBuiltInReference(id), ...rest };
}

/** One version as the API shows it, without the fields that belong to the template as a whole. */
export function templateVersionDataOf({ _id: id, templateId, ...rest }: TemplateVersion): TemplateData {
  return { id, builtIn: isBuiltInReference(templateId), ...rest };
}
