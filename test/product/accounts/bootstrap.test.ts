// needs: server, both stores
import t, { type Test } from 'tap';
import { randomText } from '../../../src/platform/ids/ids.ts';
import {
  BOOTSTRAP_CREDITS,
  type BootstrapSettings,
  bootstrapFirstAccount,
} from '../../../src/product/accounts/bootstrap.ts';
import { AccountsStore } from '../../../src/product/accounts/store.ts';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { startServer } from '../../support/harness.ts';

const now = new Date('2026-03-04T05:06:07.890Z');
const UNSET = { BOOTSTRAP_EMAIL: 'owner@localhost', BOOTSTRAP_PASSWORD: '', BOOTSTRAP_API_KEY: '' };

async function startEmpty(t: Test) {
  const server = await startServer(t);
  const store = new AccountsStore(server.stores.documents);
  const movements = new CreditMovements(new BillingStore(server.stores.documents), () => now);
  const grant = async (accountId: string, credits: number) => {
    await movements.move(accountId, { reference: 'bootstrap', type: 'grant', credits, heldChange: 0 });
  };
  /** A start of one host of several, each with its own name. */
  const start = (settings: BootstrapSettings, hostId = randomText(6)) =>
    bootstrapFirstAccount({
      store,
      settings,
      grant,
      mayCreate: () => server.stores.coordination.lease('bootstrap', hostId, 60_000),
      now,
    });
  return { server, store, start };
}

t.test('the first start makes one account, whose secrets it tells once', async (t) => {
  const { server, start } = await startEmpty(t);
  const made = await start(UNSET);
  const [password, key] = [made?.password ?? '', made?.key ?? ''];
  t.match((await server.call('/account', { key })).json.data, {
    email: 'owner@localhost',
    plan: 'scale',
    credits: { balance: BOOTSTRAP_CREDITS },
  });
  const signIn = await server.call('/auth/sign-in', { json: { email: 'owner@localhost', password } });
  t.equal(signIn.status, 201);
  await made?.finish();
  t.equal(await start(UNSET), null, 'the second start makes nothing');
});

t.test('secrets that the operator set are not told back', async (t) => {
  const { server, start } = await startEmpty(t);
  const key = 'drk_0123456789012345678901234567890123456789';
  const settings = {
    BOOTSTRAP_EMAIL: 'me@example.test',
    BOOTSTRAP_PASSWORD: 'long enough',
    BOOTSTRAP_API_KEY: key,
  };
  t.match(await start(settings), { password: null, key: null });
  t.equal((await server.call('/account', { key })).json.data.email, 'me@example.test');
});

t.test('hosts that start at once make one account', async (t) => {
  const { server, store, start } = await startEmpty(t);
  const made = await Promise.all(Array.from({ length: 3 }, () => start(UNSET)));
  t.equal(made.filter((first) => first !== null).length, 1);
  t.equal((await store.findEveryAccount()).length, 1);
  const keys = server.stores.documents.collection({ name: 'apiKeys', indexes: [] });
  t.equal(await keys.count({}), 1);
});

t.test(
  'a start that ended before it showed the secrets is finished by the next one, with new ones',
  async (t) => {
    const { server, store, start } = await startEmpty(t);
    const host = 'the-same-host';
    const lost = await start(UNSET, host);
    const made = await start(UNSET, host);
    const [password, key] = [made?.password ?? '', made?.key ?? ''];
    t.match((await server.call('/account', { key })).json.data, { credits: { balance: BOOTSTRAP_CREDITS } });
    t.equal((await server.call('/account', { key: lost?.key ?? '' })).status, 401, 'a key that nobody saw');
    const json = { email: 'owner@localhost', password };
    t.equal((await server.call('/auth/sign-in', { json })).status, 201);
    await made?.finish();
    t.equal(await start(UNSET, host), null);
    t.equal((await store.findEveryAccount()).length, 1);
  },
);

t.test(
  'a key that the operator set is there after a start that was cut short, whenever it was',
  async (t) => {
    const { server, start } = await startEmpty(t);
    const key = 'drk_9876543210987654321098765432109876543210';
    const settings = { ...UNSET, BOOTSTRAP_API_KEY: key };
    for (let times = 0; times < 2; times += 1) {
      t.match(await start(settings, 'the-same-host'), { key: null });
      t.equal((await server.call('/account', { key })).status, 200);
    }
  },
);
