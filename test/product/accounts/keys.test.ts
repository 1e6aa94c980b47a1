// needs: server, both stores
import t from 'tap';
import {
  AccountsStore,
  API_KEYS_COLLECTION,
  type ApiKeyDocument,
} from '../../../src/product/accounts/store.ts';
import { startServer } from '../../support/harness.ts';
import { until } from '../../support/whole-service.ts';

const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
const server = await startServer(t, { now: () => new Date(clock.nowMs) });
const account = await server.account();
const { email, password } = account;
const session: string = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
const issue = (json?: unknown) =>
  server.call('/api-keys', { method: 'POST', session, ...(json ? { json } : {}) });

t.test('a key is shown once, and works', async (t) => {
  const { status, json } = await issue({ name: 'robot' });
  t.equal(status, 201);
  const { key, ...rest } = json.data;
  t.match(key, /^drk_[0-9A-Za-z]{32,}$/);
  t.match(rest.id, /^key_[0-9A-Za-z]{16,}$/);
  t.same(rest, {
    id: rest.id,
    name: 'robot',
    hint: `drk_…${key.slice(-4)}`,
    createdAt: '2026-03-04T05:06:00.000Z',
  });
  const list = await server.call('/api-keys', { session });
  t.equal(list.status, 200);
  t.same(
    list.json.data.find(({ id }: { id: string }) => id === rest.id),
    rest,
  );
  t.notOk('meta' in list.json, 'the list is not paged');
  t.notMatch(list.bytes.toString(), key);
  t.equal((await server.call('/account', { key })).json.data.id, account.id);
});

t.test('a name is optional and short', async (t) => {
  t.equal((await issue()).status, 201, 'no body');
  t.equal((await issue({})).status, 201);
  t.equal((await issue({ name: 'x'.repeat(100) })).status, 201);
  for (const name of ['x'.repeat(101), 1, null]) {
    const { status, json } = await issue({ name });
    t.same([status, json.error.param], [400, 'name']);
  }
});

t.test('a key issues, lists and revokes no key but itself', async (t) => {
  const { data } = (await issue({ name: 'alone' })).json;
  for (const [method, path] of [
    ['GET', '/api-keys'],
    ['POST', '/api-keys'],
    ['DELETE', `/api-keys/${data.id}`],
  ] as const) {
    const { status, json } = await server.call(path, { method, key: data.key });
    t.same([status, json.error.code], [403, 'forbidden'], `${method} ${path}`);
    t.equal((await server.call(path, { method })).status, 401);
  }
  const own = await server.call('/api-keys/self', { method: 'DELETE', key: data.key });
  t.same([own.status, own.bytes.length], [204, 0]);
  t.equal((await server.call('/account', { key: data.key })).status, 401);
});

t.test('a session has no key of its own to revoke', async (t) => {
  const { status, json } = await server.call('/api-keys/self', { method: 'DELETE', session });
  t.same([status, json.error.code], [400, 'invalid_state']);
});

t.test('a session revokes the keys of its own account', async (t) => {
  const { data } = (await issue({ name: 'short-lived' })).json;
  const revoke = (id: string) => server.call(`/api-keys/${id}`, { method: 'DELETE', session });
  t.equal((await revoke(data.id)).status, 204);
  t.equal((await server.call('/account', { key: data.key })).status, 401);
  const listed = (await server.call('/api-keys', { session })).json.data;
  t.notOk(listed.some(({ id }: { id: string }) => id === data.id));
  const stranger = await server.account();
  for (const id of [data.id, 'key_unknown', stranger.keyId]) {
    const { status, json } = await revoke(id);
    t.same([status, json.error.code], [404, 'not_found']);
  }
  t.equal((await server.call('/account', { key: stranger.key })).status, 200);
});

t.test('the last use of a key is written at most once per minute', async (t) => {
  const { id, key } = (await issue({ name: 'busy' })).json.data;
  const store = new AccountsStore(server.stores.documents);
  const lastUsedAt = async () =>
    (await store.findLiveKeys(account.id)).find(({ _id }) => _id === id)?.lastUsedAt;
  const seen = new Set<unknown>();
  for (let second = 0; second <= 120; second += 10) {
    t.equal((await server.call('/account', { key })).status, 200);
    // The answer does not wait for the write.
    await until(async () => (await lastUsedAt()) !== null);
    seen.add(await lastUsedAt());
    clock.nowMs += 10_000;
  }
  t.ok(seen.size <= 3, `${[...seen].join(', ')}`);
  t.ok(seen.has('2026-03-04T05:06:00.000Z'));
  await until(async () => {
    const listed = (await server.call('/api-keys', { session })).json.data;
    return listed.find((row: { id: string }) => row.id === id).lastUsedAt === (await lastUsedAt());
  });
});

t.test('an answer with a key is not kept under an Idempotency-Key', async (t) => {
  const headers = { 'idempotency-key': 'issue-1' };
  const twice = () => server.call('/api-keys', { session, json: { name: 'once' }, headers });
  t.equal((await twice()).status, 201);
  t.equal((await twice()).status, 409);
});

t.test('an account has at most 1,000 keys', async (t) => {
  const crowded = await server.account();
  const credentials = { json: { email: crowded.email, password: crowded.password } };
  const { token } = (await server.call('/auth/sign-in', credentials)).json.data;
  const keys = server.stores.documents.collection<ApiKeyDocument>(API_KEYS_COLLECTION);
  const known = await keys.findOne({ accountId: crowded.id, revokedAt: null });
  if (known === null) throw new Error('The account has no key.');
  const others = Array.from({ length: 998 }, (_, at) => ({ ...known, _id: `key_${at}`, hash: `hash ${at}` }));
  await keys.insertMany(others);
  const last = await server.call('/api-keys', { method: 'POST', session: token });
  t.equal(last.status, 201);
  const refused = await server.call('/api-keys', { method: 'POST', session: token });
  t.match(refused.json.error, { code: 'resource_limit_exceeded', details: { limit: 1_000 } });
  await server.call(`/api-keys/${last.json.data.id}`, { method: 'DELETE', session: token });
  t.equal((await server.call('/api-keys', { method: 'POST', session: token })).status, 201);
});
