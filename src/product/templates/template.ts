import { isBuiltInReference } from '../../platform/ids/slugs.ts';
import type { TemplateContent, TemplateData } from './schema.ts';

/** A template with its current version. Instants are in ISO 8601. */
export interface Template extends TemplateContent {
  _id: string;
  slug: string;
  version: number;
  createdAt: string;
  /** When the current version was saved. */
  updatedAt: string;
}

/**
 * A stored version, which never changes. It is normally an earlier version, but after a crash it may be a copy of the
 * current one.
 */
export interface TemplateVersion extends Omit<TemplateContent, 'description'> {
  /**
   * `<template id>@<version>`. It is the primary key, so that a stored version cannot be stored again with other
   * content.
   */
  _id: string;
  templateId: string;
  version: number;
  /** When this version was saved. */
  createdAt: string;
}

/** The fields that a listing reads: all except html and css. */
export const TEMPLATE_SUMMARY_FIELDS = [
  'slug',
  'name',
  'description',
  'width',
  'height',
  'variables',
  'version',
  'createdAt',
  'updatedAt',
] as const;
export type StoredTemplateSummary = Pick<Template, '_id' | (typeof TEMPLATE_SUMMARY_FIELDS)[number]>;

/** The current version of a template, in the form of an earlier version. */
export function currentTemplateVersion(template: Template): TemplateVersion {
  const { _id: templateId, version, name, html, css, width, height, variables, updatedAt } = template;
  const _id = `${templateId}@${version}`;
  return { _id, templateId, version, name, html, css, width, height, variables, createdAt: updatedAt };
}

/**
 * A template as the API shows it, in its current version. The response schema removes the fields that are only stored;
 * that of the listing also removes html and css.
 */
export function templateDataOf<T extends StoredTemplateSummary>({ _id: id, ...rest }: T) {
  return { id, builtIn: isBuiltInReference(id), ...rest };
}

/** One version as the API shows it. Fields that belong to the template as a whole are missing. */
export function templateVersionDataOf({ _id: id, templateId, ...rest }: TemplateVersion): TemplateData {
  return { id, builtIn: isBuiltInReference(templateId), ...rest };
}
