import { invalidParamError } from '../../platform/http/errors/errors.ts';
import {
  instantCorrections,
  parseDate,
  parseRfc3339Instant,
  requireAllowed,
} from '../../platform/http/fields.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/values/units.ts';
import type { UsageBucket, UsageQuery, UsageReport, UsageTotal } from './schema.ts';

/**
 * Returns the usage of one kind of work in a time window. It is summed by group (day, op or key), in any order; groups
 * without usage may be missing.
 */
export type UsageSource = (
  accountId: string,
  window: UsageWindow,
) => Promise<ReadonlyArray<{ key: string } & Partial<UsageTotal>>>;

/** The group of calls from a console session, which has no API key. */
export const CONSOLE_USAGE_KEY = 'console';

/** Sums the usage of all sources over a window. */
export async function readUsage(
  sources: readonly UsageSource[],
  accountId: string,
  window: UsageWindow,
): Promise<Omit<UsageReport, 'asOf'>> {
  const shares = (await Promise.all(sources.map((source) => source(accountId, window)))).flat();
  const groups = new Map<string, UsageBucket>();
  const total = emptyUsage();
  for (const { key, ...share } of shares) {
    const bucket = groups.get(key) ?? { key, ...emptyUsage() };
    groups.set(key, bucket);
    addUsage(bucket, share);
    addUsage(total, share);
  }
  return {
    from: window.from.toISOString(),
    to: window.to.toISOString(),
    groupBy: window.groupBy,
    groups: [...groups.values()].sort((one, other) => (one.key < other.key ? -1 : 1)),
    total,
  };
}

function emptyUsage(): UsageTotal {
  return { jobs: 0, credits: 0, items: 0, sync: 0 };
}

function addUsage(
  sum: UsageTotal,
  { jobs = 0, credits = 0, items = 0, sync = 0 }: Partial<UsageTotal>,
): void {
  sum.jobs += jobs;
  sum.credits += credits;
  sum.items += items;
  sum.sync += sync;
}

const DEFAULT_USAGE_WINDOW_DAYS = 30;
const MAX_USAGE_WINDOW_DAYS = 366;
const USAGE_GROUPINGS = ['op', 'key', 'day'] as const;

export type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

/** The time window of GET /usage: `from` inclusive, `to` exclusive, both whole minutes. */
export interface UsageWindow {
  from: Date;
  to: Date;
  groupBy: UsageGrouping;
}

/**
 * Parses the time window of a query. Usage is counted by the minute, so both ends are rounded down to whole minutes. A
 * missing `to` is the end of the current minute.
 * @throws ApiError invalid_param on groupBy; on from or to when the text is not a date or an instant; on from when the
 * window is empty or too long.
 */
export function parseUsageWindow({ groupBy = 'op', from, to }: UsageQuery, now: Date): UsageWindow {
  const grouping = requireAllowed('groupBy', groupBy, USAGE_GROUPINGS);
  const nextMinute = new Date(floorInstant(now, MINUTE_MS).getTime() + MINUTE_MS);
  const end = to === undefined ? nextMinute : parseWindowBound('to', to);
  const start =
    from === undefined
      ? new Date(end.getTime() - DEFAULT_USAGE_WINDOW_DAYS * DAY_MS)
      : parseWindowBound('from', from);
  if (start >= end) {
    throw invalidParamError('from', 'from must be before to, both rounded down to whole minutes.');
  }
  if (end.getTime() - start.getTime() > MAX_USAGE_WINDOW_DAYS * DAY_MS) {
    const message = `The window spans more than ${MAX_USAGE_WINDOW_DAYS} days: move from closer to to.`;
    throw invalidParamError('from', message, { limit: MAX_USAGE_WINDOW_DAYS });
  }
  return { from: start, to: end, groupBy: grouping };
}

/** Parses an instant, or a date as its first instant in UTC, and rounds it down to its minute. */
function parseWindowBound(param: 'from' | 'to', text: string): Date {
  const instant = parseDate(text) ?? parseRfc3339Instant(text);
  if (instant !== null) return floorInstant(instant, MINUTE_MS);
  const message = `${param} must be a date (2026-01-31) or an instant with its zone (2026-01-31T12:00:00Z).`;
  throw invalidParamError(param, message, undefined, instantCorrections(param, text));
}

/** A time range. `from` (inclusive) and `to` (exclusive) are texts that sort by time. */
export interface TimeRange {
  from: string;
  to: string;
}

/**
 * A window divided into the units of the store: whole days, the whole hours before and after them, and the hours that
 * are only partly in the window.
 */
interface DividedWindow {
  /** `YYYY-MM-DD`. */
  days: TimeRange;
  /** `YYYY-MM-DDTHH`. */
  hours: TimeRange[];
  /** The hours that are only partly in the window, as `YYYY-MM-DDTHH`. */
  partialHours: string[];
}

/** Divides a window so that each minute belongs to exactly one part. */
export function divideUsageWindow({ from, to }: UsageWindow): DividedWindow {
  const [firstDay, lastDay] = [ceilInstant(from, DAY_MS), floorInstant(to, DAY_MS)];
  const [firstHour, lastHour] = [ceilInstant(from, HOUR_MS), floorInstant(to, HOUR_MS)];
  const hasDays = firstDay < lastDay;
  const hours = hasDays
    ? [hourRange(firstHour, firstDay), hourRange(lastDay, lastHour)]
    : [hourRange(firstHour, lastHour)];
  const cut = [...(firstHour > from ? [hourName(from)] : []), ...(lastHour < to ? [hourName(to)] : [])];
  return {
    days: { from: dayName(firstDay), to: dayName(hasDays ? lastDay : firstDay) },
    hours: hours.filter((range) => range.from < range.to),
    partialHours: [...new Set(cut)],
  };
}

function hourRange(from: Date, to: Date): TimeRange {
  return { from: hourName(from), to: hourName(to) };
}

function dayName(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

function hourName(instant: Date): string {
  return instant.toISOString().slice(0, 13);
}

function floorInstant(instant: Date, unitMs: number): Date {
  return new Date(Math.floor(instant.getTime() / unitMs) * unitMs);
}

function ceilInstant(instant: Date, unitMs: number): Date {
  return new Date(Math.ceil(instant.getTime() / unitMs) * unitMs);
}
