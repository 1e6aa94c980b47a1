import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { parseDate, parseRfc3339Instant } from '../../platform/http/fields.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { KeptRequest } from './kept-request.ts';
import { operationNameOf, routePatternOf } from './responses.ts';
import type { RequestFilterQuery } from './schema.ts';

/** Filters of recent requests. */
export interface RequestFilters extends Omit<RequestFilterQuery, 'status' | 'from' | 'to'> {
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
    from: readBound('from', from),
    to: readBound('to', to),
    ...{ errorCode, operation, path, requestId, apiKeyId },
  });
}

/** Whether a request passes all filters. */
export function matchesRequestFilters(request: KeptRequest, filters: RequestFilters): boolean {
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

function readBound(param: 'from' | 'to', sent: string | undefined): number | undefined {
  if (sent === undefined) return undefined;
  const instant = parseDate(sent) ?? parseRfc3339Instant(sent, 'Z');
  if (instant !== null) return instant.getTime();
  throw invalidParamError(
    param,
    `${param} must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z).`,
  );
}
