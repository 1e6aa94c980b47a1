import { setTimeout as sleep } from 'node:timers/promises';
import { newId, randomText } from '../names/ids.ts';
import type { PlanTerms } from './allowance.ts';
import { periodOf, turnPeriod } from './period.ts';
import type { BillingStore, SyncRun } from './store.ts';

const FLUSH_AFTER_MS = 100;
const LARGEST_BATCH = 256;
/** A write that fails is tried this often, with doubling pauses: 6 s in all. */
const MOST_TRIES = 8;
const FIRST_PAUSE_MS = 50;
/** Batches that an account remembers: more than all processes write to it while one of them tries again. */
const REMEMBERED_BATCHES = 64;

export interface SucceededRun {
  accountId: string;
  op: string;
  apiKeyId: string | null;
  terms: PlanTerms;
  /** Whether the account's count must still be raised (an unlimited plan's runs are not reserved before). */
  counts: boolean;
}

interface Batch {
  id: string;
  period: string;
  rows: SyncRun[];
  /** How much each account's count rises. */
  rises: Map<string, number>;
}

/**
 * Writes down what succeeded, in batches: a process under load makes one write for many calls. What a kill -9 can lose is
 * the last 100 ms of counts that cost nobody anything; runs that cost money are settled one by one, not here.
 * A failed write is repeated, and counts once however often: rows have their ids from the start, and an account remembers
 * the batches that raised its count.
 */
export function createSyncRuns(
  store: BillingStore,
  now: () => Date,
  onError: (error: unknown) => void,
  pause: (pauseMs: number) => Promise<void> = sleep,
) {
  let rows: SyncRun[] = [];
  let rises = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (rows.length > 0) {
      const batch = { id: randomText(12), period: periodOf(now()), rows, rises };
      rows = [];
      rises = new Map();
      writing = writing.then(() => write(batch)).catch(onError);
    }
    return writing;
  }

  async function write(batch: Batch): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await writeOnce(batch);
        return;
      } catch (error) {
        if (tries === MOST_TRIES) throw error;
        await pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }

  async function writeOnce(batch: Batch): Promise<void> {
    const raised = Array.from(batch.rises, ([accountId, count]) => raise(accountId, count, batch));
    await Promise.all([store.syncRuns.insertMany(batch.rows), ...raised]);
  }

  async function raise(accountId: string, count: number, batch: Batch): Promise<void> {
    if (await add(accountId, count, batch)) return;
    // The period is over, or this batch was counted before its answer was lost.
    await turnPeriod(store, accountId, batch.period);
    await add(accountId, count, batch);
  }

  async function add(accountId: string, count: number, { id, period }: Batch): Promise<boolean> {
    const { modified } = await store.money.updateOne(
      { _id: accountId, 'processing.period': { $gte: period }, 'processing.batches': { $ne: id } },
      {
        $inc: { 'processing.used': count },
        $push: { 'processing.batches': { $each: [id], $slice: -REMEMBERED_BATCHES } },
      },
    );
    return modified === 1;
  }

  return {
    /** Takes a run down; it is written within moments. */
    record(run: SucceededRun): void {
      rows.push(rowOf(run, now()));
      if (run.counts) rises.set(run.accountId, (rises.get(run.accountId) ?? 0) + 1);
      if (rows.length >= LARGEST_BATCH) void flush();
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    /** Resolves when everything recorded so far is written, or was given up and told to `onError`. */
    flush,
  };
}

export type SyncRuns = ReturnType<typeof createSyncRuns>;

function rowOf({ accountId, op, apiKeyId, terms }: SucceededRun, instant: Date): SyncRun {
  const at = instant.toISOString();
  return {
    _id: newId('run', instant.getTime()),
    accountId,
    op,
    apiKeyId,
    at,
    day: at.slice(0, 10),
    expiresAt: new Date(instant.getTime() + terms.retentionDays * 86_400_000).toISOString(),
  };
}
