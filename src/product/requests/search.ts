import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { requireDateOrInstant } from '../../platform/http/fields.ts';
import {
  type ListingScope,
  type ListPage,
  parseCursor,
  requestedPageNumber,
  requestedPageSize,
  toListPage,
} from '../../platform/http/lists.ts';
import {
  answerProcessQuestions,
  askEveryProcess,
  type MessageChannels,
} from '../../platform/stores/coordination/messages.ts';
import { sortBy } from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { KeptRequest } from './kept-request.ts';
import type { NumberedRequest, RecentRequests } from './recent-requests.ts';
import {
  groupRequestErrors,
  mergeErrorGroups,
  operationNameOf,
  requestRecordOf,
  routePatternOf,
} from './responses.ts';
import type { RequestErrorGroup, RequestFilterQuery, RequestListQuery, RequestRecord } from './schema.ts';

/** The position of a request among those of all processes. */
interface RowPosition {
  at: string;
  /** Orders the requests of one instant. */
  position: string;
}

interface Row extends RequestRecord, RowPosition {}

/** A question to a process: for its groups of errors, for its newest rows, or only for their positions. */
interface SearchQuestion {
  accountId: string;
  filters: RequestFilters;
  wants: 'groups' | 'rows' | 'places';
  /** The position (`at` and `position`) that the rows follow; null for the newest rows. */
  after: readonly unknown[] | null;
  limit: number;
}

interface SearchAnswer {
  rows: Row[];
  places: RowPosition[];
  groups: RequestErrorGroup[];
  /** The number of requests that match the filters, whatever the limit is. */
  total: number;
}

const CHANNEL = 'requests';
/** How long an answer is awaited. A process that is busy for longer is left out. */
const ANSWER_MS = 2_000;
/** Characters to which a number is padded, so that text sorts as numbers do. */
const NUMBER_CHARACTERS = 12;
const NEWEST_FIRST = sortBy('-at', '-position');

/** The recent requests of all processes of every host. Each process keeps those that it answered. */
export class RequestSearch {
  readonly #coordination: MessageChannels;

  constructor(coordination: MessageChannels) {
    this.#coordination = coordination;
  }

  /**
   * Lists requests, newest first.
   * @throws ApiError invalid_param on cursor.
   */
  async list(accountId: string, filters: RequestFilters, query: RequestListQuery): Promise<ListPage<Row>> {
    const listing: ListingScope = {
      name: 'requests',
      accountId,
      filters: { ...filters },
      sort: NEWEST_FIRST,
    };
    const perPage = requestedPageSize(query);
    const page = requestedPageNumber(query);
    const after =
      query.cursor === undefined
        ? await this.#placeBefore(page * perPage, accountId, filters)
        : parseCursor(query.cursor, listing, query.page);
    const question = { accountId, filters, after, limit: perPage + 1 };
    const answers = await this.#ask({ ...question, wants: 'rows' });
    const rows = answers.flatMap((answer) => answer.rows).sort(byAge);
    const total = answers.reduce((sum, answer) => sum + answer.total, 0);
    return toListPage(rows, listing, perPage, query.cursor === undefined ? { total, page } : {});
  }

  /** The last request with an id; null if no process keeps it. */
  async find(accountId: string, requestId: string): Promise<RequestRecord | null> {
    const question = { accountId, filters: { requestId }, after: null, limit: 1 };
    const answers = await this.#ask({ ...question, wants: 'rows' });
    return answers.flatMap(({ rows }) => rows).sort(byAge)[0] ?? null;
  }

  /** Groups of refused requests with the same cause, the most frequent first. */
  async errors(accountId: string, filters: RequestFilters): Promise<RequestErrorGroup[]> {
    const answers = await this.#ask({ accountId, filters, wants: 'groups', after: null, limit: 0 });
    return mergeErrorGroups(answers.flatMap(({ groups }) => groups));
  }

  /**
   * The position of the last of the first `skipped` requests; null without one. Any process may have the rows of a
   * page, so each sends the positions of the rows before it.
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
 * Answers the searches of all processes with the requests of this one. Resolves with a function that stops answering.
 * @param process a name of this process.
 */
export function answerRequestSearches(
  coordination: MessageChannels,
  requests: RecentRequests,
  process: string,
  now: () => Date,
): Promise<() => void> {
  return answerProcessQuestions(coordination, CHANNEL, (question: SearchQuestion): SearchAnswer => {
    const { accountId, filters, wants, after, limit } = question;
    const kept = requests.newestFirst(accountId, now().getTime());
    const found = [...kept].filter((request) => matchesRequestFilters(request, filters));
    const answer: SearchAnswer = { rows: [], places: [], groups: [], total: found.length };
    if (wants === 'groups') {
      const refused = found.filter(({ refusal }) => refusal !== null);
      return { ...answer, groups: groupRequestErrors(refused.map(requestRecordOf)) };
    }
    const page = found
      .map((request) => ({ request, place: placeOf(request, process) }))
      .filter(({ place }) => after === null || isAfter(place, after))
      .slice(0, limit);
    if (wants === 'places') return { ...answer, places: page.map(({ place }) => place) };
    return { ...answer, rows: page.map(({ request, place }) => ({ ...requestRecordOf(request), ...place })) };
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

/** Whether a request is older than a position. */
function isAfter({ at, position }: RowPosition, [lastAt, lastPosition]: readonly unknown[]): boolean {
  return at === lastAt ? position < String(lastPosition) : at < String(lastAt);
}

/** Filters of recent requests. */
interface RequestFilters extends Omit<RequestFilterQuery, 'status' | 'from' | 'to'> {
  /** In lower case. */
  status?: string;
  /** Epoch milliseconds. */
  from?: number;
  /** Epoch milliseconds. */
  to?: number;
}

/** The key name of calls without a key, as in GET /usage. */
const CONSOLE = 'console';
const STATUS = /^[1-5](\d\d|xx)$/;

/** @throws ApiError invalid_param on status, from or to. */
export function parseRequestFilters(sent: RequestFilterQuery): RequestFilters {
  const { status, from, to, errorCode, operation, path, requestId, apiKeyId } = sent;
  return withoutAbsentFields({
    status: status === undefined ? undefined : readStatus(status),
    from: from === undefined ? undefined : requireDateOrInstant('from', from).getTime(),
    to: to === undefined ? undefined : requireDateOrInstant('to', to).getTime(),
    ...{ errorCode, operation, path, requestId, apiKeyId },
  });
}

/** Whether a request passes all filters. */
function matchesRequestFilters(request: KeptRequest, filters: RequestFilters): boolean {
  const { status, errorCode, operation, path, requestId, apiKeyId, from, to } = filters;
  return (
    (status === undefined || isOf(status, request.status)) &&
    (errorCode === undefined || request.refusal?.code === errorCode) &&
    (requestId === undefined || request.id === requestId) &&
    (apiKeyId === undefined || (request.apiKeyId ?? CONSOLE) === apiKeyId) &&
    (from === undefined || request.atMs >= from) &&
    (to === undefined || request.atMs < to) &&
    (operation === undefined || operationNameOf(request) === operation) &&
    (path === undefined || request.path.startsWith(path) || routePatternOf(request).startsWith(path))
  );
}

/**
 * Whether a status matches the filter.
 * @param filter a status, or a class of statuses such as `4xx`.
 */
function isOf(filter: string, status: number): boolean {
  const text = String(status);
  return filter.endsWith('xx') ? filter[0] === text[0] : filter === text;
}

function readStatus(sent: string): string {
  const status = sent.toLowerCase();
  if (STATUS.test(status)) return status;
  throw invalidParamError('status', 'status must be a status such as 404, or a class of them such as 4xx.');
}
