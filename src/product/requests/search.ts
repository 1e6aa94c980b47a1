import {
  cut,
  type Listing,
  type ListPage,
  pageNumber,
  pageSize,
  readCursor,
} from '../../platform/http/paging/paging.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { answerQuestions, askEveryProcess } from '../../platform/stores/coordination/questions.ts';
import { order } from '../../platform/stores/documents/port.ts';
import { passes, type RequestFilters } from './filters.ts';
import { errorGroups, mergedGroups } from './groups.ts';
import { MAX_REQUESTS, type RecentRequests } from './recent-requests.ts';
import { recordOf } from './responses.ts';
import type { RequestErrorGroup, RequestListQuery, RequestRecord } from './schema.ts';

/** A request with the text that orders those of one instant, over all processes. */
interface Row extends RequestRecord {
  position: string;
}

/** What a process is asked: its newest rows, or its groups of errors. */
interface Question {
  accountId: string;
  filters: RequestFilters;
  /** Null asks for the groups. */
  page: Page | null;
}

interface Page {
  /** The last row of the page before: `at` and `position`; null for the first page. */
  after: readonly unknown[] | null;
  limit: number;
}

interface Answer {
  rows: Row[];
  /** The requests that pass the filters, whatever the limit. */
  total: number;
  groups: RequestErrorGroup[];
}

const CHANNEL = 'requests';
/** A process that is busy for longer is missing from the answer. */
const ANSWER_MS = 2_000;
/** Characters of a number, so that texts sort as numbers do. */
const NUMBER_CHARACTERS = 12;
const NEWEST_FIRST = order('-at', '-position');

/** The recent requests of all processes of every host, each of which keeps those that it answered. */
export class RequestSearch {
  readonly #coordination: Coordination;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  /** Newest first. @throws ApiError invalid_param on cursor. */
  async list(accountId: string, filters: RequestFilters, query: RequestListQuery): Promise<ListPage<Row>> {
    const listing: Listing = { name: 'requests', accountId, filters: { ...filters }, sort: NEWEST_FIRST };
    const perPage = pageSize(query);
    const after = query.cursor === undefined ? null : readCursor(query.cursor, listing, query.page);
    const page = after === null ? pageNumber(query) : 0;
    const skipped = page * perPage;
    const answers = await this.#ask({
      accountId,
      filters,
      page: { after, limit: skipped + perPage + 1 },
    });
    const rows = answers.flatMap((answer) => answer.rows).sort(byAge);
    const total = answers.reduce((sum, answer) => sum + answer.total, 0);
    const counted = after === null ? { total, page } : {};
    return cut(rows.slice(skipped, skipped + perPage + 1), listing, perPage, counted);
  }

  /** The last request with an id; null if none is kept. */
  async find(accountId: string, requestId: string): Promise<RequestRecord | null> {
    const answers = await this.#ask({ accountId, filters: { requestId }, page: { after: null, limit: 1 } });
    return answers.flatMap(({ rows }) => rows).sort(byAge)[0] ?? null;
  }

  /** The refused requests by what refused them, the most frequent first. */
  async errors(accountId: string, filters: RequestFilters): Promise<RequestErrorGroup[]> {
    const answers = await this.#ask({ accountId, filters, page: null });
    return mergedGroups(answers.flatMap(({ groups }) => groups));
  }

  #ask(question: Question): Promise<Answer[]> {
    return askEveryProcess(this.#coordination, CHANNEL, question, ANSWER_MS);
  }
}

/**
 * Answers the searches of all processes by what this one keeps. Resolves with a function that ends this.
 * @param process a name of this process.
 */
export function answerSearches(
  coordination: Coordination,
  requests: RecentRequests,
  process: string,
  now: () => Date,
): Promise<() => void> {
  return answerQuestions(coordination, CHANNEL, ({ accountId, filters, page }: Question): Answer => {
    const found: Row[] = [];
    for (const request of requests.newestFirst(accountId, now().getTime())) {
      const position = `${process}/${String(request.number).padStart(NUMBER_CHARACTERS, '0')}`;
      const row = { ...recordOf(request), position };
      if (passes(row, filters)) found.push(row);
    }
    if (page === null) return { rows: [], total: found.length, groups: errorGroups(found) };
    return { rows: rowsOf(page, found), total: found.length, groups: [] };
  });
}

function rowsOf({ after, limit }: Page, found: readonly Row[]): Row[] {
  const rest = after === null ? found : found.filter((row) => isAfter(row, after));
  return rest.slice(0, Math.min(limit, MAX_REQUESTS));
}

function byAge(one: Row, other: Row): number {
  return one.at === other.at ? compared(other.position, one.position) : compared(other.at, one.at);
}

function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Whether a row is older than the last one of the page before. */
function isAfter({ at, position }: Row, [lastAt, lastPosition]: readonly unknown[]): boolean {
  return at === lastAt ? position < String(lastPosition) : at < String(lastAt);
}
