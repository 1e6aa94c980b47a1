import { newId } from '../names/ids.ts';
import { type PlanTerms, periodOf } from './allowance.ts';
import type { BillingStore, SyncRun } from './store.ts';

const FLUSH_AFTER_MS = 25;
const LARGEST_BATCH = 256;

export interface SucceededRun {
  accountId: string;
  op: string;
  apiKeyId: string | null;
  terms: PlanTerms;
  /** Whether the account's count must still be raised (an unlimited plan's runs are not reserved before). */
  counts: boolean;
}

/**
 * Writes down what succeeded, in batches: a process under load makes one write for many calls. What a kill -9 can lose is
 * the last 25 ms of counts that cost nobody anything; runs that cost money are settled one by one, not here.
 */
export function createSyncRuns(store: BillingStore, now: () => Date, onError: (error: unknown) => void) {
  let batch: SucceededRun[] = [];
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const runs = batch;
    batch = [];
    if (runs.length > 0) writing = writing.then(() => write(runs)).catch(onError);
    return writing;
  }

  async function write(runs: SucceededRun[]): Promise<void> {
    const instant = now();
    const rows = runs.map((run) => rowOf(run, instant));
    await Promise.all([
      store.syncRuns.insertMany(rows),
      ...countsOf(runs).map(([id, count]) => raise(id, count, instant)),
    ]);
  }

  async function raise(accountId: string, count: number, instant: Date): Promise<void> {
    const period = periodOf(instant);
    const same = { _id: accountId, 'processing.period': period };
    const raised = await store.money.updateOne(same, { $inc: { 'processing.used': count } });
    if (raised.modified === 1) return;
    const turned = { $set: { 'processing.period': period, 'processing.used': count } };
    const { modified } = await store.money.updateOne(
      { _id: accountId, 'processing.period': { $lt: period } },
      turned,
    );
    // Another process turned the period in between.
    if (modified === 0) await store.money.updateOne(same, { $inc: { 'processing.used': count } });
  }

  return {
    record(run: SucceededRun): void {
      batch.push(run);
      if (batch.length >= LARGEST_BATCH) void flush();
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    /** Resolves when everything recorded so far is written. */
    flush,
  };
}

export type SyncRuns = ReturnType<typeof createSyncRuns>;

function rowOf({ accountId, op, apiKeyId, terms }: SucceededRun, instant: Date): SyncRun {
  const expiresAt = new Date(instant.getTime() + terms.retentionDays * 86_400_000);
  return {
    _id: newId('run', instant.getTime()),
    accountId,
    op,
    apiKeyId,
    at: instant.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}

/** How much each account's count rises, for runs that were not counted before they started. */
function countsOf(runs: readonly SucceededRun[]): Array<[accountId: string, count: number]> {
  const counts = new Map<string, number>();
  for (const { accountId, counts: rises } of runs)
    if (rises) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  return [...counts];
}
