import { hash } from 'node:crypto';
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import type {
  DocumentCollection,
  DocumentFilter,
  DocumentWithId,
  SortOrder,
} from '../stores/documents/port.ts';
import { withoutAbsentFields } from '../values/present.ts';
import { type ListPageMeta, successEnvelope } from './envelope.ts';
import { invalidParamError } from './errors/errors.ts';
import { CURSOR_SCHEMA } from './fields.ts';
import { type ClampBounds, clamp } from './hooks/warnings.ts';
import { longAnswerWork, sendLongAnswer } from './long-answers.ts';

const MAX_PAGE_SIZE = 100;
/** The largest page number for which the number of skipped rows is a safe integer. */
const MAX_PAGE_NUMBER = Math.floor(Number.MAX_SAFE_INTEGER / MAX_PAGE_SIZE);
const PAGE_NUMBER_BOUNDS: ClampBounds = [0, MAX_PAGE_NUMBER];
const PAGE_SIZE_BOUNDS: ClampBounds = [1, MAX_PAGE_SIZE];

/** The query of every paged listing, whose properties are spread into the schemas of the routes. */
export const PagingQuery = {
  page: Type.Optional(Type.Integer({ description: 'Page from 0; clamped.', clamped: PAGE_NUMBER_BOUNDS })),
  perPage: Type.Optional(
    Type.Integer({
      description: `Rows per page, 1 to ${MAX_PAGE_SIZE}; clamped.`,
      clamped: PAGE_SIZE_BOUNDS,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'nextCursor of the previous page, with the same filters; not together with page.',
      documented: CURSOR_SCHEMA,
    }),
  ),
};
export type PagingQuery = Static<TObject<typeof PagingQuery>>;

/** The query of a listing without filters. */
export const PageQuery = Type.Object(PagingQuery);

/**
 * A listing: its name, its account, its filters, and the order of its rows. The last field of the order is unique, so
 * that no two rows are equal. A cursor is bound to name, account and filters.
 */
export interface ListingScope {
  name: string;
  accountId: string;
  filters: Record<string, unknown>;
  sort: SortOrder;
  onLong?: OnLongRead | undefined;
}

/**
 * Called when the first rows of a response are long, before more are read. It may refuse the response, or take a slot
 * that its account holds until the client has received it.
 */
export type OnLongRead = () => Promise<void>;

export interface ListPage<T> {
  rows: T[];
  meta: ListPageMeta;
}

/**
 * The number of rows in the first read of a page, and in each further read of a long page. A row may have hundreds of
 * kilobytes, and a process handles no other calls while it receives them. If the rows are short, each read gets twice
 * as many rows as the one before.
 */
export const ROWS_PER_READ = 8;
/** A page is long if one of its reads returns more characters than this. */
const MAX_SHORT_READ_CHARACTERS = 128 * 1024;

/**
 * Reads one page of a collection: by page number (with the total), or after a cursor (without the total).
 * @param fields the fields to read, with those of the sort. Default: all.
 * @throws ApiError invalid_param on `cursor` if it is sent with page, is malformed, or belongs to another listing,
 *   account or filter.
 */
export async function readListPage<T extends DocumentWithId>(
  collection: DocumentCollection<T>,
  filter: DocumentFilter,
  listing: ListingScope,
  query: PagingQuery,
  fields?: ReadonlyArray<keyof T & string>,
): Promise<ListPage<T>> {
  const { sort } = listing;
  const perPage = requestedPageSize(query);
  if (query.cursor !== undefined) {
    const after = afterFilter(sort, parseCursor(query.cursor, listing, query.page));
    const found = await readRows({ $and: [filter, after] }, 0);
    return toListPage(found, listing, perPage, {});
  }
  const page = requestedPageNumber(query);
  const [found, total] = await Promise.all([readRows(filter, page * perPage), collection.count(filter)]);
  return toListPage(found, listing, perPage, { total, page });

  /** Reads the rows of the page, and one more. */
  function readRows(first: DocumentFilter, skip: number): Promise<T[]> {
    return collectParts(listing.accountId, readParts(first, skip), listing.onLong);
  }

  async function* readParts(first: DocumentFilter, skip: number): AsyncGenerator<T[]> {
    let options = { sort, skip, ...withoutAbsentFields({ fields }) };
    let rest = first;
    let size = ROWS_PER_READ;
    for (let left = perPage + 1; left > 0; ) {
      const limit = Math.min(size, left);
      const part = await collection.find(rest, { ...options, limit });
      size = isLongPart(part) ? ROWS_PER_READ : 2 * size;
      yield part;
      const last = part.at(-1);
      if (last === undefined || part.length < limit) return;
      left -= part.length;
      options = { ...options, skip: 0 };
      rest = { $and: [filter, afterFilter(sort, sortValuesOf(last, sort))] };
    }
  }
}

/**
 * Collects rows that are read in parts. If they are long, their owner waits for its turn after the first part.
 * @throws the error of `onLong`.
 */
export async function collectParts<T>(
  owner: string,
  parts: AsyncIterable<T[]>,
  onLong?: OnLongRead,
): Promise<T[]> {
  const rows: T[] = [];
  let endTurn: (() => void) | undefined;
  try {
    for await (const part of parts) {
      rows.push(...part);
      if (endTurn !== undefined || !isLongPart(part)) continue;
      await onLong?.();
      endTurn = await longAnswerWork.takeTurn(owner);
    }
    return rows;
  } finally {
    endTurn?.();
  }
}

function isLongPart(part: readonly unknown[]): boolean {
  return charactersIn(part) > MAX_SHORT_READ_CHARACTERS;
}

/** The number of characters in the texts of a value. */
function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let characters = 0;
  for (const entry of Object.values(value)) characters += charactersIn(entry);
  return characters;
}

/** The size of the page: default 100, clamped to 1 to 100. */
export function requestedPageSize(query: PagingQuery): number {
  return clamp(PAGE_SIZE_BOUNDS, query.perPage ?? MAX_PAGE_SIZE);
}

/** The number of the requested page, limited to pages that can be reached by skipping rows. */
export function requestedPageNumber(query: PagingQuery): number {
  return clamp(PAGE_NUMBER_BOUNDS, query.page ?? 0);
}

/** A cursor that continues after a row. It holds the row's sort values, and is bound to the listing. */
function cursorAfter(row: object, listing: ListingScope): string {
  const values = sortValuesOf(row, listing.sort);
  return Buffer.from(JSON.stringify([listingFingerprintOf(listing), ...values])).toString('base64url');
}

function sortValuesOf(row: object, sort: SortOrder): unknown[] {
  return sort.map(([field]) => (row as Record<string, unknown>)[field] ?? null);
}

/**
 * The sort values in a cursor: text and numbers, the only values that a store compares.
 * @throws ApiError invalid_param on `cursor`.
 */
export function parseCursor(
  cursor: string,
  listing: ListingScope,
  page: number | undefined,
): (string | number)[] {
  if (page !== undefined) {
    const message = 'cursor and page exclude each other: send nextCursor back as cursor alone.';
    throw invalidParamError('cursor', message);
  }
  const [bound, ...values] = decodeCursor(cursor);
  const isOurs = bound === listingFingerprintOf(listing) && values.length === listing.sort.length;
  if (!isOurs || !values.every((value) => typeof value === 'string' || typeof value === 'number')) {
    throw invalidParamError(
      'cursor',
      'This cursor belongs to another list: send back the nextCursor that this path answered with the same filters and account.',
    );
  }
  return values;
}

/**
 * Makes a page of rows, with its paging fields.
 * @param found up to one row more than a page. The extra row shows that there is a next page.
 */
export function toListPage<T extends object>(
  found: T[],
  listing: ListingScope,
  perPage: number,
  counted: { total?: number; page?: number },
): ListPage<T> {
  const rows = found.slice(0, perPage);
  const last = rows.at(-1);
  const hasMore = found.length > perPage;
  const nextCursor = hasMore && last !== undefined ? cursorAfter(last, listing) : null;
  return { rows, meta: { ...counted, perPage, hasMore, nextCursor } };
}

/** Keyset condition: rows strictly after the one with these sort values. */
function afterFilter(sort: SortOrder, values: readonly unknown[]): DocumentFilter {
  const alternatives = sort.map(([field, direction], position) => {
    const equalBefore = sort.slice(0, position).map(([name], index) => [name, values[index]]);
    return {
      ...Object.fromEntries(equalBefore),
      [field]: { [direction === 1 ? '$gt' : '$lt']: values[position] },
    };
  });
  return { $or: alternatives };
}

function decodeCursor(cursor: string): unknown[] {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(decoded)) return decoded;
  } catch {
    // A text that is not a cursor is refused below like a cursor of another listing.
  }
  return [];
}

/** The text to which a cursor is bound: the listing's name, its account and its filters, in any order. */
function listingFingerprintOf({ name, accountId, ...listing }: ListingScope): string {
  const filters = Object.entries(listing.filters).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([name, accountId, filters.sort(([a], [b]) => (a < b ? -1 : 1))]);
  return hash('sha256', text, 'base64url').slice(0, 16);
}

/**
 * The schema of an import's response: the imported entries, and one line per refused entry.
 * @param title the title of the schema.
 */
export function importResultSchema<T extends TSchema>(title: string, entry: T) {
  return Type.Object(
    {
      data: Type.Array(entry, { description: 'As saved, in the order sent.' }),
      errors: Type.Optional(
        Type.Array(Type.String(), { description: 'Absent when every entry was imported.' }),
      ),
      importedCount: Type.Integer({ format: 'int32' }),
    },
    { title },
  );
}

/** What an import has done. */
interface ImportResult {
  /** The imported entries, as the API shows them. Each is made when it is written. */
  entries: Iterable<unknown>;
  importedCount: number;
  errors: readonly string[];
  /** The number of sent entries. */
  sent: number;
  /** The plural name of the entries, such as `presets`, which is also their path. */
  of: string;
}

/** Sends the response to an import. */
export function sendImportResult(
  reply: FastifyReply,
  accountId: string,
  { entries: data, importedCount, errors, sent, of }: ImportResult,
): Promise<FastifyReply> {
  const message = `${importedCount} of ${sent} ${of} imported.`;
  const result = { data, importedCount, ...(errors.length > 0 && { errors }) };
  reply.code(201).header('location', `/api/v1/${of}`);
  return sendLongAnswer(reply, accountId, successEnvelope(message, result));
}
