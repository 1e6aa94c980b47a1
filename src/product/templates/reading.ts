import { parseReference } from '../../platform/ids/slugs.ts';
import { BUILT_INS, findBuiltIn, findByShortName, shortNameOf } from './builtins/index.ts';
import type { RenderPage } from './document.ts';
import { builtInReadOnly, malformedVersion, templateNotFound, templateVersionNotFound } from './errors.ts';
import { templateDataOf, versionDataOf } from './responses.ts';
import type { TemplateData } from './schema.ts';
import type { TemplatesStore } from './store.ts';
import { type Template, type TemplateVersion, versionOf } from './template.ts';

/** The page of a stored template. */
export interface RenderTemplate extends RenderPage {
  /** The id of the template, without a version. */
  id: string;
  version: number;
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
  return 'templateId' in found ? versionDataOf(found) : templateDataOf(found);
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
 * The template that a path names by id or slug, or a built-in by its name without `builtin-template-` where the account
 * has no template of that slug. A version is not accepted here.
 * @throws ApiError not_found on templateId.
 */
export async function findTemplate(
  store: TemplatesStore,
  accountId: string,
  idOrSlug: string,
): Promise<Template> {
  const template =
    findBuiltIn(idOrSlug) ?? (await store.find(accountId, idOrSlug)) ?? findByShortName(idOrSlug);
  if (template === undefined) throw templateNotFound(idOrSlug, await knownNames(store, accountId));
  return template;
}

/** The names by which an account may call its templates and the built-ins. */
export async function knownNames(store: TemplatesStore, accountId: string): Promise<string[]> {
  const own = await store.slugs(accountId);
  return [...own, ...BUILT_INS.flatMap(({ slug }) => [shortNameOf(slug), slug])];
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
  const current = await findTemplate(store, accountId, idOrSlug);
  if (version === current.version) return versionOf(current);
  const found = await store.findVersion(accountId, current._id, version);
  if (found === null) throw templateVersionNotFound(current.version);
  return found;
}
