import { setTimeout as sleep } from 'node:timers/promises';
import { randomText } from '../../platform/ids/ids.ts';
import { billingPeriodOf, type Plan } from './plans.ts';
import type { BillingStore } from './store.ts';
import { CONSOLE_USAGE_KEY, divideUsageWindow, type UsageSource, type UsageWindow } from './usage.ts';
import type { HourlyUsage, MinuteUsage, UsageBatchId, UsageStore } from './usage-store.ts';

/**
 * The interval between two writes. Each write syncs to the disk, so one write per call would add 2 ms of CPU to each
 * call.
 */
const FLUSH_INTERVAL_MS = 500;
/**
 * The longest time from a response until its run is stored, while the store works: the interval plus the write itself.
 */
export const MAX_FLUSH_DELAY_MS = 1_000;
const FIRST_RETRY_PAUSE_MS = 50;
const MAX_RETRY_PAUSE_MS = 5_000;
/**
 * The number of failed attempts after which `onError` is called. So many attempts take about 6 s. `onError` is called
 * again each time the number has doubled.
 */
const MIN_REPORTED_FAILED_TRIES = 8;
/** How often a process tries to write its last batch when it ends. */
const MAX_FINAL_WRITE_TRIES = 3;
/**
 * The maximum number of batches that an account document records. It exceeds the number of batches that all processes
 * together write while one of them retries a batch.
 */
const MAX_RECORDED_BATCHES = 64;
/**
 * The maximum number of counts that wait to be stored. They occupy 15 MB. That is enough for an outage of an hour in
 * which 800 combinations of account, op and key are used in every minute.
 */
const MAX_WAITING_COUNTS = 50_000;

interface SucceededRun extends Pick<MinuteUsage, 'accountId' | 'op' | 'apiKeyId'> {
  terms: Plan;
  /**
   * Whether the run must still be added to the account's count. Only runs on unlimited plans must; runs on other plans
   * are counted before they start.
   */
  mustBeCounted: boolean;
}

/**
 * Counts successful runs in batches, so that under load one write covers many calls. If the process is killed, the
 * counts of the last half second are lost. No credits are lost with them, because runs that cost credits are charged
 * one by one.
 *
 * A failed write is repeated until it succeeds. It takes effect only once: a batch has a number, and each document
 * records the numbers of the batches that it contains. Meanwhile, new counts go into the next batch. The size of a
 * batch depends on the number of different minutes, accounts, ops and keys, but not on the number of calls. Above the
 * size limit, new counts are dropped and reported.
 */
export class SyncRunCounter {
  readonly #store: BillingStore;
  readonly #now: () => Date;
  readonly #onError: (error: unknown) => void;
  readonly #pause: (pauseMs: number) => Promise<void>;
  readonly #writer = `w${randomText(12)}`;
  #sequence = 0;
  #waiting = new Map<string, MinuteUsage>();
  #runsByAccount = new Map<string, number>();
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  /** The write after the current one. It stores everything that is counted while the current one runs. */
  #nextWrite: Promise<void> | null = null;
  readonly #ending = Promise.withResolvers<void>();
  #triesLeft = Number.POSITIVE_INFINITY;

  constructor(
    store: BillingStore,
    now: () => Date,
    onError: (error: unknown) => void,
    pause: (pauseMs: number) => Promise<void> = sleep,
  ) {
    this.#store = store;
    this.#now = now;
    this.#onError = onError;
    this.#pause = pause;
  }

  /** Counts a run, which is stored within half a second. */
  record({ accountId, op, apiKeyId, terms, mustBeCounted }: SucceededRun): void {
    const minute = this.#now().toISOString().slice(0, 16);
    const key = `${accountId}/${minute}/${op}/${apiKeyId}`;
    const count = this.#waiting.get(key);
    if (count !== undefined) count.calls += 1;
    else if (this.#waiting.size === MAX_WAITING_COUNTS) this.#dropped += 1;
    else {
      const { retentionDays } = terms;
      this.#waiting.set(key, { accountId, op, apiKeyId, minute, calls: 1, retentionDays });
    }
    if (mustBeCounted) this.#runsByAccount.set(accountId, (this.#runsByAccount.get(accountId) ?? 0) + 1);
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL_MS);
  }

  /** Resolves when everything that this process counted so far is stored. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#nextWrite ??= this.#writing.then(() => {
      this.#nextWrite = null;
      this.#writing = this.#writePendingCounts();
      return this.#writing;
    });
    return this.#nextWrite;
  }

  /**
   * Flushes before a read, for at most half a second. It need not report a failure of the store, because the read
   * itself fails as well.
   */
  catchUp(): Promise<void> {
    return Promise.race([this.flush(), sleep(FLUSH_INTERVAL_MS, undefined, { ref: false })]);
  }

  /**
   * Flushes for the last time before the process ends. Counts that cannot be stored within a few attempts are dropped
   * and reported to `onError`.
   */
  end(): Promise<void> {
    this.#triesLeft = MAX_FINAL_WRITE_TRIES;
    this.#ending.resolve();
    return this.flush();
  }

  async #writePendingCounts(): Promise<void> {
    this.#reportDropped();
    if (this.#waiting.size === 0) return;
    this.#sequence += 1;
    const batch = { writer: this.#writer, sequence: this.#sequence };
    const period = billingPeriodOf(this.#now());
    const counts = [...this.#waiting.values()];
    const runsByAccount = [...this.#runsByAccount];
    this.#waiting = new Map();
    this.#runsByAccount = new Map();
    for (let tries = 1; ; tries += 1) {
      try {
        await Promise.all([
          ...runsByAccount.map(([accountId, runs]) => this.#addRuns(accountId, runs, period, batch)),
          this.#store.usage.add(counts, batch),
        ]);
        return;
      } catch (error) {
        this.#triesLeft -= 1;
        const isReported = tries >= MIN_REPORTED_FAILED_TRIES && Number.isInteger(Math.log2(tries));
        if (isReported || this.#triesLeft <= 0) this.#onError(error);
        if (this.#triesLeft <= 0) return;
        const pauseMs = Math.min(MAX_RETRY_PAUSE_MS, FIRST_RETRY_PAUSE_MS * 2 ** (tries - 1));
        await Promise.race([this.#pause(pauseMs), this.#ending.promise]);
      }
    }
  }

  async #addRuns(accountId: string, runs: number, period: string, batch: UsageBatchId): Promise<void> {
    const id = `${batch.writer}-${batch.sequence}`;
    const addOnce = () =>
      this.#store.change(
        accountId,
        {
          'processing.period': { $gte: period },
          'processing.batches': { $not: { $elemMatch: { $eq: id } } },
        },
        {
          $inc: { 'processing.used': runs },
          $push: { 'processing.batches': { $each: [id], $slice: -MAX_RECORDED_BATCHES } },
        },
      );
    if (await addOnce()) return;
    // The update matched no document: either the period is over, or the batch was added before and only the response
    // was lost.
    await this.#store.beginPeriod(accountId, period);
    await addOnce();
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    this.#onError(
      new Error(`${this.#dropped} calls were not counted in usage: the documents store was away too long.`),
    );
    this.#dropped = 0;
  }
}

const GROUPING_FIELDS = { op: 'op', key: 'apiKeyId', day: 'day' } as const;

/**
 * The counted synchronous calls of a time window. Whole days are read from daily counts, whole hours from hourly
 * counts, and single minutes from the hours at both ends.
 */
export function createSyncRunUsageSource(usage: UsageStore): UsageSource {
  return async (accountId, window) => {
    const field = GROUPING_FIELDS[window.groupBy];
    const parts = divideUsageWindow(window);
    const [byDay, byHour, cut] = await Promise.all([
      usage.sumCalls(accountId, 'day', parts.days, field),
      Promise.all(parts.hours.map((range) => usage.sumCalls(accountId, 'hour', range, field))),
      usage.findHours(accountId, parts.partialHours),
    ]);
    const minutes = cut.map((hour) => ({ key: hour[field], sync: callsWithin(hour, window) }));
    return [...byDay, ...byHour.flat(), ...minutes]
      .map(({ key, sync }) => ({ key: key ?? CONSOLE_USAGE_KEY, sync }))
      .filter(({ sync }) => sync > 0);
  };
}

/** The calls of an hour in the minutes that are within the window. */
function callsWithin({ hour, minutes }: HourlyUsage, { from, to }: UsageWindow): number {
  let calls = 0;
  for (const [name, count] of Object.entries(minutes)) {
    const minute = new Date(`${hour}:${name.slice(1)}:00Z`);
    if (minute >= from && minute < to) calls += count;
  }
  return calls;
}
