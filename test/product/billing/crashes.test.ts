// needs: documents, mongodb
import t from 'tap';
import { RunAllowance } from '../../../src/product/billing/allowance.ts';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { SyncRunCounter } from '../../../src/product/billing/sync-runs.ts';
import type { Death } from '../../support/dying.ts';
import {
  charge,
  checkLedger,
  dyingStore,
  grant,
  hold,
  LIMITED,
  moneyOf,
  openAccount,
  planOf,
} from './money.ts';
import { onEachStore } from './stores.ts';

const MOMENTS = ['before', 'after'] as const;
const now = () => new Date('2026-03-04T05:06:07.890Z');

/** Every place where a process may die within its first writes. */
function* deaths(writes: number): Generator<Death> {
  for (let change = 1; change <= writes; change += 1) for (const moment of MOMENTS) yield { change, moment };
}

onEachStore(
  t,
  'a death at any write of a movement moves whole or not at all',
  async (t, { documents, restart }) => {
    let current = documents;
    for (const death of deaths(3)) {
      const { store, accountId } = await openAccount(current, { credits: 10 });
      await new CreditMovements(store, now).move(accountId, hold(4, 'hold'));
      const dying = new CreditMovements(dyingStore(current, death), now);
      await dying.move(accountId, charge(4, 'charge')).catch(() => 'killed');

      current = await restart();
      const after = new BillingStore(current);
      const rows = await checkLedger(t, after, accountId);
      const place = `${death.moment} write ${death.change}`;
      const moved = rows.some(({ reference }) => reference === 'charge');
      t.match(
        await moneyOf(after, accountId),
        moved ? { balance: 6, held: 0 } : { balance: 10, held: 4 },
        place,
      );
      const again = await new CreditMovements(after, now).move(accountId, charge(4, 'charge'));
      t.equal(again, moved ? 'already' : 'moved', `${place}: repeating it completes it`);
      t.match(await moneyOf(after, accountId), { balance: 6, held: 0 });
      t.equal((await checkLedger(t, after, accountId)).length, 3);
    }
  },
);

onEachStore(
  t,
  'the next mover finishes what a dead one left, and dies as safely',
  async (t, { documents }) => {
    for (const first of deaths(3)) {
      for (const second of deaths(3)) {
        const { store, accountId } = await openAccount(documents, { credits: 10 });
        for (const [death, reference] of [
          [first, 'one'],
          [second, 'two'],
        ] as const) {
          const dying = new CreditMovements(dyingStore(documents, death), now);
          await dying.move(accountId, grant(1, reference)).catch(() => 'killed');
        }
        const rows = await checkLedger(t, store, accountId);
        t.equal((await moneyOf(store, accountId)).balance, 9 + rows.length);
      }
    }
  },
);

/** The allowance of a process, which may be one that dies. */
function allowanceOf(store: BillingStore, clock: () => Date, holder = 'living') {
  const movements = new CreditMovements(store, clock);
  // A dead process writes nothing a second time.
  const never = () => new Promise<void>(() => undefined);
  const syncRuns = new SyncRunCounter(store, clock, () => undefined, never);
  const topUpUrl = () => 'http://localhost/docs';
  return new RunAllowance({ store, movements, syncRuns, plan: planOf, topUpUrl, holder, now: clock });
}

onEachStore(
  t,
  'a process that dies within a run past the limit is paid once or not at all',
  async (t, { documents }) => {
    for (const death of deaths(5)) {
      const { store, accountId } = await openAccount(documents, { credits: 3, plan: LIMITED.id });
      const caller = { accountId, plan: LIMITED.id };
      const living = allowanceOf(store, now);
      for (let run = 0; run < LIMITED.processLimit; run += 1) {
        await (await living.begin(caller)).succeed({ op: 'resize', apiKeyId: null });
      }
      const dying = allowanceOf(dyingStore(documents, death), now);
      await dying
        .begin(caller)
        .then((run) => run.succeed({ op: 'resize', apiKeyId: null }))
        .catch(() => 'killed');

      const later = allowanceOf(store, () => new Date(now().getTime() + 10 * 60_000));
      await later.sweep();
      const rows = await checkLedger(t, store, accountId);
      const paid = rows.filter(({ type }) => type === 'overage').length;
      const { balance, held, processing } = await moneyOf(store, accountId);
      t.same(
        { balance, held, used: processing.used, reservations: processing.reservations },
        { balance: 3 - paid, held: 0, used: 2 + paid, reservations: [] },
        `${death.moment} write ${death.change}`,
      );
      t.ok(paid <= 1);
    }
  },
);

onEachStore(
  t,
  'what calls of a process held is free once the process was seen to end, and no more than that',
  async (t, { documents }) => {
    const { store, accountId } = await openAccount(documents, { credits: 3, plan: LIMITED.id });
    const caller = { accountId, plan: LIMITED.id };
    const living = allowanceOf(store, now);
    for (let run = 0; run < LIMITED.processLimit; run += 1) await living.begin(caller);
    const dead = allowanceOf(store, now, 'dead');
    const [first] = [await dead.begin(caller), await dead.begin(caller)];
    t.match(await moneyOf(store, accountId), { balance: 3, held: 2 });
    await store.releaseReservations('dead');
    await store.releaseReservations('dead');
    const used = LIMITED.processLimit;
    t.match(await moneyOf(store, accountId), { balance: 3, held: 0, processing: { used } });
    await first?.succeed({ op: 'resize', apiKeyId: null });
    t.match(await moneyOf(store, accountId), { balance: 3, held: 0 }, 'a charge comes too late');
    await store.releaseReservations();
    t.match(await moneyOf(store, accountId), { processing: { used: 0, reservations: [] } });
  },
);
