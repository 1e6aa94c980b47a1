import { deleteExpiredBatch } from '../../platform/periodic-tasks.ts';
import { forEachWithLimit } from '../../platform/queues.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { DAY_MS, HOUR_MS } from '../../platform/values/units.ts';
import type { TimeRange } from './usage.ts';

/**
 * The counted calls of one account, op and API key within one day; HourlyUsage extends it for one hour. The size of the
 * store depends on the number of hours with calls, not on the number of calls.
 */
export interface DailyUsage {
  /** `account/start/op/key`. All processes add to the same document. */
  _id: string;
  accountId: string;
  op: string;
  /** Null for a console session. */
  apiKeyId: string | null;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** The number of calls in the whole hour or day. */
  sync: number;
  /** The number of the last added batch of each process, so that a repeated batch adds nothing. */
  batches: Record<string, number>;
  /** The end of the hour or the day, plus the plan's retention. */
  expiresAt: string;
}

export interface HourlyUsage extends DailyUsage {
  /** `YYYY-MM-DDTHH`, UTC. */
  hour: string;
  /** The number of calls per minute, with the keys `m00` to `m59`. Minutes without calls are absent. */
  minutes: Record<string, number>;
}

/** Calls of one account, op and API key within one minute. */
export interface MinuteUsage extends Pick<DailyUsage, 'accountId' | 'op' | 'apiKeyId'> {
  /** `YYYY-MM-DDTHH:MM`, UTC. */
  minute: string;
  calls: number;
  retentionDays: number;
}

/** Identifies a batch. A process numbers its batches in ascending order, and finishes one before it begins the next. */
export interface UsageBatchId {
  /** The name of the process, without dots. */
  writer: string;
  sequence: number;
}

/** The maximum number of concurrent writes of one process. */
const MAX_CONCURRENT_WRITES = 64;

type CountGroupField = 'op' | 'apiKeyId' | 'day';

interface KeyCount {
  key: string | null;
  sync: number;
}

export const USAGE_HOURS_COLLECTION: DeclaredCollection = {
  name: 'usageHours',
  indexes: usageIndexes('hour'),
  onAccountDeletion: 'keep',
};
export const USAGE_DAYS_COLLECTION: DeclaredCollection = {
  name: 'usageDays',
  indexes: usageIndexes('day'),
  onAccountDeletion: 'keep',
};

/** Stores how many synchronous calls each account made, by hour and by day. */
export class UsageStore {
  readonly #hours: DocumentCollection<HourlyUsage>;
  readonly #days: DocumentCollection<DailyUsage>;

  constructor(documents: DocumentStore) {
    this.#hours = documents.collection(USAGE_HOURS_COLLECTION);
    this.#days = documents.collection(USAGE_DAYS_COLLECTION);
  }

  /**
   * Adds the counts of a batch to their hours and days. A batch has at most one count per minute, account, op and key.
   * A batch that is written again adds nothing.
   */
  async add(counts: readonly MinuteUsage[], batch: UsageBatchId): Promise<void> {
    const writes = [
      ...hourlyCounts(counts).map((hour) => () => addCount(this.#hours, hour, hour.minutes, batch)),
      ...dailyCounts(counts).map((day) => () => addCount(this.#days, day, {}, batch)),
    ];
    await forEachWithLimit(writes, MAX_CONCURRENT_WRITES, (write) => write());
  }

  /**
   * The number of calls in whole days or hours, grouped by a field.
   * @param range days as `YYYY-MM-DD`, or hours as `YYYY-MM-DDTHH`.
   */
  async sumCalls(
    accountId: string,
    unit: 'day' | 'hour',
    { from, to }: TimeRange,
    field: CountGroupField,
  ): Promise<KeyCount[]> {
    const counts: DocumentCollection<DailyUsage> = unit === 'day' ? this.#days : this.#hours;
    const filter = { accountId, [unit]: { $gte: from, $lt: to } };
    const rows = await counts.group({ filter, by: { key: field }, sums: { sync: 'sync' } });
    return rows.map(({ key, sync }) => ({ key: key === null ? null : String(key), sync: Number(sync) }));
  }

  /** The counts of these hours, with their minutes. */
  findHours(accountId: string, hours: readonly string[]): Promise<HourlyUsage[]> {
    return this.#hours.find({ accountId, hour: { $in: hours } });
  }

  sweepHours(now: Date): Promise<number> {
    return deleteExpiredBatch(this.#hours, now);
  }

  sweepDays(now: Date): Promise<number> {
    return deleteExpiredBatch(this.#days, now);
  }
}

/**
 * Adds calls to a count. The document records the last batch of every process, so that a batch may be written again
 * after a partial failure.
 */
async function addCount<T extends DailyUsage>(
  collection: DocumentCollection<T>,
  counted: T,
  minutes: Record<string, number>,
  { writer, sequence }: UsageBatchId,
): Promise<void> {
  const lastBatch = `batches.${writer}`;
  const increments = Object.entries(minutes).map(([name, calls]) => [`minutes.${name}`, calls]);
  const addOnce = async () => {
    const { matched } = await collection.updateOne(
      { _id: counted._id, [lastBatch]: { $not: { $gte: sequence } } },
      {
        $inc: { sync: counted.sync, ...Object.fromEntries(increments) },
        $set: { [lastBatch]: sequence },
        $max: { expiresAt: counted.expiresAt },
      },
    );
    return matched === 1;
  };
  if (await addOnce()) return;
  const { duplicates } = await collection.insertMany([{ ...counted, batches: { [writer]: sequence } }]);
  // A duplicate key means that another process has just created the document, or that the batch was added before.
  if (duplicates.length > 0) await addOnce();
}

function hourlyCounts(counts: readonly MinuteUsage[]): HourlyUsage[] {
  const hours = new Map<string, HourlyUsage>();
  for (const count of counts) {
    const hour = count.minute.slice(0, 13);
    const made = { ...emptyCount(count, hour, Date.parse(`${hour}:00:00Z`) + HOUR_MS), hour, minutes: {} };
    const sum: HourlyUsage = hours.get(made._id) ?? made;
    const minute = `m${count.minute.slice(14, 16)}`;
    sum.sync += count.calls;
    sum.minutes[minute] = (sum.minutes[minute] ?? 0) + count.calls;
    hours.set(sum._id, sum);
  }
  return [...hours.values()];
}

function dailyCounts(counts: readonly MinuteUsage[]): DailyUsage[] {
  const days = new Map<string, DailyUsage>();
  for (const count of counts) {
    const day = count.minute.slice(0, 10);
    const made = emptyCount(count, day, Date.parse(day) + DAY_MS);
    const sum = days.get(made._id) ?? made;
    sum.sync += count.calls;
    days.set(sum._id, sum);
  }
  return [...days.values()];
}

function emptyCount(count: MinuteUsage, start: string, endMs: number): DailyUsage {
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

function usageIndexes(start: string) {
  return [
    { name: 'account', fields: sortBy('accountId', start) },
    { name: 'expiresAt', fields: sortBy('expiresAt') },
  ];
}
