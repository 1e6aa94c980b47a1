// needs: documents, mongodb
import t from 'tap';
import { RunAllowance } from '../../../src/product/billing/allowance.ts';
import { JobHolds, jobChargeOf } from '../../../src/product/billing/holds.ts';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { SyncRunCounter } from '../../../src/product/billing/sync-runs.ts';
import type { Death } from '../../support/dying.ts';
import { checkLedger, dyingStore, LIMITED, moneyOf, openAccount, planOf } from './money.ts';
import { onEachStore } from './stores.ts';

const topUpUrl = () => 'http://localhost/docs';
const march = () => new Date('2026-03-04T05:06:07.890Z');
const april = () => new Date('2026-04-01T00:00:00.000Z');

function holdsOf(store: BillingStore, now = march) {
  return new JobHolds({ store, movements: new CreditMovements(store, now), plan: planOf, topUpUrl, now });
}

onEachStore(
  t,
  'a job within the allowance counts its runs, and is no line of the ledger',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 1, plan: LIMITED.id });
    const holds = holdsOf(store);
    const hold = await holds.take(accountId, 'job_1', { runs: 2, credits: 0 });
    t.match(await moneyOf(store, accountId), { held: 0, processing: { used: 2, period: '2026-03' } });
    for (let again = 0; again < 2; again += 1)
      await holds.charge(accountId, 'job_1', hold, { runs: 1, credits: 0 });
    t.match(await moneyOf(store, accountId), { balance: 1, held: 0, processing: { used: 1 } });
    t.equal((await checkLedger(t, store, accountId)).length, 1, 'the grant alone');
  },
);

onEachStore(
  t,
  'runs past the allowance and models are held, charged once, and the rest is given back',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 20, plan: LIMITED.id });
    const holds = holdsOf(store);
    const hold = await holds.take(accountId, 'job_1', { runs: 5, credits: 10 });
    t.same(hold, { runs: 5, credits: 10, period: '2026-03', past: 3, overageCredits: 1 });
    t.match(await moneyOf(store, accountId), { balance: 20, held: 13 });
    await t.rejects(holds.take(accountId, 'job_2', { runs: 0, credits: 8 }), {
      code: 'insufficient_credit',
      details: { required: 8 },
    });
    t.match(await holds.readPriceOutlook(accountId, { runs: 1, credits: 7 }), {
      balance: 20,
      sufficientCredit: false,
      processCountLeft: 0,
      overageRuns: 1,
      overageCredits: 1,
    });
    for (let again = 0; again < 2; again += 1)
      await holds.charge(accountId, 'job_1', hold, { runs: 4, credits: 6 });
    t.match(await moneyOf(store, accountId), { balance: 12, held: 0, processing: { used: 4 } });
    const types = (await checkLedger(t, store, accountId)).map(({ type }) => type);
    t.same(types, ['grant', 'hold', 'charge', 'overage', 'release']);
  },
);

onEachStore(
  t,
  'what a submit took is given back once, and cannot be taken after that',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 9, plan: LIMITED.id });
    const holds = holdsOf(store);
    await holds.take(accountId, 'job_1', { runs: 4, credits: 1 });
    for (let again = 0; again < 2; again += 1) await holds.undo(accountId, 'job_1');
    t.match(await moneyOf(store, accountId), { balance: 9, held: 0, processing: { used: 0 } });
    await holds.undo(accountId, 'job_2');
    await t.rejects(holds.take(accountId, 'job_2', { runs: 1, credits: 0 }), 'it was given up before');
    t.match(await moneyOf(store, accountId), { balance: 9, held: 0, processing: { used: 0 } });
    await checkLedger(t, store, accountId);
  },
);

onEachStore(
  t,
  'an account that was seen before there was a job spares a look, and nothing else',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 9, plan: LIMITED.id });
    const [holds, others] = [holdsOf(store), holdsOf(store)];
    const need = { runs: 0, credits: 2 };
    const before = await holds.readSnapshot(accountId);
    await others.undo(accountId, 'job_1');
    await t.rejects(holds.take(accountId, 'job_1', need, before), 'it was given up since');
    t.match(await moneyOf(store, accountId), { balance: 9, held: 0, processing: { used: 0 } });
    const snapshot = await holds.readSnapshot(accountId);
    await others.take(accountId, 'job_2', need);
    await holds.take(accountId, 'job_3', need, snapshot);
    await holds.take(accountId, 'job_4', need, await holds.readSnapshot(accountId));
    t.match(await moneyOf(store, accountId), { balance: 9, held: 6, processing: { used: 0 } });
    const poor = await holds.readSnapshot(accountId);
    await others.undo(accountId, 'job_2');
    await holds.take(accountId, 'job_5', { runs: 0, credits: 5 }, poor);
    t.match(
      await moneyOf(store, accountId),
      { balance: 9, held: 9 },
      'a refusal is of the account as it is now',
    );
  },
);

onEachStore(t, 'racing jobs are never promised the same credit or run', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 3, plan: LIMITED.id });
  const jobs = Array.from({ length: 12 }, (_, index) => `job_${index}`);
  const taken = await Promise.allSettled(
    jobs.map((jobId) => holdsOf(store).take(accountId, jobId, { runs: 1, credits: 0 })),
  );
  t.equal(taken.filter(({ status }) => status === 'fulfilled').length, LIMITED.processLimit + 3);
  t.match(await moneyOf(store, accountId), { balance: 3, held: 3, processing: { used: 5 } });
});

onEachStore(t, 'runs given back in a later month leave its count alone', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { plan: LIMITED.id });
  const hold = await holdsOf(store).take(accountId, 'job_1', { runs: 2, credits: 0 });
  await holdsOf(store, april).take(accountId, 'job_2', { runs: 1, credits: 0 });
  await holdsOf(store, april).charge(accountId, 'job_1', hold, { runs: 0, credits: 0 });
  t.match(await moneyOf(store, accountId), { processing: { period: '2026-04', used: 1 } });
});

onEachStore(t, 'a period that a wrong clock began is turned back', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { plan: LIMITED.id });
  await store.change(accountId, {}, { $set: { 'processing.period': '2031-01' } });
  const movements = new CreditMovements(store, march);
  const syncRuns = new SyncRunCounter(store, march, () => undefined);
  await new RunAllowance({
    store,
    movements,
    syncRuns,
    plan: planOf,
    topUpUrl,
    holder: 'a',
    now: march,
  }).sweep();
  t.match(await moneyOf(store, accountId), { processing: { period: '2026-03' } });
});

onEachStore(
  t,
  'a death at any write of a hold, a settlement or an undoing is finished by a repeat',
  async (t, { documents }) => {
    for (const moment of ['before', 'after'] as const) {
      for (let write = 1; write <= 9; write += 1) {
        const death: Death = { change: write, moment };
        const { accountId } = await openAccount(documents, { credits: 20, plan: LIMITED.id });
        const dying = holdsOf(dyingStore(documents, death));
        const hold = await dying.take(accountId, 'job_1', { runs: 5, credits: 10 }).catch(() => null);
        const used = { runs: 4, credits: 6 };
        if (hold !== null) await dying.charge(accountId, 'job_1', hold, used).catch(() => undefined);

        const after = new BillingStore(documents);
        if (hold === null) await holdsOf(after).undo(accountId, 'job_1');
        else await holdsOf(after).charge(accountId, 'job_1', hold, used);
        const expected = hold === null ? { balance: 20, used: 0 } : { balance: 12, used: 4 };
        const { balance, held, processing } = await moneyOf(after, accountId);
        t.same(
          { balance, used: processing.used, held },
          { ...expected, held: 0 },
          `${moment} write ${write}`,
        );
        await checkLedger(t, after, accountId);
      }
    }
  },
);

t.test('runs fill the allowance before they cost', async (t) => {
  const hold = { runs: 10, credits: 0, period: '2026-03', past: 4, overageCredits: 2 };
  const overages = [0, 6, 7, 10].map((runs) => jobChargeOf(hold, { runs, credits: 0 }).overage);
  t.same(overages, [0, 0, 2, 8]);
});
