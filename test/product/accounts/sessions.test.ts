// needs: server, both stores
import { createHook } from 'node:async_hooks';
import t from 'tap';
import { startServer } from '../../support/harness.ts';

const HOURS_MS = 3_600_000;
const clock = { nowMs: Date.now() };
const server = await startServer(t, { now: () => new Date(clock.nowMs) });
const owner = await server.account({ plan: 'pro' });
const { email, password } = owner;
const signIn = (json: unknown, headers: Record<string, string> = {}) =>
  server.call('/auth/sign-in', { json, headers });

t.test('an e-mail, in any case, and its password give a token for 12 hours', async (t) => {
  const { status, json } = await signIn({ email: email.toUpperCase(), password });
  t.equal(status, 201);
  const { token, expiresAt, account } = json.data;
  t.match(token, /^ses_[0-9A-Za-z]{32,}$/);
  t.equal(Date.parse(expiresAt), clock.nowMs + 12 * HOURS_MS);
  t.match(account, { id: owner.id, email, plan: 'pro' });
  t.equal((await server.call('/account', { session: token })).status, 200);
  for (const scheme of ['bearer', 'BEARER']) {
    const headers = { authorization: `${scheme} ${token}` };
    t.equal((await server.call('/account', { headers })).status, 200, scheme);
  }
  const withOver = await signIn({ email, password }, { authorization: 'Bearer ses_over' });
  t.equal(withOver.status, 201, 'a session that is over does not keep anyone from signing in');
  const asKey = await server.call('/account', { key: token });
  t.equal(asKey.status, 401, 'a token is no API key');

  clock.nowMs += 12 * HOURS_MS - 1;
  t.equal((await server.call('/account', { session: token })).status, 200);
  clock.nowMs += 1;
  const { json: refusal, status: after } = await server.call('/account', { session: token });
  t.same([after, refusal.error.code], [401, 'unauthorized']);
});

t.test('a wrong password and an unknown e-mail get one answer for one and the same work', async (t) => {
  let derivations = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'SCRYPTREQUEST') derivations += 1;
    },
  }).enable();
  t.teardown(() => hook.disable());
  const answers = [];
  for (const body of [
    { email, password: `${password}x` },
    { email: 'nobody@example.test', password },
    { email, password },
  ]) {
    derivations = 0;
    const { status, json } = await signIn(body);
    t.equal(derivations, 1);
    const { code, message } = json.error ?? {};
    answers.push({ status, code, message });
  }
  t.match(answers[0], { status: 401, code: 'unauthorized' });
  t.same(answers[1], answers[0]);
  t.equal(answers[2]?.status, 201);
});

t.test('a body that is not as documented is refused by its field', async (t) => {
  const rows: Array<[param: string, body: unknown]> = [
    ['email', { password }],
    ['password', { email }],
    ['email', { email: 7, password }],
    ['password', { email, password: ['x'] }],
    ['password', { email, password: 'x'.repeat(1001) }],
    ['body', []],
  ];
  for (const [param, body] of rows) {
    const { status, json } = await signIn(body);
    t.same([status, json.error.code, json.error.param], [400, 'invalid_param', param]);
  }
});

t.test('signing out ends this session and no other', async (t) => {
  const [one, other] = [await signIn({ email, password }), await signIn({ email, password })];
  const { token } = one.json.data;
  const signOut = () => server.call('/auth/sign-out', { method: 'POST', session: token });
  const { status, bytes } = await signOut();
  t.same([status, bytes.length], [204, 0]);
  t.equal((await server.call('/account', { session: token })).status, 401);
  t.equal((await signOut()).status, 401);
  t.equal((await server.call('/account', { session: other.json.data.token })).status, 200);
  t.equal((await server.call('/auth/sign-out', { method: 'POST', key: owner.key })).status, 403);
  t.equal((await server.call('/auth/sign-out', { method: 'POST' })).status, 401);
});

t.test('a session lists those of its account, and ends one of them', async (t) => {
  const stranger = await server.account();
  const foreign = await signIn({ email: stranger.email, password: stranger.password });
  // Later than those of the tests above, which are listed below it.
  clock.nowMs += 1;
  const mine = await signIn({ email, password });
  const mineAt = new Date(clock.nowMs).toISOString();
  clock.nowMs += 1;
  const lost = await signIn({ email, password });
  const { token, expiresAt } = mine.json.data;
  const list = async (session: string) => (await server.call('/auth/sessions', { session })).json.data;
  const [newest, before] = await list(token);
  t.same([newest.isCurrent, before.isCurrent], [false, true], 'newest first');
  t.match(before, { id: /^ses_/, createdAt: mineAt, expiresAt });
  t.notMatch(JSON.stringify(newest), /hash/);

  const end = (id: string, session: string) =>
    server.call(`/auth/sessions/${id}`, { method: 'DELETE', session });
  const [theirs] = await list(foreign.json.data.token);
  for (const id of [theirs.id, 'ses_none', `${newest.id}x`]) {
    const { status, json } = await end(id, token);
    t.same([status, json.error.code, json.error.param], [404, 'not_found', 'sessionId']);
  }
  t.equal((await end(newest.id, token)).status, 204);
  t.equal((await server.call('/account', { session: lost.json.data.token })).status, 401);
  t.notOk((await list(token)).some(({ id }: { id: string }) => id === newest.id));
  t.equal((await server.call('/auth/sessions', { key: owner.key })).status, 403, 'a key lists none');
  clock.nowMs += 12 * HOURS_MS;
  const later = (await signIn({ email, password })).json.data.token;
  t.equal((await list(later)).length, 1, 'those that are over are not listed');
});

t.test('an answer with a token is not kept under an Idempotency-Key', async (t) => {
  const headers = { 'idempotency-key': 'sign-in-1' };
  t.equal((await signIn({ email, password }, headers)).status, 201);
  const { status, json } = await signIn({ email, password }, headers);
  t.same([status, json.error.code], [409, 'idempotency_key_reuse']);
});
