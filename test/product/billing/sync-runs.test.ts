// needs: documents, mongodb
import t, { type Test } from 'tap';
import {
  type CollectionSpec,
  type DocumentCollection,
  type DocumentStore,
  type DocumentWithId,
  StoreUnavailableError,
} from '../../../src/platform/stores/documents/port.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { createSyncRunUsageSource, SyncRunCounter } from '../../../src/product/billing/sync-runs.ts';
import { readUsage, type UsageGrouping } from '../../../src/product/billing/usage.ts';
import { moneyOf, openAccount, UNLIMITED } from './money.ts';
import { onEachStore } from './stores.ts';

function run(accountId: string, op = 'resize', apiKeyId: string | null = null) {
  return { accountId, op, apiKeyId, terms: UNLIMITED, mustBeCounted: true };
}

const fail = (error: unknown) => {
  throw error;
};

/** Calls of an account in a window, by key. */
async function callsIn(
  store: BillingStore,
  accountId: string,
  [from, to]: [from: string, to: string],
  groupBy: UsageGrouping = 'op',
): Promise<Record<string, number>> {
  const window = { from: new Date(from), to: new Date(to), groupBy };
  const { groups } = await readUsage([createSyncRunUsageSource(store.usage)], accountId, window);
  return Object.fromEntries(groups.map(({ key, sync }) => [key, sync]));
}

onEachStore(t, 'a batch counts every run of every account', async (t, { documents }) => {
  const [one, other] = [await openAccount(documents), await openAccount(documents)];
  const syncRuns = new SyncRunCounter(one.store, () => new Date('2026-03-04T05:06:07.890Z'), fail);
  for (let index = 0; index < 600; index += 1)
    syncRuns.record(run(index % 3 === 0 ? one.accountId : other.accountId));
  await syncRuns.flush();
  for (const [accountId, used] of [
    [one.accountId, 200],
    [other.accountId, 400],
  ] as const) {
    t.match(await moneyOf(one.store, accountId), { processing: { period: '2026-03', used } });
    t.same(await callsIn(one.store, accountId, ['2026-03-04T05:06:00Z', '2026-03-04T05:07:00Z']), {
      resize: used,
    });
  }
});

onEachStore(t, 'a batch behind the end of the month begins the new count', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents);
  let now = new Date('2026-03-31T23:59:59.999Z');
  const syncRuns = new SyncRunCounter(store, () => now, fail);
  for (const instant of [
    '2026-03-31T23:59:59.999Z',
    '2026-04-01T00:00:00.000Z',
    '2026-03-31T23:59:59.999Z',
  ]) {
    now = new Date(instant);
    syncRuns.record(run(accountId));
    await syncRuns.flush();
  }
  t.match(await moneyOf(store, accountId), { processing: { period: '2026-04', used: 2 } });
  t.same(await callsIn(store, accountId, ['2026-03-01', '2026-05-01'], 'day'), {
    '2026-03-31': 2,
    '2026-04-01': 1,
  });
});

onEachStore(t, 'what is stored grows with the hours and not with the calls', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents);
  const ops = ['resize', 'crop', 'blur'];
  let now = new Date(0);
  const processes = [1, 2].map(() => new SyncRunCounter(store, () => now, fail));
  for (let minute = 0; minute < 24 * 60; minute += 20) {
    now = new Date(Date.parse('2026-03-04') + minute * 60_000);
    for (const op of ops) {
      for (const process of processes) {
        for (let call = 0; call < 5; call += 1) process.record(run(accountId, op, 'key_1'));
      }
    }
    await Promise.all(processes.map((process) => process.flush()));
  }
  const [hours, days] = ['usageHours', 'usageDays'].map((name) =>
    documents.collection({ name, indexes: [] }),
  );
  t.equal(await hours?.count({ accountId }), 24 * ops.length);
  t.equal(await days?.count({ accountId }), ops.length);
  await checkWindows(t, store, accountId);
});

/** 10 calls of each of 3 ops every 20 minutes of a day. */
async function checkWindows(t: Test, store: BillingStore, accountId: string): Promise<void> {
  const rows: Array<[from: string, to: string, calls: number]> = [
    ['2026-03-04', '2026-03-05', 720],
    ['2025-03-05', '2026-03-05', 720],
    ['2026-03-04T00:01:00Z', '2026-03-05', 710],
    ['2026-03-03T23:20:00Z', '2026-03-04T23:40:00Z', 710],
    ['2026-03-04T10:20:00Z', '2026-03-04T10:40:00Z', 10],
    ['2026-03-04T10:20:00Z', '2026-03-04T12:21:00Z', 70],
    ['2026-03-04T10:21:00Z', '2026-03-04T10:40:00Z', 0],
  ];
  for (const [from, to, calls] of rows) {
    const found = await callsIn(store, accountId, [from, to]);
    t.equal(found.resize ?? 0, calls, `${from} to ${to}`);
  }
  t.same(await callsIn(store, accountId, ['2026-03-04', '2026-03-05'], 'key'), { key_1: 2160 });
}

/**
 * A view of documents whose every collection fails at its first two calls: before it acts, then with its answer lost.
 */
function stuttering(documents: DocumentStore): DocumentStore {
  function through<T extends DocumentWithId>(collection: DocumentCollection<T>): DocumentCollection<T> {
    const moments = ['before', 'after'];
    return new Proxy(collection, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const moment = moments.shift();
          if (moment === 'before') throw new StoreUnavailableError(moment);
          const answer = await method.apply(target, args);
          if (moment === 'after') throw new StoreUnavailableError(moment);
          return answer;
        };
      },
    });
  }
  return {
    collection: <T extends DocumentWithId>(spec: CollectionSpec) => through<T>(documents.collection<T>(spec)),
    prepare: (spec) => documents.prepare(spec),
    ping: () => documents.ping(),
    close: () => documents.close(),
  };
}

onEachStore(
  t,
  'a write that fails, or whose answer is lost, loses no count and doubles none',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents);
    for (let batch = 1; batch <= 3; batch += 1) {
      const now = () => new Date(`2026-0${batch > 1 ? 4 : 3}-04T05:06:07.890Z`);
      const noPause = async () => undefined;
      const syncRuns = new SyncRunCounter(new BillingStore(stuttering(documents)), now, fail, noPause);
      for (let index = 0; index < 10; index += 1) syncRuns.record(run(accountId));
      await syncRuns.flush();
      t.match(await moneyOf(store, accountId), { processing: { used: batch === 3 ? 20 : 10 } });
      t.same(await callsIn(store, accountId, ['2026-03-01', '2026-05-01']), { resize: 10 * batch });
      t.same(await callsIn(store, accountId, ['2026-03-01T00:01:00Z', '2026-04-30T00:01:00Z'], 'day'), {
        '2026-03-04': 10,
        ...(batch > 1 && { '2026-04-04': 10 * (batch - 1) }),
      });
    }
  },
);

/** A store that can be away, and how often it was written to. */
async function storeThatMayBeAway() {
  const state = { isAway: true, writes: 0 };
  const answer = async () => {
    state.writes += 1;
    if (state.isAway) throw new StoreUnavailableError('away');
    return { matched: 1, modified: 1 };
  };
  const documents = { collection: () => ({ updateOne: answer }) } as unknown as DocumentStore;
  return { state, store: new BillingStore(documents) };
}

t.test('a store that stays away is tried until it is back, while new counts wait as one', async (t) => {
  const { state, store } = await storeThatMayBeAway();
  const errors: unknown[] = [];
  const pauses: number[] = [];
  const syncRuns = new SyncRunCounter(
    store,
    () => new Date(),
    (error) => errors.push(error),
    async (pauseMs) => {
      pauses.push(pauseMs);
      for (let call = 0; call < 100; call += 1) syncRuns.record(run('acc_1'));
      if (pauses.length === 20) {
        state.isAway = false;
        state.writes = 0;
      }
    },
  );
  syncRuns.record(run('acc_1'));
  await syncRuns.flush();
  t.same(pauses.slice(0, 9), [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  t.match(errors, [StoreUnavailableError, StoreUnavailableError], 'told after 8 tries, and after 16');
  t.equal(errors.length, 2);
  t.equal(state.writes, 3, 'one batch: its hour, its day and the count of the account');
  await syncRuns.flush();
  t.ok(state.writes <= 9, 'one batch for all that waited, of one or two minutes');
});

t.test('the end of a process gives up a store that stays away', async (t) => {
  const { store } = await storeThatMayBeAway();
  const errors: unknown[] = [];
  const forever = () => new Promise<void>(() => undefined);
  const syncRuns = new SyncRunCounter(
    store,
    () => new Date(),
    (error) => errors.push(error),
    forever,
  );
  syncRuns.record(run('acc_1'));
  void syncRuns.flush();
  await new Promise(setImmediate);
  await syncRuns.end();
  t.match(errors, [StoreUnavailableError]);
});
