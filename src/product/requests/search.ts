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
  pathTemplateOf,
  requestRecordOf,
} from './responses.ts';
import type { RequestErrorGroup, RequestFilterQuery, RequestListQuery, RequestRecord } from './schema.ts';

/** The position of a request in the joint list of all processes, which is sorted newest first. */
interface RowPosition {
  at: string;
  /** Orders the requests of the same instant. */
  position: string;
}

interface RequestRow extends RequestRecord, RowPosition {}

/** A query to all processes: for groups of errors, for the newest rows, or only for the positions of these rows. */
interface SearchQuestion {
  accountId: string;
  filters: RequestFilters;
  wants: 'groups' | 'rows' | 'places';
  /** The position (`at` and `position`) after which the rows begin; null for the newest rows. */
  after: readonly unknown[] | null;
  limit: number;
}

interface SearchAnswer {
  rows: RequestRow[];
  places: RowPosition[];
  groups: RequestErrorGroup[];
  /** The number of all requests that match the filters, even beyond the limit. */
  total: number;
}

const REQUEST_SEARCH_CHANNEL = 'requests';
/** How long a search waits for answers. The requests of a process that takes longer are missing from the result. */
const SEARCH_ANSWER_TIMEOUT_MS = 2_000;
/** The width to which numbers are padded, so that their texts sort in the same order. */
const PADDED_NUMBER_CHARACTERS = 12;
const NEWEST_FIRST = sortBy('-at', '-position');

/** Searches the recent requests of all processes on all hosts, by a message to each process. */
export class RequestSearch {
  readonly #coordination: MessageChannels;

  constructor(coordination: MessageChannels) {
    this.#coordination = coordination;
  }

  /**
   * Lists requests, newest first.
   * @throws ApiError invalid_param on cursor.
   */
  async list(
    accountId: string,
    filters: RequestFilters,
    query: RequestListQuery,
  ): Promise<ListPage<RequestRow>> {
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
        ? await this.#findPositionBefore(page * perPage, accountId, filters)
        : parseCursor(query.cursor, listing, query.page);
    const question = { accountId, filters, after, limit: perPage + 1 };
    const answers = await this.#askProcesses({ ...question, wants: 'rows' });
    const rows = answers.flatMap((answer) => answer.rows).sort(compareNewestFirst);
    const total = answers.reduce((sum, answer) => sum + answer.total, 0);
    return toListPage(rows, listing, perPage, query.cursor === undefined ? { total, page } : {});
  }

  /** The latest request with an id; null if no process remembers it. */
  async find(accountId: string, requestId: string): Promise<RequestRecord | null> {
    const question = { accountId, filters: { requestId }, after: null, limit: 1 };
    const answers = await this.#askProcesses({ ...question, wants: 'rows' });
    return answers.flatMap(({ rows }) => rows).sort(compareNewestFirst)[0] ?? null;
  }

  /** The refused requests in groups of the same cause, the most frequent group first. */
  async findErrorGroups(accountId: string, filters: RequestFilters): Promise<RequestErrorGroup[]> {
    const answers = await this.#askProcesses({ accountId, filters, wants: 'groups', after: null, limit: 0 });
    return mergeErrorGroups(answers.flatMap(({ groups }) => groups));
  }

  /**
   * The position of the last request before a page; null for the first page. Every process sends the positions of its
   * first `skipped` rows, because each of them may have rows before the page.
   */
  async #findPositionBefore(
    skipped: number,
    accountId: string,
    filters: RequestFilters,
  ): Promise<unknown[] | null> {
    if (skipped === 0) return null;
    const answers = await this.#askProcesses({
      accountId,
      filters,
      wants: 'places',
      after: null,
      limit: skipped,
    });
    const places = answers.flatMap((answer) => answer.places).sort(compareNewestFirst);
    const last = places.slice(0, skipped).at(-1);
    return last === undefined ? null : [last.at, last.position];
  }

  #askProcesses(question: SearchQuestion): Promise<SearchAnswer[]> {
    return askEveryProcess(this.#coordination, REQUEST_SEARCH_CHANNEL, question, SEARCH_ANSWER_TIMEOUT_MS);
  }
}

/**
 * Answers the searches of all processes with the requests that this process remembers. Resolves with a function that
 * stops answering.
 * @param process the name of this process.
 */
export function answerRequestSearches(
  coordination: MessageChannels,
  requests: RecentRequests,
  process: string,
  now: () => Date,
): Promise<() => void> {
  return answerProcessQuestions(
    coordination,
    REQUEST_SEARCH_CHANNEL,
    (question: SearchQuestion): SearchAnswer => {
      const { accountId, filters, wants, after, limit } = question;
      const kept = requests.listNewestFirst(accountId, now().getTime());
      const found = [...kept].filter((request) => matchesRequestFilters(request, filters));
      const answer: SearchAnswer = { rows: [], places: [], groups: [], total: found.length };
      if (wants === 'groups') {
        const refused = found.filter(({ refusal }) => refusal !== null);
        return { ...answer, groups: groupRequestErrors(refused.map(requestRecordOf)) };
      }
      const page = found
        .map((request) => ({ request, place: positionOf(request, process) }))
        .filter(({ place }) => after === null || isAfter(place, after))
        .slice(0, limit);
      if (wants === 'places') return { ...answer, places: page.map(({ place }) => place) };
      return {
        ...answer,
        rows: page.map(({ request, place }) => ({ ...requestRecordOf(request), ...place })),
      };
    },
  );
}

function positionOf({ atMs, number }: NumberedRequest, process: string): RowPosition {
  const position = `${process}/${String(number).padStart(PADDED_NUMBER_CHARACTERS, '0')}`;
  return { at: new Date(atMs).toISOString(), position };
}

function compareNewestFirst(one: RowPosition, other: RowPosition): number {
  return one.at === other.at ? compareText(other.position, one.position) : compareText(other.at, one.at);
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Whether a request comes after a position in the list, which is sorted newest first. */
function isAfter({ at, position }: RowPosition, [lastAt, lastPosition]: readonly unknown[]): boolean {
  return at === lastAt ? position < String(lastPosition) : at < String(lastAt);
}

interface RequestFilters extends Omit<RequestFilterQuery, 'status' | 'from' | 'to'> {
  /** A status, or a class of statuses such as `4xx`, in lower case. */
  status?: string;
  /** Epoch milliseconds. */
  from?: number;
  /** Epoch milliseconds. */
  to?: number;
}

/** The value of the filter `apiKeyId` that selects calls without an API key, as in GET /usage. */
const CONSOLE_API_KEY_FILTER = 'console';
const STATUS_PATTERN = /^[1-5](\d\d|xx)$/;

/**
 * Parses the filters of a search.
 * @throws ApiError invalid_param on status, from or to.
 */
export function parseRequestFilters(sent: RequestFilterQuery): RequestFilters {
  const { status, from, to, errorCode, operation, path, requestId, apiKeyId } = sent;
  return withoutAbsentFields({
    status: status === undefined ? undefined : parseStatusFilter(status),
    from: from === undefined ? undefined : requireDateOrInstant('from', from).getTime(),
    to: to === undefined ? undefined : requireDateOrInstant('to', to).getTime(),
    ...{ errorCode, operation, path, requestId, apiKeyId },
  });
}

function matchesRequestFilters(request: KeptRequest, filters: RequestFilters): boolean {
  const { status, errorCode, operation, path, requestId, apiKeyId, from, to } = filters;
  return (
    (status === undefined || matchesStatus(status, request.status)) &&
    (errorCode === undefined || request.refusal?.code === errorCode) &&
    (requestId === undefined || request.id === requestId) &&
    (apiKeyId === undefined || (request.apiKeyId ?? CONSOLE_API_KEY_FILTER) === apiKeyId) &&
    (from === undefined || request.atMs >= from) &&
    (to === undefined || request.atMs < to) &&
    (operation === undefined || operationNameOf(request) === operation) &&
    (path === undefined || request.path.startsWith(path) || pathTemplateOf(request).startsWith(path))
  );
}

/**
 * Whether a status matches the filter.
 * @param filter a status, or a class of statuses such as `4xx`.
 */
function matchesStatus(filter: string, status: number): boolean {
  const text = String(status);
  return filter.endsWith('xx') ? filter[0] === text[0] : filter === text;
}

function parseStatusFilter(sent: string): string {
  const status = sent.toLowerCase();
  if (STATUS_PATTERN.test(status)) return status;
  throw invalidParamError('status', 'status must be a status such as 404, or a class of them such as 4xx.');
}
