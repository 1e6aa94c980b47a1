import {
  cut,
  type Listing,
  type ListPage,
  pageNumber,
  pageSize,
  readCursor,
} from '../../platform/http/paging/paging.ts';
import {
  answerQuestions,
  askEveryProcess,
  type Channels,
} from '../../platform/stores/coordination/questions.ts';
import { order } from '../../platform/stores/documents/port.ts';
import { passesFilters, type RequestFilters } from './filters.ts';
import { errorGroups, mergedGroups } from './groups.ts';
import type { NumberedRequest, RecentRequests } from './recent-requests.ts';
import { recordOf } from './responses.ts';
import type { RequestErrorGroup, RequestListQuery, RequestRecord } from './schema.ts';

/** Where a request stands among those of all processes. */
interface RowPosition {
  at: string;
  /** Orders the requests of one instant. */
  position: string;
}

interface Row extends RequestRecord, RowPosition {}

/** What a process is asked: its groups of errors, or its newest rows, or only their places. */
interface SearchQuestion {
  accountId: string;
  filters: RequestFilters;
  wants: 'groups' | 'rows' | 'places';
  /** The place that the rows follow: `at` and `position`; null for the newest ones. */
  after: readonly unknown[] | null;
  limit: number;
}

interface SearchAnswer {
  rows: Row[];
  places: RowPosition[];
  groups: RequestErrorGroup[];
  /** The requests that pass the filters, whatever the limit. */
  total: number;
}

const CHANNEL = 'requests';
/** A process that is busy for longer is missing from the answer. */
const ANSWER_MS = 2_000;
/** Characters of a number, so that texts sort as numbers do. */
const NUMBER_CHARACTERS = 12;
const NEWEST_FIRST = order('-at', '-position');

/** The recent requests of all processes of every host, each of which keeps those that it answered. */
export class RequestSearch {
  readonly #coordination: Channels;

  constructor(coordination: Channels) {
    this.#coordination = coordination;
  }

  /** Newest first. @throws ApiError invalid_param on cursor. */
  async list(accountId: string, filters: RequestFilters, query: RequestListQuery): Promise<ListPage<Row>> {
    const listing: Listing = { name: 'requests', accountId, filters: { ...filters }, sort: NEWEST_FIRST };
    const perPage = pageSize(query);
    const page = pageNumber(query);
    const after =
      query.cursor === undefined
        ? await this.#placeBefore(page * perPage, accountId, filters)
        : readCursor(query.cursor, listing, query.page);
    const question = { accountId, filters, after, limit: perPage + 1 };
    const answers = await this.#ask({ ...question, wants: 'rows' });
    const rows = answers.flatMap((answer) => answer.rows).sort(byAge);
    const total = answers.reduce((sum, answer) => sum + answer.total, 0);
    return cut(rows, listing, perPage, query.cursor === undefined ? { total, page } : {});
  }

  /** The last request with an id; null if none is kept. */
  async find(accountId: string, requestId: string): Promise<RequestRecord | null> {
    const question = { accountId, filters: { requestId }, after: null, limit: 1 };
    const answers = await this.#ask({ ...question, wants: 'rows' });
    return answers.flatMap(({ rows }) => rows).sort(byAge)[0] ?? null;
  }

  /** The refused requests by what refused them, the most frequent first. */
  async errors(accountId: string, filters: RequestFilters): Promise<RequestErrorGroup[]> {
    const answers = await this.#ask({ accountId, filters, wants: 'groups', after: null, limit: 0 });
    return mergedGroups(answers.flatMap(({ groups }) => groups));
  }

  /**
   * The place of the last of the first `skipped` requests; null without one. Each process could have the rows of a
   * page, and sends no more than their places for those before it.
   */
  async #placeBefore(skipped: number, accountId: string, filters: RequestFilters): Promise<unknown[] | null> {
    if (skipped === 0) return null;
    const answers = await this.#ask({ accountId, filters, wants: 'places', after: null, limit: skipped });
    const places = answers.flatMap((answer) => answer.places).sort(byAge);
    const last = places.slice(0, skipped).at(-1);
    return last === undefined ? null : [last.at, last.position];
  }

  #ask(question: SearchQuestion): Promise<SearchAnswer[]> {
    return askEveryProcess(this.#coordination, CHANNEL, question, ANSWER_MS);
  }
}

/**
 * Answers the searches of all processes by what this one keeps. Resolves with a function that ends this.
 * @param process a name of this process.
 */
export function answerSearches(
  coordination: Channels,
  requests: RecentRequests,
  process: string,
  now: () => Date,
): Promise<() => void> {
  return answerQuestions(coordination, CHANNEL, (question: SearchQuestion): SearchAnswer => {
    const { accountId, filters, wants, after, limit } = question;
    const kept = requests.newestFirst(accountId, now().getTime());
    const found = [...kept].filter((request) => passesFilters(request, filters));
    const answer: SearchAnswer = { rows: [], places: [], groups: [], total: found.length };
    if (wants === 'groups') {
      const refused = found.filter(({ refusal }) => refusal !== null);
      return { ...answer, groups: errorGroups(refused.map(recordOf)) };
    }
    const page = found
      .map((request) => ({ request, place: placeOf(request, process) }))
      .filter(({ place }) => after === null || isAfter(place, after))
      .slice(0, limit);
    if (wants === 'places') return { ...answer, places: page.map(({ place }) => place) };
    return { ...answer, rows: page.map(({ request, place }) => ({ ...recordOf(request), ...place })) };
  });
}

function placeOf({ atMs, number }: NumberedRequest, process: string): RowPosition {
  const position = `${process}/${String(number).padStart(NUMBER_CHARACTERS, '0')}`;
  return { at: new Date(atMs).toISOString(), position };
}

function byAge(one: RowPosition, other: RowPosition): number {
  return one.at === other.at ? compared(other.position, one.position) : compared(other.at, one.at);
}

function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Whether a request is older than the one at a place. */
function isAfter({ at, position }: RowPosition, [lastAt, lastPosition]: readonly unknown[]): boolean {
  return at === lastAt ? position < String(lastPosition) : at < String(lastAt);
}
