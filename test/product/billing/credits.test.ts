// needs: server, both stores
import t from 'tap';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { startServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import { charge, dyingStore, grant, hold, release } from './money.ts';

const now = () => new Date('2026-03-04T05:06:07.890Z');
const server = await startServer(t, { now, settings: { TOP_UP_URL: 'https://example.test/pay' } });
const store = new BillingStore(server.stores.documents);
const movements = new CreditMovements(store, now);

t.test('credits are the balance, what is held of it, and the rest', async (t) => {
  const { id, key } = await server.account({ credits: 10 });
  await movements.move(id, hold(4, 'hold'));
  const { status, json } = await server.call('/credits', { key });
  t.equal(status, 200);
  t.same(json.data, { balance: 10, held: 4, available: 6 });
  t.equal((await server.call('/credits')).status, 401);
});

t.test('the ledger tells every movement, newest first, and sums to the balance', async (t) => {
  const { id, key } = await server.account({ credits: 10 });
  await movements.move(id, { ...hold(4, 'hold'), jobId: 'job_1' });
  await movements.move(id, { ...charge(3, 'charge'), jobId: 'job_1' });
  await movements.move(id, { ...release(1, 'release'), jobId: 'job_1' });
  await movements.move(id, { ...grant(5, 'more'), note: 'thank you' });
  const { status, json } = await server.call('/credits/ledger', { key });
  t.equal(status, 200);
  t.same(json.meta, { total: 5, page: 0, perPage: 100, hasMore: false, nextCursor: null });
  const createdAt = now().toISOString();
  const told = json.data.map(({ id, ...rest }: { id: string }) => {
    t.match(id, /^led_[0-9A-Za-z]{16,}$/);
    return rest;
  });
  t.same(told, [
    { type: 'grant', credits: 5, held: 0, balanceAfter: 12, note: 'thank you', createdAt },
    { type: 'release', credits: 0, held: 1, balanceAfter: 7, jobId: 'job_1', createdAt },
    { type: 'charge', credits: -3, held: 0, balanceAfter: 7, jobId: 'job_1', createdAt },
    { type: 'hold', credits: 0, held: 4, balanceAfter: 10, jobId: 'job_1', createdAt },
    { type: 'grant', credits: 10, held: 0, balanceAfter: 10, createdAt },
  ]);
  t.equal(
    json.data.reduce((sum: number, { credits }: { credits: number }) => sum + credits, 0),
    (await server.call('/credits', { key })).json.data.balance,
  );
  const pages = [];
  let query = '?perPage=2';
  for (let page = 0; page < 3; page += 1) {
    const answer = (await server.call(`/credits/ledger${query}`, { key })).json;
    pages.push(...answer.data);
    query = `?perPage=2&cursor=${answer.meta.nextCursor}`;
  }
  t.same(pages, json.data, 'the same by cursor');
  t.same((await server.call('/credits/ledger', { key: (await server.account()).key })).json.data, []);
});

t.test('a row that a crash left behind is told', async (t) => {
  const { id, key } = await server.account({ credits: 1 });
  const dying = new CreditMovements(
    dyingStore(server.stores.documents, { change: 3, moment: 'before' }),
    now,
  );
  await dying.move(id, grant(2, 'crashed'));
  const { data } = (await server.call('/credits/ledger', { key })).json;
  t.match(data[0], { type: 'grant', credits: 2, balanceAfter: 3 });
});

t.test('a call past the allowance costs a credit, or is refused before anything runs', async (t) => {
  const { id, key } = await server.account({ plan: 'free', credits: 1 });
  await store.change(id, {}, { $set: { 'processing.period': '2026-03', 'processing.used': 499 } });
  const body = await redSquare();
  const transform = (content = body) =>
    server.call('/images/transform?op=flip', { key, body: content, type: 'image/png' });
  t.equal((await transform()).status, 200, 'the last one of the allowance');
  t.equal((await server.call('/credits', { key })).json.data.balance, 1);
  const broken = new Uint8Array(100);
  t.equal((await transform(broken)).status, 400);
  t.same((await server.call('/credits', { key })).json.data, { balance: 1, held: 0, available: 1 });
  t.equal((await transform()).status, 200, 'one past it');
  t.equal((await server.call('/credits', { key })).json.data.balance, 0);
  for (const content of [body, broken]) {
    const { status, json } = await transform(content);
    t.equal(status, 402);
    t.match(json.error, {
      code: 'insufficient_credit',
      retryable: false,
      details: { topUpUrl: 'https://example.test/pay' },
    });
  }
  const { data } = (await server.call('/account', { key })).json;
  t.match(data.processing, { limit: 500, used: 501, left: 0 });
  t.match((await server.call('/credits/ledger', { key })).json.data[0], { type: 'overage', credits: -1 });
});
