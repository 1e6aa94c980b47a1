import { type ApiError, invalidParam } from '../http/errors.ts';
import type { UsageQuery } from './schema.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const LONGEST_DAYS = 366;
const GROUPINGS = ['op', 'key', 'day'] as const;

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

export type Grouping = (typeof GROUPINGS)[number];

/** What GET /usage looks at: from inclusive, to exclusive. */
export interface UsageWindow {
  from: Date;
  to: Date;
  groupBy: Grouping;
}

/**
 * Reads the window that a query names.
 * @throws ApiError invalid_param on groupBy, on from or to (no date or instant), or on from (not before to, or too far).
 */
export function readWindow({ groupBy = 'op', from, to }: UsageQuery, now: Date): UsageWindow {
  const grouping = GROUPINGS.find((known) => known === groupBy);
  if (grouping === undefined) {
    throw invalidParam('groupBy', `groupBy must be one of ${GROUPINGS.join(', ')}.`, { allowed: GROUPINGS });
  }
  const end = to === undefined ? now : readInstant('to', to);
  const start =
    from === undefined ? new Date(end.getTime() - DEFAULT_DAYS * DAY_MS) : readInstant('from', from);
  if (start >= end) throw invalidParam('from', 'from must be before to.');
  if (end.getTime() - start.getTime() > LONGEST_DAYS * DAY_MS) throw tooLong();
  return { from: start, to: end, groupBy: grouping };
}

/** A date is its first instant, UTC. One that no calendar has, such as February 30, is refused. */
function readInstant(param: 'from' | 'to', text: string): Date {
  const day = DATE.test(text) ? text : INSTANT.exec(text)?.[1];
  if (day === undefined || !isInCalendar(day)) throw malformed(param);
  const instant = new Date(text.toUpperCase());
  if (Number.isNaN(instant.getTime())) throw malformed(param);
  return instant;
}

function isInCalendar(day: string): boolean {
  const date = new Date(`${day}T00:00:00.000Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function malformed(param: string): ApiError {
  return invalidParam(
    param,
    `${param} must be a date (2026-01-31) or an instant with its zone (2026-01-31T12:00:00Z).`,
  );
}

function tooLong(): ApiError {
  return invalidParam('from', `The window spans more than ${LONGEST_DAYS} days: move from closer to to.`, {
    limit: LONGEST_DAYS,
  });
}
