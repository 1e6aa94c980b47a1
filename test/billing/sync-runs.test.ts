import t from 'tap';
import type { BillingStore } from '../../src/billing/store.ts';
import { createSyncRuns } from '../../src/billing/sync-runs.ts';
import { type Collection, type Document, StoreUnavailableError } from '../../src/stores/documents/port.ts';
import { moneyOf, openAccount, UNLIMITED } from './money.ts';
import { onEachStore } from './stores.ts';

function run(accountId: string, op = 'resize') {
  return { accountId, op, apiKeyId: null, terms: UNLIMITED, counts: true };
}

const fail = (error: unknown) => {
  throw error;
};

onEachStore(t, 'a batch counts every run of every account', async (t, { documents }) => {
  const [one, other] = [await openAccount(documents), await openAccount(documents)];
  const syncRuns = createSyncRuns(one.store, () => new Date('2026-03-04T05:06:07.890Z'), fail);
  for (let index = 0; index < 600; index += 1)
    syncRuns.record(run(index % 3 === 0 ? one.accountId : other.accountId));
  await syncRuns.flush();
  for (const [accountId, used] of [
    [one.accountId, 200],
    [other.accountId, 400],
  ] as const) {
    t.match(await moneyOf(one.store, accountId), { processing: { period: '2026-03', used } });
    t.equal(await one.store.syncRuns.count({ accountId }), used);
  }
});

onEachStore(t, 'a batch behind the end of the month begins the new count', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents);
  let now = new Date('2026-03-31T23:59:59.999Z');
  const syncRuns = createSyncRuns(store, () => now, fail);
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
  t.same(
    (await store.syncRuns.find({ accountId }, { sort: [['at', 1]] })).map(({ day }) => day),
    ['2026-03-31', '2026-03-31', '2026-04-01'],
  );
});

/** A view of a store whose writes fail twice each: once before they happen, once with their answer lost. */
function stuttering(store: BillingStore): BillingStore {
  function through<T extends Document>(collection: Collection<T>): Collection<T> {
    const moments = ['before', 'after'];
    return new Proxy(collection, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
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
  return { ...store, money: through(store.money), syncRuns: through(store.syncRuns) };
}

onEachStore(
  t,
  'a write that fails, or whose answer is lost, loses no count and doubles none',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents);
    for (let batch = 1; batch <= 3; batch += 1) {
      const now = () => new Date(`2026-0${batch > 1 ? 4 : 3}-04T05:06:07.890Z`);
      const noPause = async () => undefined;
      const syncRuns = createSyncRuns(stuttering(store), now, fail, noPause);
      for (let index = 0; index < 10; index += 1) syncRuns.record(run(accountId));
      await syncRuns.flush();
      t.match(await moneyOf(store, accountId), { processing: { used: batch === 3 ? 20 : 10 } });
      t.equal(await store.syncRuns.count({ accountId }), 10 * batch);
    }
  },
);

t.test('a store that stays away is given up, told once, and tried anew with the next batch', async (t) => {
  const errors: unknown[] = [];
  let isAway = true;
  let writes = 0;
  const answer = async () => {
    writes += 1;
    if (isAway) throw new StoreUnavailableError('away');
    return { duplicates: [], modified: 1 };
  };
  const collection = { insertMany: answer, updateOne: answer } as unknown;
  const store = { money: collection, ledger: collection, syncRuns: collection } as BillingStore;
  const pauses: number[] = [];
  const syncRuns = createSyncRuns(
    store,
    () => new Date(),
    (error) => errors.push(error),
    async (pauseMs) => void pauses.push(pauseMs),
  );
  syncRuns.record(run('acc_1'));
  await syncRuns.flush();
  t.match(errors, [StoreUnavailableError]);
  t.same(pauses, [50, 100, 200, 400, 800, 1600, 3200]);
  isAway = false;
  writes = 0;
  syncRuns.record(run('acc_1'));
  await syncRuns.flush();
  t.equal(writes, 2);
  t.equal(errors.length, 1);
});
