import { isBuiltIn } from '../../platform/names/slugs.ts';
import type { TemplateData, TemplateSummary } from './schema.ts';
import type { StoredSummary, Template, TemplateVersion } from './template.ts';

/** A template as the API shows it, at its current version. The schema of the answer drops what is only stored. */
export function dataOf({ _id: id, ...shown }: Template): TemplateData {
  return { id, builtIn: isBuiltIn(id), ...shown };
}

/** A template as the API shows it in a listing, whose schema drops html and css. */
export function summaryOf({ _id: id, ...shown }: StoredSummary): TemplateSummary {
  return { id, builtIn: isBuiltIn(id), ...shown };
}

/** One version as the API shows it, without the fields of the whole template. */
export function versionDataOf({ _id: id, templateId, ...shown }: TemplateVersion): TemplateData {
  return { id, builtIn: isBuiltIn(templateId), ...shown };
}
