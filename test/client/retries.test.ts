// needs: nothing
import t from 'tap';
import {
  ConnectionError,
  type DebugEvent,
  InvalidParamError,
  ProviderUnavailableError,
  RateLimitedError,
  TimeoutError,
} from '../../src/client/index.ts';
import { BUSY, ok, refused, standIn } from './stand-in.ts';

const JOB = { op: 'grayscale', assetIds: ['ast_1'] };

t.test('a write that may pass later is repeated under one key, after what Retry-After says', async (t) => {
  const busy = refused(503, BUSY, { 'retry-after': '7' });
  const { client, got, waits } = standIn([busy, new TypeError('fetch failed'), ok({ id: 'job_1' })]);
  t.match(await client.jobs.submit(JOB), { id: 'job_1' });
  t.equal(got.length, 3);
  const keys = new Set(got.map(({ headers }) => headers.get('idempotency-key')));
  t.equal(keys.size, 1, 'one key for all attempts');
  t.match([...keys][0], /^[0-9a-f]{32}$/);
  t.equal(waits[0], 7_000);
  t.ok((waits[1] ?? 0) >= 500 && (waits[1] ?? 0) <= 1_000, 'without Retry-After the wait doubles');

  await client.jobs.submit(JOB);
  t.notOk(keys.has(got[3]?.headers.get('idempotency-key') ?? ''), 'the next call has a key of its own');
  await client.jobs.submit(JOB, { idempotencyKey: 'mine' });
  t.equal(got[4]?.headers.get('idempotency-key'), 'mine');
  await client.jobs.get('job_1');
  t.equal(got[5]?.headers.get('idempotency-key'), null, 'a read needs none');
  await client.jobs.submit(JOB, { maxRetries: 0 });
  t.equal(got[6]?.headers.get('idempotency-key'), null, 'a call that is not repeated needs none');
});

t.test('what cannot pass is not repeated', async (t) => {
  const final = { code: 'invalid_param', retryable: false, param: 'op' };
  const { client, got } = standIn([refused(400, final)]);
  await t.rejects(client.jobs.submit(JOB), InvalidParamError);
  t.equal(got.length, 1);

  const slow = { code: 'internal_error', retryable: true, details: { reason: 'query_timeout' } };
  const narrow = standIn([refused(500, slow)]);
  await t.rejects(narrow.client.jobs.list().first(), { code: 'internal_error' });
  t.equal(narrow.got.length, 1, 'a query that takes too long takes too long again');

  const details = { reason: 'deadline_exceeded', instead: [{ parameters: { maxFps: 4 } }] };
  const late = { code: 'provider_unavailable', retryable: true, details };
  const long = standIn([refused(503, late, { 'retry-after': '60' })]);
  await t.rejects(long.client.ops.list(), ProviderUnavailableError);
  t.equal(long.got.length, 1, 'and so does work that has to be asked for in another way');
});

t.test('retries end: by their number, or where the service asks for a longer wait', async (t) => {
  const { client, got, waits } = standIn([refused(503, BUSY)]);
  await t.rejects(client.ops.list(), ProviderUnavailableError);
  t.equal(got.length, 4, 'three retries by default');
  t.equal(waits.length, 3);
  await t.rejects(client.ops.list({ maxRetries: 0 }));
  t.equal(got.length, 5);

  const limited = refused(429, { code: 'rate_limited', retryable: true }, { 'retry-after': '3600' });
  const patient = standIn([limited]);
  await t.rejects(patient.client.ops.list(), RateLimitedError);
  t.same([patient.got.length, patient.waits.length], [1, 0]);
});

t.test('an answer that is none of the service is a failure of the closed set', async (t) => {
  const page = new Response('<h1>502 Bad Gateway</h1>', { status: 502 });
  const { client, got } = standIn([page]);
  await t.rejects(client.ops.list(), { code: 'provider_unavailable', status: 502, retryable: true });
  t.equal(got.length, 4, 'a gateway may find the service later');
  const wrong = standIn([new Response('Not here', { status: 404 })]);
  await t.rejects(wrong.client.ops.list(), { code: 'not_found', retryable: false });
  const broken = standIn([new Response('{"success": tr', { status: 200 })]);
  await t.rejects(broken.client.ops.list(), ConnectionError, 'an answer that broke off');
  for (const text of ['[]', 'null', '{}', '"yes"']) {
    const other = standIn([new Response(text)]).client.ops.list({ maxRetries: 0 });
    await t.rejects(other, { code: 'connection_failed', status: 200, message: /proxy/ }, text);
  }
});

t.test('a page in place of a picture is a failure, and so is a picture that breaks off', async (t) => {
  const image = new Blob(['x'], { type: 'image/png' });
  const signIn = () => new Response('<h1>Sign in</h1>', { headers: { 'content-type': 'text/html' } });
  const page = standIn([signIn]).client.images.transform(image, { op: 'grayscale' }, { maxRetries: 0 });
  await t.rejects(page, { code: 'connection_failed', status: 200, retryable: true });

  const cut = () => {
    const bytes = [new Uint8Array(3)];
    const body = new ReadableStream({
      pull(controller) {
        const next = bytes.pop();
        if (next === undefined) controller.error(new TypeError('terminated'));
        else controller.enqueue(next);
      },
    });
    return new Response(body, { headers: { 'content-type': 'image/png' } });
  };
  const { client } = standIn([cut]);
  const made = () => client.images.transform(image, { op: 'grayscale' });
  await t.rejects((await made()).bytes(), ConnectionError);
  await t.rejects((await made()).save(`${t.testdir()}/grey.png`), ConnectionError);
});

t.test('a redirect is not followed, because it would carry the image to another address', async (t) => {
  for (const status of [301, 302, 307, 308]) {
    const moved = () => new Response(null, { status, headers: { location: 'https://other.test/' } });
    const { client, got } = standIn([moved]);
    const image = new Blob(['x'], { type: 'image/png' });
    await t.rejects(client.images.transform(image, { op: 'grayscale' }), {
      ...{ code: 'connection_failed', status, retryable: false, message: /other\.test.*baseUrl/ },
    });
    t.same([got.length, got[0]?.init.redirect], [1, 'manual']);
  }
});

t.test('an attempt ends at its timeout, and is repeated; an abort ends the call', async (t) => {
  const never = () => new Promise<Response>(() => {});
  const slow = standIn([never, ok([])]);
  const read = slow.client.ops.list();
  await new Promise(setImmediate);
  slow.expire();
  t.same(await read, []);
  const once = standIn([never]);
  const late = once.client.ops.list({ maxRetries: 0 });
  await new Promise(setImmediate);
  once.expire();
  await t.rejects(late, TimeoutError);

  const stopped = standIn([never]);
  const controller = new AbortController();
  const call = stopped.client.ops.list({ signal: controller.signal });
  await new Promise(setImmediate);
  controller.abort(new Error('enough'));
  await t.rejects(call, { message: 'enough' });
  t.equal(stopped.got.length, 1);
  await t.rejects(stopped.client.ops.list({ signal: controller.signal }), { message: 'enough' });
  t.equal(stopped.got.length, 1, 'nothing is sent after the abort');
});

t.test('a stream is sent once, and bytes again', async (t) => {
  const busy = refused(503, BUSY);
  const { client, got } = standIn([busy]);
  const stream = new Blob(['pixels']).stream();
  await t.rejects(client.images.transform(stream, { op: 'grayscale' }), ProviderUnavailableError);
  t.equal(got.length, 1);
  await t.rejects(client.images.transform(new Blob(['pixels']), { op: 'grayscale' }));
  t.equal(got.length, 5);
});

t.test('a failure carries what a program can act on', async (t) => {
  const fix = [{ param: 'dryrun', rename: 'dryRun' }];
  const error = {
    ...{ code: 'invalid_param', retryable: false, param: 'dryrun', docUrl: '/docs/errors.md' },
    details: { fix, suggest: ['dryRun'] },
  };
  const { client } = standIn([refused(400, error, { 'x-request-id': 'req-9' })]);
  const failure = await client.jobs.submit(JOB).catch((thrown) => thrown);
  t.match(failure, {
    ...{ name: 'InvalidParamError', code: 'invalid_param', status: 400, retryable: false, param: 'dryrun' },
    ...{ fix, suggest: ['dryRun'], docUrl: 'http://service.test/docs/errors.md', requestId: 'req-1' },
  });
  const plain = standIn([refused(404, { code: 'job_not_found', retryable: false })]);
  const missing = await plain.client.jobs.get('job_1').catch((thrown) => thrown);
  t.match(missing, { name: 'JobNotFoundError', fix: [], suggest: [], details: {} });
});

t.test('the debug hook tells every attempt, and no credential', async (t) => {
  const events: DebugEvent[] = [];
  const onDebug = (event: DebugEvent) => events.push(event);
  const { client, got } = standIn([refused(503, BUSY), new TypeError('fetch failed'), ok([])], { onDebug });
  await client.ops.list();
  t.match(
    events.map(({ attempt, status }) => [attempt, status]),
    [
      [1, 503],
      [2, undefined],
      [3, 200],
    ],
  );
  t.match(events[1], { error: { code: 'connection_failed' } });
  t.match(events[0], { method: 'GET', url: 'http://service.test/api/v1/ops' });
  t.equal(got[0]?.headers.get('authorization'), 'ApiKey drk_0123456789abcdefghijklmnopqrstuv');
  t.equal(events[0]?.headers.authorization, 'ApiKey …stuv');
  t.notMatch(JSON.stringify(events), '0123456789');
  const short = standIn([ok([])], { onDebug, key: 'ses_short' });
  await short.client.ops.list({ headers: { 'X-Request-Id': 'mine' } });
  t.match(events.at(-1)?.headers, { authorization: 'Bearer …', 'x-request-id': 'mine' });
  t.equal(short.got[0]?.headers.get('authorization'), 'Bearer ses_short');
});
