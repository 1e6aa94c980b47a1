// needs: server, both stores
import fastify from 'fastify';
import t from 'tap';
import { installIdempotency } from '../../../src/platform/http/hooks/idempotency.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { startServer } from '../../support/harness.ts';

const server = await startServer(t);

const TEMPLATE = { name: 'card', html: '<p>{{ name }}</p>', width: 10, height: 10 };

t.test(
  '100 equal calls under one key over 4 processes happen once; the rest are replays or still waiting',
  async (t) => {
    const settings = { REQUESTS_PER_MINUTE: '100000' };
    const first = await startServer(t, { settings });
    const servers = [first];
    for (let process = 1; process < 4; process += 1)
      servers.push(await startServer(t, { settings, stores: first.stores }));
    const { key } = await first.account();
    const headers = { 'idempotency-key': 'one' };
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, call) =>
        (servers[call % 4] ?? first).call('/templates', { key, json: TEMPLATE, headers }),
      ),
    );
    const created = answers.filter(({ status }) => status === 201);
    const fresh = created.filter((answer) => answer.headers.get('idempotency-replayed') === null);
    t.equal(fresh.length, 1);
    const [{ bytes } = { bytes: Buffer.alloc(0) }] = fresh;
    for (const replay of created) t.same(replay.bytes, bytes, 'a replay is the first answer, byte for byte');
    for (const { status, json } of answers.filter((answer) => answer.status !== 201)) {
      t.equal(status, 409);
      t.equal(json.error.code, 'request_in_progress');
      t.equal(json.error.retryable, true);
    }
    const { json } = await first.call('/templates?filter=user', { key });
    t.equal(json.data.length, 1);
  },
);

t.test(
  'a replay carries Idempotency-Replayed, the new request id in the header, and the first body',
  async (t) => {
    const { key } = await server.account();
    const call = (id: string) =>
      server.call('/templates', {
        key,
        json: { ...TEMPLATE, name: '' },
        headers: { 'idempotency-key': 'bad', 'x-request-id': id },
      });
    const [first, second] = [await call('first'), await call('second')];
    t.equal(first.status, 400);
    t.equal(second.status, 400);
    t.equal(second.headers.get('idempotency-replayed'), 'true');
    t.equal(second.headers.get('x-request-id'), 'second');
    t.same(second.bytes, first.bytes);
    t.equal(second.json.error.requestId, 'first');
  },
);

t.test('another body, path, query or method under the key is 409 idempotency_key_reuse', async (t) => {
  const { key } = await server.account();
  const headers = { 'idempotency-key': 'used' };
  const first = await server.call('/templates', { key, json: TEMPLATE, headers });
  t.equal(first.status, 201);
  const { id } = first.json.data;
  for (const [path, options] of [
    ['/templates', { json: { ...TEMPLATE, name: 'other' } }],
    ['/templates?x=1', { json: TEMPLATE }],
    [`/templates/${id}`, { method: 'PUT', json: TEMPLATE }],
    [`/templates/${id}`, { method: 'DELETE' }],
  ] as const) {
    const answer = await server.call(path, { key, headers, ...options });
    t.equal(answer.status, 409, path);
    t.equal(answer.json.error.code, 'idempotency_key_reuse');
  }
});

t.test(
  'keys belong to the account: another account may use the same, another key of the account replays',
  async (t) => {
    const [one, other] = [await server.account(), await server.account()];
    const headers = { 'idempotency-key': 'shared' };
    const first = await server.call('/templates', { key: one.key, json: TEMPLATE, headers });
    const second = await server.call('/templates', { key: other.key, json: TEMPLATE, headers });
    t.equal(second.status, 201);
    t.not(second.json.data.id, first.json.data.id);
  },
);

t.test('malformed JSON is an answer that is kept, and a body over 1 MB is never replayed', async (t) => {
  const { key } = await server.account();
  const bad = { key, body: '{', type: 'application/json', headers: { 'idempotency-key': 'malformed' } };
  t.equal((await server.call('/templates', bad)).status, 400);
  const replayed = await server.call('/templates', bad);
  t.equal(replayed.status, 400);
  t.equal(replayed.headers.get('idempotency-replayed'), 'true');

  const large = {
    key,
    json: { ...TEMPLATE, ignored: 'x'.repeat(1024 * 1024) },
    headers: { 'idempotency-key': 'large' },
  };
  t.equal((await server.call('/templates', large)).status, 201);
  const again = await server.call('/templates', large);
  t.equal(again.status, 409);
  t.equal(again.json.error.code, 'idempotency_key_reuse');
});

t.test(
  'a 204 is replayed; a malformed key is refused; reads and the synchronous calls ignore it',
  async (t) => {
    const { key } = await server.account();
    const { json } = await server.call('/templates', { key, json: TEMPLATE });
    const remove = () =>
      server.call(`/templates/${json.data.id}`, {
        key,
        method: 'DELETE',
        headers: { 'idempotency-key': 'remove' },
      });
    t.equal((await remove()).status, 204);
    const replayed = await remove();
    t.equal(replayed.status, 204);
    t.equal(replayed.headers.get('idempotency-replayed'), 'true');
    const malformed = await server.call('/templates', {
      key,
      json: TEMPLATE,
      headers: { 'idempotency-key': 'x'.repeat(256) },
    });
    t.equal(malformed.json.error.param, 'Idempotency-Key');
    const read = await server.call('/templates', { key, headers: { 'idempotency-key': 'remove' } });
    t.equal(read.status, 200);
  },
);

t.test('an answer with a new secret is not kept', async (t) => {
  const { email, password } = await server.account();
  const signIn = () =>
    server.call('/auth/sign-in', { json: { email, password }, headers: { 'idempotency-key': 'sign-in' } });
  t.equal((await signIn()).status, 201);
  const again = await signIn();
  t.equal(again.status, 409);
  t.equal(again.json.error.code, 'idempotency_key_reuse');
});

t.test('a dry run refuses a malformed key, as its run does', async (t) => {
  const { key } = await server.account();
  const headers = { 'idempotency-key': 'k'.repeat(300) };
  const json = { op: 'generate', prompt: 'a lighthouse' };
  for (const path of ['/jobs', '/jobs?dryRun=true', '/jobs/job_0/resume?dryRun=true']) {
    const { status, json: answer } = await server.call(path, { key, json, headers });
    t.equal(status, 400, path);
    t.match(answer.error, { code: 'invalid_param', param: 'Idempotency-Key' }, path);
  }
});

t.test('an owner with too many bytes of stored responses gets no replay and no second run', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  const owners = [randomText(8), randomText(8)];
  const ownerOf = ({ headers }: { headers: object }) => (headers as { owner: string }).owner;
  installIdempotency(app, server.stores.coordination, ownerOf, { maxBytesPerOwner: 25 });
  let runs = 0;
  app.post('/', { config: { idempotency: 'kept' } }, async () => {
    runs += 1;
    return '0123456789';
  });
  const call = async (owner = '', key = '') => {
    const headers = { owner, 'idempotency-key': key };
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/', headers });
    return statusCode === 200 ? body : /Idempotency-Key was used/.test(body);
  };
  const [one, other] = owners;
  for (const key of ['a', 'b', 'c']) t.equal(await call(one, key), '0123456789');
  t.same([await call(one, 'a'), await call(one, 'b')], ['0123456789', '0123456789']);
  t.equal(await call(one, 'c'), true, 'its answer was one too many');
  t.equal(runs, 3);
  await call(other, 'c');
  t.equal(await call(other, 'c'), '0123456789', 'another owner has its own');
  t.equal(runs, 4);
});
