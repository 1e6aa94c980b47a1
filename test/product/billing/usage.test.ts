// needs: server, both stores
import t from 'tap';
import { createApiKey } from '../../../src/product/accounts/accounts.ts';
import { AccountsStore } from '../../../src/product/accounts/store.ts';
import { readUsage } from '../../../src/product/billing/usage.ts';
import { startServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';

const clock = { nowMs: Date.parse('2026-03-30T23:59:58.000Z') };
const now = () => new Date(clock.nowMs);
const server = await startServer(t, { now });

async function usage(key: string, query = '') {
  return server.call(`/usage${query}`, { key });
}

t.test('usage counts successful synchronous calls by op, by key and by day', async (t) => {
  const { id, key, keyId, email, password } = await server.account();
  const second = await createApiKey(new AccountsStore(server.stores.documents), id, 'second', now());
  const { token } = (await server.call('/auth/sign-in', { json: { email, password } })).json.data;
  const body = await redSquare();
  const transform = async (query: string, credential: { key: string } | { session: string }) =>
    (await server.call(`/images/transform?${query}`, { ...credential, body, type: 'image/png' })).status;

  t.equal(await transform('op=resize&width=16', { key }), 200);
  t.equal(await transform('op=flip', { key: second.key }), 200);
  clock.nowMs += 3000;
  t.equal(await transform('op=resize&width=8', { session: token }), 200);
  t.equal(await transform('op=resize&width=-8', { key }), 400, 'a refused call');
  const broken = { key, body: new Uint8Array(9), type: 'image/png' };
  t.equal((await server.call('/images/transform?op=flip', broken)).status, 400, 'a failed call');
  t.equal((await server.call('/images/metadata', { key, body, type: 'image/png' })).status, 200);
  clock.nowMs += 1;

  const sync = (count: number) => ({ jobs: 0, credits: 0, items: 0, sync: count });
  const byOp = await usage(key);
  t.equal(byOp.status, 200);
  t.same(byOp.json.data, {
    from: '2026-03-01T00:01:00.000Z',
    to: '2026-03-31T00:01:00.000Z',
    groupBy: 'op',
    groups: [
      { key: 'flip', ...sync(1) },
      { key: 'resize', ...sync(2) },
    ],
    total: sync(3),
    asOf: new Date(clock.nowMs - 1_000).toISOString(),
  });
  const byKey = [
    { key: keyId, ...sync(1) },
    { key: second.apiKey._id, ...sync(1) },
    { key: 'console', ...sync(1) },
  ];
  t.same(
    (await usage(key, '?groupBy=key')).json.data.groups,
    byKey.sort((one, other) => (one.key < other.key ? -1 : 1)),
  );
  t.same((await usage(key, '?groupBy=day')).json.data.groups, [
    { key: '2026-03-30', ...sync(2) },
    { key: '2026-03-31', ...sync(1) },
  ]);
  const april = await usage(key, '?from=2026-03-31&to=2026-04-01&groupBy=day');
  t.same(april.json.data.groups, [{ key: '2026-03-31', ...sync(1) }]);
  const none = await usage(key, '?from=2026-03-31T00:01:02Z&to=2026-04-01');
  t.match(none.json.data, { groups: [], total: sync(0) });
  t.same((await usage((await server.account()).key)).json.data.groups, [], "another account's");

  const account = (await server.call('/account', { key })).json.data;
  t.match(account.processing, { limit: -1, used: 3, left: -1 });
});

t.test('a wrong window is refused by the parameter at fault', async (t) => {
  const { key } = await server.account();
  const rows: Array<[param: string, query: string]> = [
    ['groupBy', '?groupBy=week'],
    ['from', '?from=soon'],
    ['to', '?to=soon'],
    ['from', '?from=2026-03-02&to=2026-03-01'],
    ['from', '?from=2020-01-01'],
  ];
  for (const [param, query] of rows) {
    const { status, json } = await usage(key, query);
    t.same([status, json.error.code, json.error.param], [400, 'invalid_param', param], query);
  }
  t.equal((await server.call('/usage')).status, 401);
});

t.test('every kind of work adds to the same keys', async (t) => {
  const window = { from: new Date(0), to: new Date(1), groupBy: 'op' } as const;
  const calls = async () => [
    { key: 'b', sync: 2 },
    { key: 'a', sync: 1 },
  ];
  const jobs = async () => [{ key: 'b', jobs: 1, credits: 5, items: 4 }];
  const { groups, total } = await readUsage([calls, jobs], 'acc_1', window);
  t.same(groups, [
    { key: 'a', jobs: 0, credits: 0, items: 0, sync: 1 },
    { key: 'b', jobs: 1, credits: 5, items: 4, sync: 2 },
  ]);
  t.same(total, { jobs: 1, credits: 5, items: 4, sync: 3 });
});
