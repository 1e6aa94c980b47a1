import {
  cut,
  type Listing,
  type Page,
  pageNumber,
  pageSize,
  readCursor,
} from '../../platform/http/lists/paging.ts';
import { order } from '../../platform/stores/documents/port.ts';
import { summaryOf } from './answers.ts';
import { BUILT_INS } from './builtins/index.ts';
import type { TemplateListQuery, TemplateSummary } from './schema.ts';
import type { From, TemplatesStore } from './store.ts';

/**
 * One page over two lists: the built-ins, then the account's templates, most recently updated first.
 * @throws ApiError invalid_param on `cursor`.
 */
export async function listTemplates(
  store: TemplatesStore,
  accountId: string,
  query: TemplateListQuery,
): Promise<Page<TemplateSummary>> {
  const { filter, cursor } = query;
  const listing: Listing = {
    name: 'templates',
    filters: { filter },
    sort: order('-builtIn', '-updatedAt', '-id'),
  };
  const perPage = pageSize(query);
  const builtIns = filter === 'user' ? [] : BUILT_INS.map(summaryOf);
  const listsOwn = filter !== 'builtin';

  /** @param skipped the number of built-ins before the page. */
  async function rowsFrom(skipped: number, own: From): Promise<TemplateSummary[]> {
    const rows = builtIns.slice(skipped, skipped + perPage + 1);
    const room = perPage + 1 - rows.length;
    if (room === 0 || !listsOwn) return rows;
    return [...rows, ...(await store.list(accountId, own, room)).map(summaryOf)];
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
