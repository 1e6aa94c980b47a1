// needs: server, both stores
import t, { type Test } from 'tap';
import { BOOTSTRAP_CREDITS, bootstrap } from '../../src/accounts/bootstrap.ts';
import { AccountsStore } from '../../src/accounts/store.ts';
import { createMovements } from '../../src/billing/movements.ts';
import { openBillingStore } from '../../src/billing/store.ts';
import { startServer } from '../harness.ts';

const now = new Date('2026-03-04T05:06:07.890Z');
const UNSET = { BOOTSTRAP_EMAIL: 'owner@localhost', BOOTSTRAP_PASSWORD: '', BOOTSTRAP_API_KEY: '' };

async function startEmpty(t: Test) {
  const server = await startServer(t);
  const store = await AccountsStore.open(server.stores.documents);
  const movements = createMovements(await openBillingStore(server.stores.documents), () => now);
  const grant = async (accountId: string, credits: number) => {
    await movements.move(accountId, { reference: 'bootstrap', type: 'grant', credits, heldChange: 0 });
  };
  return { server, store, grant };
}

t.test('the first start makes one account, whose secrets it tells once', async (t) => {
  const { server, store, grant } = await startEmpty(t);
  const made = await bootstrap(store, UNSET, grant, now);
  const [password, key] = [made?.password ?? '', made?.key ?? ''];
  t.match((await server.call('/account', { key })).json.data, {
    email: 'owner@localhost',
    plan: 'scale',
    credits: { balance: BOOTSTRAP_CREDITS },
  });
  const signIn = await server.call('/auth/sign-in', { json: { email: 'owner@localhost', password } });
  t.equal(signIn.status, 201);
  t.equal(await bootstrap(store, UNSET, grant, now), null, 'the second start makes nothing');
});

t.test('secrets that the operator set are not told back', async (t) => {
  const { server, store, grant } = await startEmpty(t);
  const key = 'drk_0123456789012345678901234567890123456789';
  const settings = {
    BOOTSTRAP_EMAIL: 'me@example.test',
    BOOTSTRAP_PASSWORD: 'long enough',
    BOOTSTRAP_API_KEY: key,
  };
  t.match(await bootstrap(store, settings, grant, now), { password: null, key: null });
  t.equal((await server.call('/account', { key })).json.data.email, 'me@example.test');
});

t.test('hosts that start at once make one account', async (t) => {
  const { server, store, grant } = await startEmpty(t);
  const made = await Promise.all(Array.from({ length: 3 }, () => bootstrap(store, UNSET, grant, now)));
  t.equal(made.filter((first) => first !== null).length, 1);
  t.equal((await store.findEveryAccount()).length, 1);
  const keys = await server.stores.documents.collection({ name: 'apiKeys', indexes: [] });
  t.equal(await keys.count({}), 1);
});
