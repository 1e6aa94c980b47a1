import {
  cut,
  type Listing,
  type ListPage,
  pageNumber,
  pageSize,
  readCursor,
} from '../../platform/http/paging/paging.ts';
import { isBuiltIn } from '../../platform/ids/slugs.ts';
import { order } from '../../platform/stores/documents/port.ts';
import { BUILT_INS } from './builtins/index.ts';
import { templateDataOf, versionDataOf } from './responses.ts';
import type { TemplateData, TemplateListQuery, TemplateSummary } from './schema.ts';
import type { PageStart, TemplatesStore } from './store.ts';
import { type Template, versionOf } from './template.ts';

/** The versions of one batch: each may have 384 KB, and a template may have thousands. */
const VERSIONS_BATCH = 16;

/**
 * One page over two lists: the built-ins, then the account's templates, most recently updated first.
 * @throws ApiError invalid_param on `cursor`.
 */
export async function listTemplates(
  store: TemplatesStore,
  accountId: string,
  query: TemplateListQuery,
): Promise<ListPage<TemplateSummary>> {
  const { filter, cursor } = query;
  const listing: Listing = {
    name: 'templates',
    accountId,
    filters: { filter },
    sort: order('-builtIn', '-updatedAt', '-id'),
  };
  const perPage = pageSize(query);
  const builtIns = filter === 'user' ? [] : BUILT_INS.map(templateDataOf);
  const listsOwn = filter !== 'builtin';

  /** @param skipped the number of built-ins before the page. */
  async function rowsFrom(skipped: number, own: PageStart): Promise<TemplateSummary[]> {
    const rows = builtIns.slice(skipped, skipped + perPage + 1);
    const room = perPage + 1 - rows.length;
    if (room === 0 || !listsOwn) return rows;
    return [...rows, ...(await store.list(accountId, own, room)).map(templateDataOf)];
  }

  if (cursor !== undefined) {
    const [builtIn, updatedAt, id] = readCursor(cursor, listing, query.page);
    const rows =
      builtIn === true
        ? await rowsFrom(builtIns.findIndex((row) => row.id === id) + 1, { skip: 0 })
        : await rowsFrom(builtIns.length, { after: { updatedAt: String(updatedAt), id: String(id) } });
    return cut(rows, listing, perPage, {});
  }
  const page = pageNumber(query);
  const skipped = Math.min(page * perPage, builtIns.length);
  const [rows, ownTotal] = await Promise.all([
    rowsFrom(skipped, { skip: page * perPage - skipped }),
    listsOwn ? store.count(accountId) : 0,
  ]);
  return cut(rows, listing, perPage, { total: builtIns.length + ownTotal, page });
}

/** Every version of a template, newest first, read in batches. */
export async function* readHistory(
  store: TemplatesStore,
  accountId: string,
  template: Template,
): AsyncGenerator<TemplateData> {
  yield versionDataOf(versionOf(template));
  let below = isBuiltIn(template._id) ? 1 : template.version;
  while (below > 1) {
    const rows = await store.versionsBelow(accountId, template._id, below, VERSIONS_BATCH);
    yield* rows.map(versionDataOf);
    below = rows.at(-1)?.version ?? 1;
  }
}
