import { type Collection, DuplicateKeyError } from '../stores/documents/port.ts';
import type { UsageDay, UsageHour, UsageStore } from './usage-store.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Documents that one process writes at the same time. */
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

/** Which batch a count belongs to. A process numbers its batches upwards and ends one before it begins the next. */
export interface BatchMark {
  /** Names the process; no dots. */
  writer: string;
  sequence: number;
}

/**
 * Adds the counts of a batch to their hours and days. Each document remembers the last batch of every process, so that
 * a batch may be written again after a failure, whatever part of it had arrived.
 */
export async function addCounts(
  { hours, days }: UsageStore,
  counts: readonly MinuteCount[],
  mark: BatchMark,
): Promise<void> {
  const writes = [
    ...[...hoursOf(counts)].map(
      ([, hour]) =>
        () =>
          add(hours, hour, minutesOf(hour), mark),
    ),
    ...[...daysOf(counts)].map(
      ([, day]) =>
        () =>
          add(days, day, {}, mark),
    ),
  ];
  for (let next = 0; next < writes.length; next += WRITTEN_AT_ONCE) {
    await Promise.all(writes.slice(next, next + WRITTEN_AT_ONCE).map((write) => write()));
  }
}

async function add<T extends UsageDay>(
  collection: Collection<T>,
  counted: T,
  minutes: Record<string, number>,
  { writer, sequence }: BatchMark,
): Promise<void> {
  const place = `batches.${writer}`;
  const addOnce = async () => {
    const { matched } = await collection.updateOne(
      { _id: counted._id, [place]: { $not: { $gte: sequence } } },
      {
        $inc: { sync: counted.sync, ...minutes },
        $set: { [place]: sequence },
        $max: { expiresAt: counted.expiresAt },
      },
    );
    return matched === 1;
  };
  if (await addOnce()) return;
  try {
    await collection.insertOne({ ...counted, batches: { [writer]: sequence } });
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
    // Another process made the document meanwhile, or this batch was added before.
    await addOnce();
  }
}

function minutesOf({ minutes }: UsageHour): Record<string, number> {
  return Object.fromEntries(Object.entries(minutes).map(([name, calls]) => [`minutes.${name}`, calls]));
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
