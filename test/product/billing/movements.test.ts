// needs: documents, mongodb
import t from 'tap';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import {
  charge,
  checkLedger,
  dyingStore,
  grant,
  hold,
  ledgerOf,
  moneyOf,
  openAccount,
  release,
} from './money.ts';
import { onEachStore } from './stores.ts';

const now = () => new Date('2026-03-04T05:06:07.890Z');

onEachStore(t, 'a movement is a change of the account and a row that tells it', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents);
  const movements = new CreditMovements(store, now);
  t.equal(await movements.move(accountId, { ...grant(10), note: 'a gift' }), 'moved');
  t.equal(await movements.move(accountId, { ...hold(4, 'job/1/hold'), jobId: 'job_1' }), 'moved');
  t.equal(await movements.move(accountId, { ...charge(3, 'job/1/charge'), jobId: 'job_1' }), 'moved');
  t.equal(await movements.move(accountId, { ...release(1, 'job/1/release'), jobId: 'job_1' }), 'moved');
  t.match(await moneyOf(store, accountId), { balance: 7, held: 0 });
  const rows = await checkLedger(t, store, accountId);
  t.match(rows, [
    { type: 'grant', credits: 10, held: 0, balanceAfter: 10, jobId: null, note: 'a gift' },
    { type: 'hold', credits: 0, held: 4, balanceAfter: 10, jobId: 'job_1', note: null },
    { type: 'charge', credits: -3, held: 0, balanceAfter: 7, jobId: 'job_1' },
    { type: 'release', credits: 0, held: 1, balanceAfter: 7, createdAt: now().toISOString() },
  ]);
  for (const { _id } of rows) t.match(_id, /^led_[0-9A-Za-z]{16,}$/);
});

onEachStore(t, 'moving twice under one reference is one movement', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 10 });
  const movements = new CreditMovements(store, now);
  for (const movement of [hold(5, 'hold'), charge(3, 'charge'), release(2, 'release')]) {
    t.equal(await movements.move(accountId, movement), 'moved');
    t.equal(await movements.move(accountId, movement), 'already', `${movement.type} again at once`);
  }
  await movements.move(accountId, grant(1, 'another'));
  for (const movement of [hold(5, 'hold'), charge(3, 'charge'), release(2, 'release')])
    t.equal(await movements.move(accountId, movement), 'already', `${movement.type} again later`);
  t.match(await moneyOf(store, accountId), { balance: 8, held: 0 });
  t.equal((await checkLedger(t, store, accountId)).length, 5);
});

onEachStore(t, 'racing movers of one reference move once', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 10 });
  const processes = Array.from({ length: 4 }, () => new CreditMovements(store, now));
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, index) => processes[index % 4]?.move(accountId, hold(1, 'once'))),
  );
  t.equal(outcomes.filter((outcome) => outcome === 'moved').length, 1);
  t.equal(outcomes.filter((outcome) => outcome === 'already').length, 39);
  t.equal((await checkLedger(t, store, accountId)).length, 2);
});

onEachStore(t, 'nothing is moved that is not there', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 5 });
  const movements = new CreditMovements(store, now);
  t.equal(await movements.move(accountId, hold(6, 'too much')), 'insufficient');
  t.equal(await movements.move(accountId, hold(5, 'all')), 'moved');
  t.equal(
    await movements.move(accountId, hold(1, 'one more')),
    'insufficient',
    'what is held is not available',
  );
  t.equal(await movements.move(accountId, { ...charge(1, 'unheld'), heldChange: 0 }), 'insufficient');
  t.equal(await movements.move(accountId, charge(5, 'all paid')), 'moved', 'what is held pays');
  t.equal(await movements.move('acc_unknown', grant(1)), 'insufficient');
  t.match(await moneyOf(store, accountId), { balance: 0, held: 0 });
  t.equal(await movements.move(accountId, grant(1, 'more')), 'moved');
  t.equal(
    await movements.move(accountId, hold(1, 'too much')),
    'moved',
    'a refused reference was not used up',
  );
  await checkLedger(t, store, accountId);
});

onEachStore(t, 'a row that cannot be written follows with the next movement', async (t, { documents }) => {
  const { store, accountId } = await openAccount(documents, { credits: 5 });
  const failing = new CreditMovements(dyingStore(documents, { change: 3, moment: 'before' }), now);
  t.equal(await failing.move(accountId, grant(2, 'told')), 'moved', 'the movement stands');
  t.equal((await ledgerOf(store, accountId)).length, 1, 'its row is missing');
  const movements = new CreditMovements(store, now);
  await movements.move(accountId, grant(1, 'next'));
  // Its own row is written behind it.
  await movements.writeLastRow(accountId);
  t.same(
    (await ledgerOf(store, accountId)).map(({ reference }) => reference),
    ['first', 'told', 'next'],
  );
});
