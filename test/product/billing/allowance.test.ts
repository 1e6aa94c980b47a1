// needs: documents, mongodb
import t, { type Test } from 'tap';
import type { CollectionSpec, DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { RunAllowance } from '../../../src/product/billing/allowance.ts';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { SyncRunCounter } from '../../../src/product/billing/sync-runs.ts';
import type { DailyUsage } from '../../../src/product/billing/usage-store.ts';
import { checkLedger, LIMITED, moneyOf, openAccount, planOf, UNLIMITED } from './money.ts';
import { onEachStore } from './stores.ts';

const TOP_UP_URL = 'https://example.test/top-up';
const USE = { op: 'resize', apiKeyId: 'key_1' };
const MINUTE_MS = 60_000;

/** A process at its own time. */
function processAt(t: Test, store: BillingStore, instant = '2026-03-31T23:59:00.000Z') {
  const clock = { nowMs: Date.parse(instant) };
  const now = () => new Date(clock.nowMs);
  const movements = new CreditMovements(store, now);
  const syncRuns = new SyncRunCounter(store, now, (error) => {
    throw error;
  });
  t.teardown(() => syncRuns.flush());
  const topUpUrl = () => TOP_UP_URL;
  return {
    clock,
    syncRuns,
    allowance: new RunAllowance({ store, movements, syncRuns, plan: planOf, topUpUrl, holder: 'a', now }),
  };
}

async function runOnce(allowance: RunAllowance, caller: { accountId: string; plan: string }): Promise<void> {
  await (await allowance.begin(caller)).succeed(USE);
}

/** The days of an account's usage, as they lie in the store. */
async function daysOf(documents: DocumentStore, accountId: string): Promise<DailyUsage[]> {
  const days = documents.collection<DailyUsage>({ name: 'usageDays', indexes: [] });
  return days.find({ accountId });
}

onEachStore(
  t,
  'within the limit a run is counted when it begins and costs nothing',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 5, plan: LIMITED.id });
    const { allowance, syncRuns } = processAt(t, store);
    const run = await allowance.begin({ accountId, plan: LIMITED.id });
    t.match(await moneyOf(store, accountId), { held: 0, processing: { period: '2026-03', used: 1 } });
    await run.succeed(USE);
    await syncRuns.flush();
    t.match(await moneyOf(store, accountId), { balance: 5, processing: { used: 1, reservations: [] } });
    t.match(await daysOf(documents, accountId), [
      { ...USE, sync: 1, day: '2026-03-31', expiresAt: '2026-04-08T00:00:00.000Z' },
    ]);
    t.equal((await checkLedger(t, store, accountId)).length, 1);
  },
);

onEachStore(t, 'an estimate prices the next runs, and counts none of them', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 5, plan: LIMITED.id });
  const { allowance, clock } = processAt(t, store);
  const caller = { accountId, plan: LIMITED.id };
  t.same(await allowance.estimate(caller, 3), [0, 0, 1]);
  await runOnce(allowance, caller);
  t.same(await allowance.estimate(caller, 3), [0, 1, 1]);
  t.match(await moneyOf(store, accountId), {
    balance: 5,
    held: 0,
    processing: { used: 1, reservations: [] },
  });
  clock.nowMs += 2 * MINUTE_MS;
  t.same(await allowance.estimate(caller, 2), [0, 0], 'in the next month');
  t.same(await allowance.estimate({ accountId, plan: UNLIMITED.id }, 1), [0]);
});

onEachStore(
  t,
  'past the limit a run is held when it begins and charged when it succeeded',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 1, plan: LIMITED.id });
    const { allowance, syncRuns } = processAt(t, store);
    const caller = { accountId, plan: LIMITED.id };
    for (let run = 0; run < LIMITED.processLimit; run += 1) await runOnce(allowance, caller);
    const past = await allowance.begin(caller);
    t.match(await moneyOf(store, accountId), { balance: 1, held: 1, processing: { used: 3 } });
    await t.rejects(allowance.begin(caller), {
      code: 'insufficient_credit',
      status: 402,
      details: { topUpUrl: TOP_UP_URL, processLimit: 2, overageCredits: 1 },
    });
    await past.succeed(USE);
    await past.succeed(USE);
    await past.release();
    await syncRuns.flush();
    t.match(await moneyOf(store, accountId), {
      balance: 0,
      held: 0,
      processing: { used: 3, reservations: [] },
    });
    const rows = await checkLedger(t, store, accountId);
    t.match(rows.at(-1), { type: 'overage', credits: -1, held: 0, balanceAfter: 0 });
    t.equal(rows.length, 2, 'succeeding twice is one charge');
  },
);

onEachStore(t, 'a failure costs nothing and counts for nothing', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 1, plan: LIMITED.id });
  const { allowance, syncRuns } = processAt(t, store);
  const caller = { accountId, plan: LIMITED.id };
  for (const used of [0, 1, 2]) {
    const run = await allowance.begin(caller);
    await run.release();
    await run.release();
    t.match(await moneyOf(store, accountId), {
      balance: 1,
      held: 0,
      processing: { used, reservations: [] },
    });
    if (used < 2) await runOnce(allowance, caller);
  }
  await syncRuns.flush();
  t.match(await daysOf(documents, accountId), [{ sync: 2 }], 'usage holds what succeeded');
  t.equal((await checkLedger(t, store, accountId)).length, 1);
});

onEachStore(t, 'what a dead process reserved comes back by itself', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 1, plan: LIMITED.id });
  const caller = { accountId, plan: LIMITED.id };
  const dead = processAt(t, store, '2026-03-10T10:00:00.000Z').allowance;
  for (let run = 0; run < 3; run += 1) await dead.begin(caller);
  const soon = processAt(t, store, '2026-03-10T10:01:00.000Z').allowance;
  await t.rejects(soon.begin(caller), { code: 'insufficient_credit' }, 'not while they may be running');
  t.equal(await soon.sweep(), 0);

  const later = processAt(t, store, '2026-03-10T10:03:00.000Z');
  const run = await later.allowance.begin(caller);
  t.match(
    await moneyOf(store, accountId),
    { held: 0, processing: { used: 1 } },
    'by whoever is refused next',
  );
  later.clock.nowMs += 10 * MINUTE_MS;
  t.equal(await later.allowance.sweep(), 1, 'and by the sweeper');
  t.match(await moneyOf(store, accountId), { held: 0, processing: { used: 0, reservations: [] } });
  await run.succeed(USE);
  t.match(
    await moneyOf(store, accountId),
    { balance: 1, held: 0 },
    'an end that comes too late costs nothing',
  );
});

onEachStore(t, 'the first run of a month begins the count again', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { plan: LIMITED.id });
  const { allowance, clock } = processAt(t, store);
  const caller = { accountId, plan: LIMITED.id };
  await runOnce(allowance, caller);
  const open = await allowance.begin(caller);
  await t.rejects(allowance.begin(caller), { code: 'insufficient_credit' });
  clock.nowMs += MINUTE_MS;
  await runOnce(allowance, caller);
  t.match(await moneyOf(store, accountId), { processing: { period: '2026-04', used: 1 } });
  await open.release();
  t.match(
    await moneyOf(store, accountId),
    { processing: { used: 1, reservations: [] } },
    'what was counted in March is not given back in April',
  );
  const behind = processAt(t, store, '2026-03-31T23:59:59.999Z').allowance;
  await runOnce(behind, caller);
  await t.rejects(behind.begin(caller), { code: 'insufficient_credit' });
  t.match(await moneyOf(store, accountId), { processing: { period: '2026-04', used: 2 } }, 'a clock behind');
});

onEachStore(
  t,
  'racing first runs of a month let in as many as there is room for',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 3, plan: LIMITED.id });
    const processes = Array.from({ length: 4 }, () => processAt(t, store).allowance);
    const begun = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => processes[index % 4]?.begin({ accountId, plan: LIMITED.id })),
    );
    t.equal(begun.filter(({ status }) => status === 'fulfilled').length, 5);
    t.match(await moneyOf(store, accountId), { balance: 3, held: 3, processing: { used: 5 } });
  },
);

t.test('a run on an unlimited plan waits for no write', async (t) => {
  const answers: Array<(answer: object) => void> = [];
  const waiting = { updateOne: () => new Promise<object>((resolve) => answers.push(resolve)) };
  const account = { updateOne: async () => ({ modified: 1 }) };
  const documents = {
    collection: ({ name }: CollectionSpec) => (name === 'accounts' ? account : waiting),
  } as unknown as DocumentStore;
  const { allowance, syncRuns } = processAt(t, new BillingStore(documents));
  const run = await allowance.begin({ accountId: 'acc_1', plan: UNLIMITED.id });
  await run.succeed(USE);
  await run.release();
  const written = syncRuns.flush();
  await new Promise(setImmediate);
  t.equal(answers.length, 2, 'it ended while its writes have no answer');
  for (const answer of answers) answer({ matched: 1 });
  await written;
});
