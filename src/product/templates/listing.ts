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
import type { After, TemplatesStore } from './store.ts';

/** The start of a page: in the built-ins, and in the account's own templates. */
interface Start {
  builtIn: number;
  own: { after: After } | { skip: number };
}

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

  async function rowsFrom(start: Start): Promise<TemplateSummary[]> {
    const rows = builtIns.slice(start.builtIn, start.builtIn + perPage + 1);
    const room = perPage + 1 - rows.length;
    if (room === 0 || !listsOwn) return rows;
    return [...rows, ...(await store.list(accountId, start.own, room)).map(summaryOf)];
  }

  if (cursor !== undefined) {
    const [builtIn, updatedAt, id] = readCursor(cursor, listing, query.page);
    const start: Start =
      builtIn === true
        ? { builtIn: builtIns.findIndex((row) => row.id === id) + 1, own: { skip: 0 } }
        : { builtIn: builtIns.length, own: { after: { updatedAt: String(updatedAt), id: String(id) } } };
    return cut(await rowsFrom(start), listing, perPage, {});
  }
  const page = pageNumber(query);
  const builtIn = Math.min(page * perPage, builtIns.length);
  const own = { skip: page * perPage - builtIn };
  const [rows, ownTotal] = await Promise.all([
    rowsFrom({ builtIn, own }),
    listsOwn ? store.count(accountId) : 0,
  ]);
  return cut(rows, listing, perPage, { total: builtIns.length + ownTotal, page });
}
