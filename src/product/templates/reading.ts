import { parseReference } from '../../platform/ids/slugs.ts';
import { findBuiltIn } from './builtins/index.ts';
import type { TemplatePage } from './document.ts';
import { builtInReadOnly, malformedVersion, templateNotFound, templateVersionNotFound } from './errors.ts';
import { dataOf, versionDataOf } from './responses.ts';
import type { TemplateData } from './schema.ts';
import type { TemplatesStore } from './store.ts';
import { type Template, type TemplateVersion, versionOf } from './template.ts';

/** The fields of a template that a render needs. */
export interface RenderTemplate extends TemplatePage {
  /** The id of the template, without a version. */
  id: string;
  version: number;
  /** The size of the picture, in pixels. */
  width: number;
  height: number;
  /** The names that a row may have. */
  variables: readonly string[];
}

/**
 * The template that a call names by id, own slug, or either with `@version`, as the API shows it.
 * @throws ApiError invalid_param or not_found on templateId.
 */
export async function readTemplate(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<TemplateData> {
  const found = await resolve(store, accountId, text);
  return 'templateId' in found ? versionDataOf(found) : dataOf(found);
}

/**
 * The template that a render names by id, own slug, or either with `@version`.
 * @throws ApiError invalid_param or not_found on templateId.
 */
export async function findForRender(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<RenderTemplate> {
  const found = await resolve(store, accountId, text);
  const { version, html, css, width, height, variables } = found;
  const id = 'templateId' in found ? found.templateId : found._id;
  return { id, version, html, css, width, height, variables };
}

/**
 * The template that a path names by id or slug. A version is not accepted here.
 * @throws ApiError not_found on templateId.
 */
export async function findTemplate(
  store: TemplatesStore,
  accountId: string,
  idOrSlug: string,
): Promise<Template> {
  const template = findBuiltIn(idOrSlug) ?? (await store.find(accountId, idOrSlug));
  if (template === null) throw templateNotFound();
  return template;
}

/**
 * Refuses to change a built-in.
 * @throws ApiError forbidden
 */
export function refuseBuiltIn(idOrSlug: string): void {
  if (findBuiltIn(idOrSlug) !== undefined) throw builtInReadOnly();
}

async function resolve(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<Template | TemplateVersion> {
  const reference = parseReference(text);
  if (reference === null) throw malformedVersion();
  const { idOrSlug, version } = reference;
  if (version === undefined) return findTemplate(store, accountId, idOrSlug);
  const builtIn = findBuiltIn(idOrSlug);
  const found =
    builtIn === undefined
      ? await store.findVersion(accountId, idOrSlug, version)
      : version === builtIn.version && versionOf(builtIn);
  if (found) return found;
  throw templateVersionNotFound((await findTemplate(store, accountId, idOrSlug)).version);
}
