import { eachLimit } from '../../platform/fairness/each-limit.ts';
import { DAY_MS, HOUR_MS } from '../../platform/names/units.ts';
import type { BatchMark, UsageDay, UsageHour, UsageStore } from './usage-store.ts';

/** The most concurrent writes of one process. */
const WRITTEN_AT_ONCE = 64;

/** Calls of one account, op and API key within one minute. */
export interface MinuteCount {
  accountId: string;
  op: string;
  apiKeyId: string | null;
  /** `YYYY-MM-DDTHH:MM`, UTC. */
  minute: string;
  calls: number;
  retentionDays: number;
}

/** Adds the counts of a batch to their hours and days. A batch that is written again adds nothing. */
export async function addCounts(
  usage: UsageStore,
  counts: readonly MinuteCount[],
  mark: BatchMark,
): Promise<void> {
  const writes = [
    ...Array.from(hoursOf(counts).values(), (hour) => () => usage.addHour(hour, mark)),
    ...Array.from(daysOf(counts).values(), (day) => () => usage.addDay(day, mark)),
  ];
  await eachLimit(writes, WRITTEN_AT_ONCE, (write) => write());
}

function hoursOf(counts: readonly MinuteCount[]): Map<string, UsageHour> {
  const hours = new Map<string, UsageHour>();
  for (const count of counts) {
    const hour = count.minute.slice(0, 13);
    const made = { ...emptyCount(count, hour, Date.parse(`${hour}:00:00Z`) + HOUR_MS), hour, minutes: {} };
    const sum: UsageHour = hours.get(made._id) ?? made;
    const minute = minuteName(count.minute);
    sum.sync += count.calls;
    sum.minutes[minute] = (sum.minutes[minute] ?? 0) + count.calls;
    hours.set(sum._id, sum);
  }
  return hours;
}

function daysOf(counts: readonly MinuteCount[]): Map<string, UsageDay> {
  const days = new Map<string, UsageDay>();
  for (const count of counts) {
    const day = count.minute.slice(0, 10);
    const made = emptyCount(count, day, Date.parse(day) + DAY_MS);
    const sum = days.get(made._id) ?? made;
    sum.sync += count.calls;
    days.set(sum._id, sum);
  }
  return days;
}

function emptyCount(count: MinuteCount, start: string, endMs: number): UsageDay {
  const { accountId, op, apiKeyId, minute, retentionDays } = count;
  return {
    _id: `${accountId}/${start}/${op}/${apiKeyId ?? ''}`,
    accountId,
    op,
    apiKeyId,
    day: minute.slice(0, 10),
    sync: 0,
    batches: {},
    expiresAt: new Date(endMs + retentionDays * DAY_MS).toISOString(),
  };
}

/** The field of a minute within its hour: `m00` to `m59`. */
function minuteName(minute: string): string {
  return `m${minute.slice(14, 16)}`;
}
