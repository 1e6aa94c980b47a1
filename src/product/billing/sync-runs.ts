import { setTimeout as sleep } from 'node:timers/promises';
import { randomText } from '../../platform/names/ids.ts';
import { periodOf, turnPeriod } from './period.ts';
import type { PlanTerms } from './plan-terms.ts';
import type { BillingStore } from './store.ts';
import { addCounts, type MinuteCount } from './usage-counts.ts';

/**
 * Each write is a sync to disk: one per call cost 2 ms of CPU beside every large picture. Readers have the batches
 * written first, and wait as long as this for it at most (catch-up.ts).
 */
const FLUSH_AFTER_MS = 500;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
/**
 * `onError` is called for a store that is away after this number of tries (6 s), and again each time it has doubled.
 */
const REPORTED_AFTER_TRIES = 8;
/** Tries that are left to a batch when the process ends. */
const LAST_TRIES = 3;
/** Batches that an account remembers: more than all processes write to it while one of them tries again. */
const REMEMBERED_BATCHES = 64;
/** Counts that may wait for a store: 15 MB, or an hour of 800 accounts, ops and keys. */
const MOST_WAITING = 50_000;

interface SucceededRun {
  accountId: string;
  op: string;
  apiKeyId: string | null;
  terms: PlanTerms;
  /** Whether the account's count must still be raised (an unlimited plan's runs are not reserved before). */
  counts: boolean;
}

interface Batch {
  id: string;
  sequence: number;
  period: string;
  counts: MinuteCount[];
  /** How much each account's count rises. */
  rises: Map<string, number>;
}

/**
 * Counts what succeeded, in batches: a process under load makes one write for many calls. What a kill -9 can lose is
 * the last half second of counts that cost nobody anything; runs that cost money are settled one by one, not here.
 *
 * A failed write is repeated until it succeeds, and counts once however often: a batch keeps its number, and what it
 * raises remembers the numbers it has seen. Meanwhile everything new waits together as one batch, whose size is the
 * number of minutes, accounts, ops and keys and not that of the calls. Past its bound new counts are dropped, and
 * reported.
 */
export interface SyncRuns {
  /** Takes a run down; it is written within moments. */
  record(succeededRun: SucceededRun): void;
  /** Resolves when everything recorded so far is written. */
  flush(): Promise<void>;
  /**
   * The last flush of a process: what cannot be written within a few tries is given up, and reported to `onError`.
   */
  end(): Promise<void>;
}

export function createSyncRuns(
  store: BillingStore,
  now: () => Date,
  onError: (error: unknown) => void,
  pause: (pauseMs: number) => Promise<void> = sleep,
): SyncRuns {
  const writer = `w${randomText(12)}`;
  let sequence = 0;
  let waiting = new Map<string, MinuteCount>();
  let rises = new Map<string, number>();
  let dropped = 0;
  let timer: NodeJS.Timeout | null = null;
  /** The batch that is being written, and the promise of everything that waits behind it. */
  let writing: Promise<void> = Promise.resolve();
  let following: Promise<void> | null = null;
  const ending = Promise.withResolvers<void>();
  let triesLeft = Number.POSITIVE_INFINITY;

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    following ??= writing.then(() => {
      following = null;
      writing = writeWaiting();
      return writing;
    });
    return following;
  }

  async function writeWaiting(): Promise<void> {
    reportDropped();
    if (waiting.size === 0) return;
    sequence += 1;
    const id = `${writer}-${sequence}`;
    const batch = { id, sequence, period: periodOf(now()), counts: [...waiting.values()], rises };
    waiting = new Map();
    rises = new Map();
    for (let tries = 1; ; tries += 1) {
      try {
        await writeOnce(batch);
        return;
      } catch (error) {
        triesLeft -= 1;
        if (isReported(tries) || triesLeft <= 0) onError(error);
        if (triesLeft <= 0) return;
        const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1));
        await Promise.race([pause(pauseMs), ending.promise]);
      }
    }
  }

  async function writeOnce(batch: Batch): Promise<void> {
    const raised = Array.from(batch.rises, ([accountId, count]) => raise(accountId, count, batch));
    await Promise.all([
      addCounts(store.usage, batch.counts, { writer, sequence: batch.sequence }),
      ...raised,
    ]);
  }

  async function raise(accountId: string, count: number, batch: Batch): Promise<void> {
    if (await add(accountId, count, batch)) return;
    // The period is over, or this batch was counted before its answer was lost.
    await turnPeriod(store, accountId, batch.period);
    await add(accountId, count, batch);
  }

  async function add(accountId: string, count: number, { id, period }: Batch): Promise<boolean> {
    return store.change(
      accountId,
      { 'processing.period': { $gte: period }, 'processing.batches': { $ne: id } },
      {
        $inc: { 'processing.used': count },
        $push: { 'processing.batches': { $each: [id], $slice: -REMEMBERED_BATCHES } },
      },
    );
  }

  function reportDropped(): void {
    if (dropped === 0) return;
    onError(new Error(`${dropped} calls were not counted in usage: the documents store was away too long.`));
    dropped = 0;
  }

  return {
    record({ accountId, op, apiKeyId, terms, counts }) {
      const minute = now().toISOString().slice(0, 16);
      const key = `${accountId}/${minute}/${op}/${apiKeyId}`;
      const count = waiting.get(key);
      if (count !== undefined) count.calls += 1;
      else if (waiting.size < MOST_WAITING) {
        const { retentionDays } = terms;
        waiting.set(key, { accountId, op, apiKeyId, minute, calls: 1, retentionDays });
      } else dropped += 1;
      if (counts) rises.set(accountId, (rises.get(accountId) ?? 0) + 1);
      timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    flush,
    end() {
      triesLeft = LAST_TRIES;
      ending.resolve();
      return flush();
    },
  };
}

/** After 8, 16, 32 … tries: once per outage, and now and then while it lasts. */
function isReported(tries: number): boolean {
  return tries >= REPORTED_AFTER_TRIES && Number.isInteger(Math.log2(tries));
}
