import type { ApiError } from '../../platform/http/errors/errors.ts';
import {
  type ListingScope,
  type ListPage,
  parseCursor,
  requestedPageNumber,
  requestedPageSize,
  toListPage,
} from '../../platform/http/lists.ts';
import { isBuiltInReference, parseVersionedReference } from '../../platform/ids/slugs.ts';
import { sortBy } from '../../platform/stores/documents/port.ts';
import {
  BUILT_IN_TEMPLATES,
  builtInShortNameOf,
  findBuiltInTemplate,
  findBuiltInTemplateByShortName,
} from './builtins/index.ts';
import type { SizedTemplatePage } from './document.ts';
import {
  builtInTemplateReadOnlyError,
  malformedTemplateVersionError,
  templateNotFoundError,
  templateVersionNotFoundError,
} from './errors.ts';
import type { TemplateData, TemplateListQuery, TemplateSummary } from './schema.ts';
import type { TemplateListStart, TemplatesStore } from './store.ts';
import {
  currentTemplateVersion,
  type Template,
  type TemplateVersion,
  templateDataOf,
  templateVersionDataOf,
} from './template.ts';

export interface TemplateToRender extends SizedTemplatePage {
  /** The id of the template, without a version. */
  id: string;
  version: number;
}

/**
 * Reads the template to which a call refers, as the API shows it. The reference is an id or one of the account's slugs,
 * either with or without `@version`.
 * @throws ApiError invalid_param or not_found on templateId.
 */
export async function readTemplate(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<TemplateData> {
  const found = await resolveTemplate(store, accountId, text);
  return 'templateId' in found ? templateVersionDataOf(found) : templateDataOf(found);
}

/**
 * Finds the template to which a render refers. The reference is an id or one of the account's slugs, either with or
 * without `@version`.
 * @throws ApiError invalid_param or not_found on templateId.
 */
export async function findTemplateToRender(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<TemplateToRender> {
  const found = await resolveTemplate(store, accountId, text);
  const { version, html, css, width, height, variables } = found;
  const id = 'templateId' in found ? found.templateId : found._id;
  return { id, version, html, css, width, height, variables };
}

/**
 * Finds the template in a path, by its id or slug. For a built-in template, `builtin-template-` may be left out if the
 * account has no template with that slug. A version is not allowed.
 * @throws ApiError not_found on templateId.
 */
export async function findTemplate(
  store: TemplatesStore,
  accountId: string,
  idOrSlug: string,
): Promise<Template> {
  const template =
    findBuiltInTemplate(idOrSlug) ??
    (await store.find(accountId, idOrSlug)) ??
    findBuiltInTemplateByShortName(idOrSlug);
  if (template === undefined) throw await readMissingTemplateError(store, accountId, idOrSlug);
  return template;
}

/** The error for a template that the account does not have. It suggests similar names that the account may use. */
export async function readMissingTemplateError(
  store: TemplatesStore,
  accountId: string,
  idOrSlug: string,
): Promise<ApiError> {
  const own = await store.listSlugs(accountId);
  const builtIn = BUILT_IN_TEMPLATES.flatMap(({ slug }) => [builtInShortNameOf(slug), slug]);
  return templateNotFoundError(idOrSlug, [...own, ...builtIn]);
}

/**
 * Refuses to change a built-in template.
 * @throws ApiError forbidden
 */
export function refuseBuiltInTemplate(idOrSlug: string): void {
  if (findBuiltInTemplate(idOrSlug) !== undefined) throw builtInTemplateReadOnlyError();
}

async function resolveTemplate(
  store: TemplatesStore,
  accountId: string,
  text: string,
): Promise<Template | TemplateVersion> {
  const reference = parseVersionedReference(text);
  if (reference === null) throw malformedTemplateVersionError();
  const { idOrSlug, version } = reference;
  if (version === undefined) return findTemplate(store, accountId, idOrSlug);
  const current = await findTemplate(store, accountId, idOrSlug);
  if (version === current.version) return currentTemplateVersion(current);
  const found = await store.findVersion(accountId, current._id, version);
  if (found === null) throw templateVersionNotFoundError(current.version);
  return found;
}

/** How many versions are read at a time. A version may have 384 KB, and a template 200 versions. */
const VERSION_BATCH_SIZE = 16;

/**
 * Lists one page of the built-in templates followed by the account's own, most recently updated first.
 * @throws ApiError invalid_param on `cursor`.
 */
export async function listTemplates(
  store: TemplatesStore,
  accountId: string,
  query: TemplateListQuery,
): Promise<ListPage<TemplateSummary>> {
  const { filter, cursor } = query;
  const listing: ListingScope = {
    name: 'templates',
    accountId,
    filters: { filter },
    sort: sortBy('-updatedAt', '-id'),
  };
  const perPage = requestedPageSize(query);
  const builtIns = filter === 'user' ? [] : BUILT_IN_TEMPLATES.map(templateDataOf);
  const listsOwn = filter !== 'builtin';

  /**
   * @param skipped how many built-in templates come before the page.
   */
  async function readRows(skipped: number, own: TemplateListStart): Promise<TemplateSummary[]> {
    const rows = builtIns.slice(skipped, skipped + perPage + 1);
    const room = perPage + 1 - rows.length;
    if (room === 0 || !listsOwn) return rows;
    return [...rows, ...(await store.list(accountId, own, room)).map(templateDataOf)];
  }

  if (cursor !== undefined) {
    const [updatedAt = '', id = ''] = parseCursor(cursor, listing, query.page).map(String);
    const rows = isBuiltInReference(id)
      ? await readRows(builtIns.findIndex((row) => row.id === id) + 1, { skip: 0 })
      : await readRows(builtIns.length, { after: { updatedAt, id } });
    return toListPage(rows, listing, perPage, {});
  }
  const page = requestedPageNumber(query);
  const skipped = Math.min(page * perPage, builtIns.length);
  const [rows, ownTotal] = await Promise.all([
    readRows(skipped, { skip: page * perPage - skipped }),
    listsOwn ? store.count(accountId) : 0,
  ]);
  return toListPage(rows, listing, perPage, { total: builtIns.length + ownTotal, page });
}

/** Yields every version of a template, newest first. They are read in batches. */
export async function* readTemplateHistory(
  store: TemplatesStore,
  accountId: string,
  template: Template,
): AsyncGenerator<TemplateData> {
  yield templateVersionDataOf(currentTemplateVersion(template));
  let below = isBuiltInReference(template._id) ? 1 : template.version;
  while (below > 1) {
    const rows = await store.findVersionsBelow(accountId, template._id, below, VERSION_BATCH_SIZE);
    yield* rows.map(templateVersionDataOf);
    below = rows.at(-1)?.version ?? 1;
  }
}
