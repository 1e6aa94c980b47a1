// needs: server
import t from 'tap';
import { type Answer, startServer } from '../support/harness.ts';

// A clock that never shows the same millisecond twice.
let nowMs = Date.now();
const server = await startServer(t, { now: () => new Date(nowMs++) });
const { key, keyId, email, password } = await server.account();
const file = (json: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  server.call('/feedback', { key, json, headers });
const report = { kind: 'bug', message: 'The sky is not blue.' };

t.test('POST answers the report with the key it was filed with', async (t) => {
  const context = { $where: 'a.b', 'dotted.key': [1, { deep: null }], text: 'é' };
  const sent = { kind: 'Capability_GAP', message: `  ${report.message}\n`, op: 'no-such-op', context };
  const { status, json } = await file(sent);
  t.equal(status, 201);
  const { id, createdAt, ...rest } = json.data;
  t.match(id, /^fbk_[0-9A-Za-z]{16,}$/);
  t.equal(new Date(createdAt).toISOString(), createdAt);
  t.same(rest, { ...sent, kind: 'capability_gap', message: report.message, apiKeyId: keyId });
  t.same((await server.call('/feedback', { key })).json.data[0], json.data);
});

t.test('what was not given is absent', async (t) => {
  const { data } = (await file(report)).json;
  t.same(Object.keys(data).sort(), ['apiKeyId', 'createdAt', 'id', 'kind', 'message']);
});

t.test('a console session files without a key', async (t) => {
  const { token } = (await server.call('/auth/sign-in', { json: { email, password } })).json.data;
  const { status, json } = await server.call('/feedback', { session: token, json: report });
  t.equal(status, 201);
  t.notOk('apiKeyId' in json.data);
});

t.test('every rule refuses with its parameter, and stores nothing', async (t) => {
  const total = async () => (await server.call('/feedback', { key })).json.meta.total;
  const before = await total();
  const rows: Array<[param: string, body: unknown]> = [
    ['kind', { message: 'x' }],
    ['kind', { ...report, kind: 'praise' }],
    ['kind', { ...report, kind: '' }],
    ['kind', { ...report, kind: 1 }],
    ['message', { kind: 'bug' }],
    ['message', { ...report, message: '' }],
    ['message', { ...report, message: ' \n\t ' }],
    ['message', { ...report, message: 'x'.repeat(4001) }],
    ['message', { ...report, message: null }],
    ['op', { ...report, op: 'x'.repeat(65) }],
    ['op', { ...report, op: 3 }],
    ['context', { ...report, context: { text: 'x'.repeat(4000) } }],
    ['context', { ...report, context: 'text' }],
    ['context', { ...report, context: [] }],
    ['body', []],
    ['body', 'text'],
  ];
  for (const [param, body] of rows) {
    const { status, json } = await file(body);
    const sent = JSON.stringify(body).slice(0, 60);
    t.same([status, json.error.code, json.error.param], [400, 'invalid_param', param], sent);
  }
  t.equal(await total(), before);
});

t.test('what is exactly as long as allowed is taken', async (t) => {
  const context = { text: 'x'.repeat(4000 - '{"text":""}'.length) };
  const sent = { kind: 'other', message: '🖼'.repeat(4000), op: 'x'.repeat(64), context };
  const { status, json } = await file({ ...sent, message: ` ${sent.message} ` });
  t.equal(status, 201);
  t.match(json.data, sent);
});

t.test('a list holds the reports of its account alone, newest first, in pages', async (t) => {
  const { key: other } = await server.account();
  t.same((await server.call('/feedback', { key: other })).json.data, []);
  for (const message of ['one', 'two', 'three'])
    await server.call('/feedback', { key: other, json: { kind: 'other', message } });
  const first = (await server.call('/feedback?perPage=2', { key: other })).json;
  t.match(first.meta, { total: 3, page: 0, perPage: 2, hasMore: true });
  const rest = (await server.call(`/feedback?perPage=2&cursor=${first.meta.nextCursor}`, { key: other }))
    .json;
  t.match(rest.meta, { perPage: 2, hasMore: false, nextCursor: null });
  t.same(
    [...first.data, ...rest.data].map(({ message }: { message: string }) => message),
    ['three', 'two', 'one'],
  );
});

t.test('an Idempotency-Key files once', async (t) => {
  const headers = { 'idempotency-key': 'feedback-1' };
  const first = await file(report, headers);
  const again = await file(report, headers);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.same(again.json, first.json);
});

t.test('without a credential nothing is read or filed', async (t) => {
  t.equal((await server.call('/feedback')).status, 401);
  t.equal((await server.call('/feedback', { json: report })).status, 401);
});
