import { asConnectionError, foreignResponseError } from './errors.ts';
import type { ListMeta } from './schema.ts';

/** Something noteworthy about a call that succeeded. */
export interface Warning {
  code: string;
  /** What the warning is about: the name of a variable, an asset or a parameter. */
  name?: string;
}

/** A JSON response: its data, its status, and what its headers say about the call. */
export interface Answer<T> {
  data: T;
  /** The paging of a list, such as its total and its next cursor; undefined for other responses. */
  meta: ListMeta | undefined;
  status: number;
  requestId: string;
  warnings: Warning[];
  headers: Headers;
}

/**
 * Reads a successful response.
 * @throws ConnectionError if the response broke off or is not an envelope.
 */
export async function readAnswer<T>(response: Response): Promise<Answer<T>> {
  const { status, headers } = response;
  const text = await response.text().catch((error) => Promise.reject(asConnectionError(error)));
  const { data, meta } =
    text === '' ? { data: undefined as T, meta: undefined } : parseEnvelope<T>(text, status);
  const requestId = headers.get('x-request-id') ?? '';
  return { data, meta, status, requestId, warnings: warningsOfHeaders(headers), headers };
}

function parseEnvelope<T>(text: string, status: number): Pick<Answer<T>, 'data' | 'meta'> {
  try {
    const envelope = JSON.parse(text);
    if (envelope?.success === true) return envelope;
  } catch {
    // A body that is not JSON cannot come from the service.
  }
  throw foreignResponseError(status);
}

/** The warnings in `X-Service-Warnings`, a comma-separated list of `code` or `code:name`. */
export function warningsOfHeaders(headers: Headers): Warning[] {
  const entries = (headers.get('x-service-warnings') ?? '').split(',').filter((entry) => entry !== '');
  return entries.map((entry) => {
    const [code = '', name] = entry.trim().split(':');
    return name === undefined ? { code } : { code, name: decodeURIComponent(name) };
  });
}

/** The milliseconds of `Server-Timing` by name: admit, fetch, queue, decode, process, encode, total. */
export function timingOfHeaders(headers: Headers): Record<string, number> {
  const phases = (headers.get('server-timing') ?? '').matchAll(/([\w-]+);dur=([\d.]+)/g);
  return Object.fromEntries(Array.from(phases, ([, name, ms]) => [name, Number(ms)]));
}

export interface Page<T> {
  rows: T[];
  meta: ListMeta;
}

/** Where the next page starts: after a cursor, or at a page number in a list without cursors. */
type PageStart = { cursor: string } | { page: number } | Record<string, never>;

/** A list that is read page by page while it is iterated over. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #read: (start: PageStart) => Promise<Answer<T[]>>;

  constructor(read: (start: PageStart) => Promise<Answer<T[]>>) {
    this.#read = read;
  }

  /** The first page. Its meta contains the total, if the service counts it. */
  async first(): Promise<Page<T>> {
    return toPage(await this.#read({}));
  }

  /** Yields the pages one by one. */
  async *pages(): AsyncGenerator<Page<T>> {
    let start: PageStart | null = {};
    while (start !== null) {
      const page: Page<T> = toPage(await this.#read(start));
      yield page;
      start = nextPageStart(page.meta);
    }
  }

  /** Yields the rows of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { rows } of this.pages()) yield* rows;
  }

  /**
   * Reads the rows into an array.
   * @param limit the maximum number of rows. Default: all.
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

function toPage<T>({ data, meta }: Answer<T[]>): Page<T> {
  return { rows: data, meta: meta ?? { perPage: data.length, hasMore: false, nextCursor: null } };
}

function nextPageStart({ hasMore, nextCursor, page = 0 }: ListMeta): PageStart | null {
  if (!hasMore) return null;
  return nextCursor === null ? { page: page + 1 } : { cursor: nextCursor };
}
