import type { Answer } from './answers.ts';
import type { ListMeta } from './schema.ts';

/** One page of a list. */
export interface Page<T> {
  rows: T[];
  meta: ListMeta;
}

/** The start of the next page: after a cursor, or by its number in a list without cursors. */
export type PageStart = { cursor: string } | { page: number } | Record<string, never>;

/** A list that is read page by page, while it is iterated. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #read: (start: PageStart) => Promise<Answer<T[]>>;

  constructor(read: (start: PageStart) => Promise<Answer<T[]>>) {
    this.#read = read;
  }

  /** The first page, whose meta has the total. */
  async first(): Promise<Page<T>> {
    return pageOf(await this.#read({}));
  }

  /** Page by page. */
  async *pages(): AsyncGenerator<Page<T>> {
    let start: PageStart | null = {};
    while (start !== null) {
      const page: Page<T> = pageOf(await this.#read(start));
      yield page;
      start = nextStart(page.meta);
    }
  }

  /** Row by row. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { rows } of this.pages()) yield* rows;
  }

  /**
   * All rows as an array.
   * @param limit the most rows that are read.
   */
  async all(limit = Number.POSITIVE_INFINITY): Promise<T[]> {
    const rows: T[] = [];
    for await (const page of this.pages()) {
      rows.push(...page.rows);
      if (rows.length >= limit) return rows.slice(0, limit);
    }
    return rows;
  }
}

function pageOf<T>({ data, meta }: Answer<T[]>): Page<T> {
  return { rows: data, meta: meta ?? { perPage: data.length, hasMore: false, nextCursor: null } };
}

function nextStart({ hasMore, nextCursor, page = 0 }: ListMeta): PageStart | null {
  if (!hasMore) return null;
  return nextCursor === null ? { page: page + 1 } : { cursor: nextCursor };
}
