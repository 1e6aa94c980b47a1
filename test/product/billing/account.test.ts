// needs: server, both stores
import t from 'tap';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { startServer } from '../../support/harness.ts';
import { hold } from './money.ts';

const clock = { now: new Date('2026-12-31T23:59:59.999Z') };
const now = () => clock.now;
const server = await startServer(t, { now, settings: { REQUESTS_PER_MINUTE: '700' } });
const store = new BillingStore(server.stores.documents);

t.test('an account is told whole, to a key and to a session alike', async (t) => {
  const { id, email, password, key } = await server.account({ plan: 'pro', credits: 9 });
  await new CreditMovements(store, now).move(id, hold(2, 'hold'));
  await store.change(id, {}, { $set: { 'processing.period': '2026-12', 'processing.used': 7 } });
  const { status, json } = await server.call('/account', { key });
  t.equal(status, 200);
  t.same(json.data, {
    id,
    email,
    name: email,
    plan: 'pro',
    createdAt: '2026-12-31T23:59:59.999Z',
    credits: { balance: 9, held: 2, available: 7 },
    processing: {
      limit: 10000,
      used: 7,
      left: 9993,
      periodStart: '2026-12-01T00:00:00.000Z',
      periodEnd: '2027-01-01T00:00:00.000Z',
    },
    assets: { limit: 50000, stored: 0, left: 50000 },
    limits: { syncConcurrency: 4, jobWaits: 8, requestsPerMinute: 700, runningJobsPerType: 2 },
    webhooks: { plainHttp: false, loopback: false, privateNetworks: false },
  });
  const signedIn = (await server.call('/auth/sign-in', { json: { email, password } })).json.data;
  t.same(signedIn.account, json.data);
  t.same((await server.call('/account', { session: signedIn.token })).json.data, json.data);
  t.equal((await server.call('/account')).status, 401);
});

t.test('a new month begins with nothing used, whoever counts first', async (t) => {
  const { id, key } = await server.account({ plan: 'free' });
  await store.change(id, {}, { $set: { 'processing.period': '2026-12', 'processing.used': 600 } });
  const processing = async () => (await server.call('/account', { key })).json.data.processing;
  t.match(await processing(), { limit: 500, used: 600, left: 0 }, 'past the limit nothing is left');
  clock.now = new Date('2027-01-01T00:00:00.000Z');
  t.match(await processing(), { used: 0, left: 500, periodStart: '2027-01-01T00:00:00.000Z' });
});

t.test('an account says where webhooks of its deployment may go', async (t) => {
  const settings = { OUTBOUND_ALLOWED_SUBNETS: '10.1.0.0/16,127.0.0.0/8', OUTBOUND_ALLOW_HTTP: 'true' };
  const open = await startServer(t, { settings });
  const account = await open.account();
  const { json } = await open.call('/account', { key: account.key });
  t.same(json.data.webhooks, { plainHttp: true, loopback: true, privateNetworks: true });
});
