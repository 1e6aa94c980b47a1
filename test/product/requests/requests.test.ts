// needs: server, both stores
import sharp from 'sharp';
import t from 'tap';
import { type CallOptions, startServer } from '../../support/harness.ts';
import { eventually } from '../webhooks/receiver.ts';

const clock = { nowMs: Date.now() };
const now = () => new Date(clock.nowMs);
const server = await startServer(t, { now });
const other = await startServer(t, { now, stores: server.stores });
const owner = await server.account();
const stranger = await server.account();
const { key, keyId } = owner;
const square = { width: 4, height: 4, channels: 3, background: 'teal' } as const;
const PIXELS = await sharp({ create: square }).webp().toBuffer();
const image = { body: new Uint8Array(PIXELS), type: 'image/webp' };

/** A call with an id of its own, a millisecond after the one before. The log has it once its answer has ended. */
async function called(id: string, path: string, call: CallOptions = {}, at = server) {
  clock.nowMs += 1;
  const answer = await at.call(path, { key, ...call, headers: { 'x-request-id': id, ...call.headers } });
  await eventually(
    async () => (await server.call(`/requests/${id}`, { key: call.key ?? key })).status === 200,
  );
  return answer;
}

/** The ids of the listed requests. */
async function listed(query = '', as = key): Promise<string[]> {
  const { json } = await server.call(`/requests${query}`, { key: as });
  return json.data.map((row: { id: string }) => row.id);
}

t.test('a call is listed with what was asked and what was answered, without its body', async (t) => {
  await called('resize-1', '/images/transform?op=resize&width=8', image);
  const { json } = await server.call('/requests/resize-1', { key });
  const { timing, durationMs, bytesOut, ...rest } = json.data;
  t.match(rest, {
    id: 'resize-1',
    at: now().toISOString(),
    method: 'POST',
    operation: 'transformImage',
    route: '/api/v1/images/transform',
    path: '/api/v1/images/transform?op=resize&width=8',
    status: 200,
    bytesIn: PIXELS.length,
    warnings: ['not_enlarged:4'],
    apiKeyId: keyId,
  });
  t.notOk('error' in rest);
  t.ok(durationMs > 0 && bytesOut > 20);
  t.same(Object.keys(timing), ['admit', 'fetch', 'queue', 'decode', 'process', 'encode', 'total']);
  t.equal(JSON.stringify(json).includes('position'), false);
});

t.test('a key in a wrong place is neither kept nor logged', async (t) => {
  const { key } = await server.account();
  await called('as-field', '/jobs', { key, json: { [key]: 1 } });
  await called('as-query', `/jobs?${key}=1`, { key });
  await called('as-path', `/jobs/${key.replace('_', '%5F')}`, { key });
  const { json } = await server.call('/requests', { key });
  t.notMatch(JSON.stringify(json), key.slice(4));
  const rowOf = (id: string) => json.data.find((row: { id: string }) => row.id === id);
  const [inField, inQuery, inPath] = ['as-field', 'as-query', 'as-path'].map(rowOf);
  t.equal(inPath.path, '/api/v1/jobs/[redacted]');
  t.same(inQuery.warnings, ['ignored_parameter:[redacted]']);
  t.equal(inField.error.param, '[redacted]');
  t.match(server.logged(), '"param":"[redacted]"');
  t.notMatch(server.logged(), key.slice(4));
});

t.test('a refused call has its error, and the corrections that let it pass', async (t) => {
  await called('typo', '/images/transform?op=resize&widht=8', image);
  const { data } = (await server.call('/requests/typo', { key })).json;
  t.match(data, { status: 400, error: { code: 'invalid_param', param: 'widht', retryable: false } });
  t.same(data.error.fix, [{ param: 'widht', rename: 'width' }]);
  t.match(data.error.message, /width/);
});

t.test('every filter, alone and with another', async (t) => {
  const { email, password } = owner;
  const session = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
  await called('gone', '/jobs/job_none');
  const before = new Date(clock.nowMs + 1).toISOString();
  clock.nowMs += 1_000;
  await server.call('/account', { session, headers: { 'x-request-id': 'by-session' } });
  await called('last', '/account');
  const rows: Array<[query: string, ids: string[]]> = [
    ['?status=404', ['gone']],
    ['?status=4XX', ['gone', 'typo']],
    ['?status=2xx&operation=transformImage', ['resize-1']],
    ['?errorCode=invalid_param', ['typo']],
    ['?operation=getJob', ['gone']],
    ['?path=/api/v1/jobs/job_none', ['gone']],
    ['?path=/api/v1/jobs/%7BjobId%7D', ['gone']],
    ['?path=/api/v1/images&status=400', ['typo']],
    ['?requestId=typo', ['typo']],
    ['?apiKeyId=console', ['by-session']],
    [`?apiKeyId=${keyId}&status=200`, ['last', 'resize-1']],
    [`?from=${before}`, ['last', 'by-session']],
    [`?to=${before}`, ['gone', 'typo', 'resize-1']],
  ];
  for (const [query, ids] of rows) t.same(await listed(query), ids, query);
  for (const [param, value] of Object.entries({ status: '600', errorCode: 'none', from: 'March', to: '1' })) {
    const { status, json } = await server.call(`/requests?${param}=${value}`, { key });
    t.same([status, json.error.param], [400, param]);
  }
});

t.test('the calls of all processes are one list, by page and by cursor', async (t) => {
  for (const [index, at] of [server, other, server, other, other].entries())
    await called(`page-${index}`, '/credits', {}, at);
  const query = '?path=/api/v1/credits&perPage=2';
  const first = await server.call(`/requests${query}`, { key });
  t.match(first.json.meta, { total: 5, page: 0, perPage: 2, hasMore: true });
  const ids = (json: typeof first.json) => json.data.map((row: { id: string }) => row.id);
  t.same(ids(first.json), ['page-4', 'page-3']);
  const second = await other.call(`/requests${query}&cursor=${first.json.meta.nextCursor}`, { key });
  t.same(ids(second.json), ['page-2', 'page-1']);
  const third = await server.call(`/requests${query}&cursor=${second.json.meta.nextCursor}`, { key });
  t.same([ids(third.json), third.json.meta.hasMore], [['page-0'], false]);
  t.same(await listed(`${query}&page=1`), ['page-2', 'page-1']);
  const foreign = await server.call(`/requests?cursor=${first.json.meta.nextCursor}`, { key });
  t.same([foreign.status, foreign.json.error.param], [400, 'cursor']);
});

t.test('errors are grouped by what was refused where', async (t) => {
  for (const [index, at] of [server, other, server].entries())
    await called(`typo-${index}`, '/images/transform?op=resize&widht=9', image, at);
  const { json } = await server.call('/requests/errors', { key });
  t.match(json.data[0], {
    operation: 'transformImage',
    code: 'invalid_param',
    param: 'widht',
    count: 4,
    lastRequestId: 'typo-2',
    fix: [{ param: 'widht', rename: 'width' }],
  });
  t.match(json.data[1], { operation: 'getJob', code: 'job_not_found', count: 1 });
  const { data } = (await server.call('/requests/errors?errorCode=job_not_found', { key })).json;
  t.equal(data.length, 1);
});

t.test('another account sees none of it, and reads of the log are not in it', async (t) => {
  await called('own', '/account', { key: stranger.key });
  t.same(await listed('', stranger.key), ['own']);
  t.same((await server.call('/requests/errors', { key: stranger.key })).json.data, []);
  t.equal((await server.call('/requests/typo', { key: stranger.key })).status, 404);
  t.equal((await server.call('/requests')).status, 401);
});

t.test('secrets of a query, and of the addresses in it, are not kept', async (t) => {
  const url = encodeURIComponent('https://me:pass-1@example.com/a.jpg?X-Amz-Signature=sig-2');
  const path = `/images/transform?op=resize&width=8&token=tok-3&si%67nature=sig-4&url=${url}`;
  await called('secret', path, { method: 'POST' });
  const { json } = await server.call('/requests/secret', { key });
  t.notMatch(JSON.stringify(json.data), /pass-1|sig-2|tok-3|sig-4/);
  t.match(
    decodeURIComponent(json.data.path),
    /width=8&token=\[redacted\].*@example\.com\/a\.jpg\?\[redacted\]/,
  );
});

t.test('a call that fails has the times that are known of it, in its answer too', async (t) => {
  const broken = { ...image, body: image.body.slice(0, -12) };
  const failures: [id: string, status: number, path: string, call: CallOptions][] = [
    ['late-400', 400, '/images/transform?op=blur&sigma=3', broken],
    ['late-url', 400, '/images/transform?op=flip', { json: { url: 'https://10.0.0.1/a.png' } }],
    ['late-outputs', 400, '/images/transform', { json: { url: 'https://10.0.0.1/a.png', outputs: [] } }],
    ['late-facts', 400, '/images/metadata', { ...image, body: new Uint8Array(40) }],
    ['late-render', 404, '/images/render', { json: { templateId: 'absent' } }],
  ];
  for (const [id, status, path, call] of failures) {
    const answer = await called(id, path, call);
    t.equal(answer.status, status, `${id} ${JSON.stringify(answer.json)}`);
    const { timing } = (await server.call(`/requests/${id}`, { key })).json.data;
    t.same(Object.keys(timing ?? {}), ['admit', 'fetch', 'queue', 'total'], id);
    t.ok(timing.total >= timing.admit && timing.total >= timing.queue, id);
    const parts = Object.entries(timing).map(([name, ms]) => `${name};dur=${Number(ms).toFixed(1)}`);
    t.equal(answer.headers.get('server-timing'), parts.join(', '), id);
  }
  const refused = await called('no-op', '/images/transform?op=nothing', image);
  t.equal(refused.status, 400);
  t.equal(refused.headers.get('server-timing'), null, 'nothing is known of a call that was not begun');
});

t.test('an hour later nothing is left', async (t) => {
  clock.nowMs += 3_600_000;
  t.same(await listed(), ['no-op'], 'a request is kept for the whole hour');
  clock.nowMs += 1;
  t.same(await listed(), []);
  t.equal((await server.call('/requests/typo', { key })).status, 404);
});
