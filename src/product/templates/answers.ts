import { isBuiltIn } from './builtins/index.ts';
import type { TemplateData, TemplateSummary } from './schema.ts';
import type { StoredSummary, Template, TemplateVersion } from './template.ts';

/** A template as the API shows it, at its current version. */
export function dataOf(template: Template): TemplateData {
  const { html, css } = template;
  return { ...summaryOf(template), html, css };
}

/** A template as the API shows it in a listing. */
export function summaryOf(template: StoredSummary): TemplateSummary {
  const {
    _id: id,
    slug,
    name,
    description,
    width,
    height,
    variables,
    version,
    createdAt,
    updatedAt,
  } = template;
  return {
    id,
    builtIn: isBuiltIn(id),
    name,
    slug,
    description,
    width,
    height,
    variables,
    version,
    createdAt,
    updatedAt,
  };
}

/** One version as the API shows it, without the fields of the whole template. */
export function versionDataOf(found: TemplateVersion): TemplateData {
  const { _id: id, templateId, name, html, css, width, height, variables, version, createdAt } = found;
  return {
    id,
    builtIn: isBuiltIn(templateId),
    name,
    width,
    height,
    variables,
    version,
    createdAt,
    html,
    css,
  };
}
