// needs: nothing
import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { CaseRecorder } from '../../bench/load/case-recorder.ts';
import { createSeededRandom } from '../../bench/load/loops.ts';
import { errorOf, readServerTiming, refusalOf } from '../../bench/load/response.ts';
import { resolveRates } from '../../bench/load/run.ts';
import type { CallEnd } from '../../bench/load/sender.ts';
import { loaderLoad, runStage } from '../../bench/load/stage.ts';
import type { CallResponse, HttpCall, LoadCase, Stage } from '../../bench/load/suite.ts';
import { Timeline } from '../../bench/load/tally.ts';
import { openTarget } from '../../bench/load/target.ts';
import { parsePools } from '../../bench/load/watch.ts';
import { serve } from '../support/loopback.ts';
import { brokenThresholds, stageOf } from './results.ts';

const next = () => ({ method: 'GET' as const, path: '/', key: 'k' });
const anyCase: LoadCase = { description: 'A call.', prepare: async () => next };

function answer(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  response.end('{}');
}

/** A stage of one case that is stopped when the server, or the test, has seen enough. */
function run(url: string, stage: Stage, { stopping = new AbortController(), loadCase = anyCase } = {}) {
  const rates = { calls: 300 };
  const cases = { calls: { loadCase, next } };
  const { signal } = stopping;
  return runStage({ url, stage, rates, round: 0, cases, signal, onProgress: () => undefined });
}
const open: Stage = { name: 'hours', seconds: 36_000, loop: 'open', perSecond: { calls: 300 } };
const closedOf = (connections: number): Stage => ({
  ...{ name: 'hours', seconds: 36_000, loop: 'closed' as const },
  connections: { calls: connections },
});

t.test('an open loop sends what is due though nothing was answered yet', async (t) => {
  const stopping = new AbortController();
  const held: Array<() => void> = [];
  const { url } = await serve(t, (_request, response) => {
    held.push(() => answer(response));
    // Only when five are in flight at once is any of them answered: a closed loop of one would wait for ever.
    if (held.length < 5 && !stopping.signal.aborted) return;
    stopping.abort();
    for (const release of held.splice(0)) release();
  });
  const { cases } = await run(url, open, { stopping });
  t.ok(Number(cases.calls?.right) >= 5, `${cases.calls?.right} calls were answered`);
  t.equal(cases.calls?.sent, cases.calls?.right);
});

t.test('a closed loop never has more calls in flight than connections', async (t) => {
  const stopping = new AbortController();
  let most = 0;
  let calls = 0;
  const held: Array<() => void> = [];
  const credentials = new Set<string | undefined>();
  const { url } = await serve(t, (request, response) => {
    credentials.add(request.headers.authorization);
    most = Math.max(
      most,
      held.push(() => answer(response)),
    );
    if (++calls === 60) stopping.abort();
    // The connections wait for each other, so that all of them are busy at once.
    if (held.length >= 3) for (const release of held.splice(0)) release();
  });
  const { cases } = await run(url, closedOf(3), { stopping });
  t.equal(most, 3);
  t.equal(cases.calls?.right, calls);
  t.same([...credentials], ['ApiKey k']);
});

t.test('a stage ends by itself, and what is due in it is sent', async (t) => {
  const { url } = await serve(t, (_request, response) => answer(response));
  const { cases, seconds } = await run(url, { ...open, seconds: 0.3 });
  t.ok(Number(cases.calls?.sent) > 0);
  t.equal(cases.calls?.askedPerSecond, 300);
  t.ok(Math.abs(Number(cases.calls?.offeredPerSecond) * seconds - Number(cases.calls?.sent)) < 1);
});

t.test('a refused call comes again after Retry-After, and its first answer alone is counted', async (t) => {
  const stopping = new AbortController();
  let refused = 0;
  let again = 0;
  const { url } = await serve(t, (_request, response) => {
    if (refused === 0) {
      refused = 1;
      response.writeHead(429, { 'retry-after': '0' });
      return response.end('{"error":{"code":"rate_limited","details":{"reason":"account_concurrency"}}}');
    }
    again += 1;
    answer(response);
    if (again === 20) stopping.abort();
  });
  const { cases } = await run(url, { ...open, retries: true }, { stopping });
  t.match(cases.calls, { wrong: 1, retries: { sent: 1, right: 1 } });
  t.same(cases.calls?.errors, { 'rate_limited/account_concurrency': 1 });
  t.equal(cases.calls?.right, again - 1, 'the call that came again is no call of its own');
});

t.test('work of several calls ends with the last one, and counts its items', async (t) => {
  const stopping = new AbortController();
  let asked = 0;
  const { url } = await serve(t, (request, response) => {
    if (request.url !== '/job') return answer(response);
    asked += 1;
    if (asked === 30) stopping.abort();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ hasEnded: asked % 3 === 0, isBroken: asked % 6 === 0 }));
  });
  const read = ({ body }: CallResponse) => JSON.parse(body.toString());
  const loadCase: LoadCase = {
    ...anyCase,
    items: 50,
    check: (got) => (read(got).isBroken ? 'broken' : null),
    follow: (got) => (read(got).hasEnded ? null : { method: 'GET', path: '/job' }),
  };
  const result = (await run(url, closedOf(1), { stopping, loadCase })).cases.calls;
  t.equal(asked, 30);
  t.match(result, { sent: 10, right: 5, wrong: 5, errors: { broken: 5 } });
  t.ok(Math.abs(Number(result?.itemsPerSecond) - 50 * Number(result?.perSecond)) < 1);
});

t.test('a case opens a connection per call, or sends its bodies slowly, where it says so', async (t) => {
  const stopping = new AbortController();
  const connections = new Set<unknown>();
  const bodies: number[][] = [];
  const { url } = await serve(t, (request, response) => {
    connections.add(request.socket);
    const pieces: number[] = [];
    request.on('data', (chunk: Buffer) => pieces.push(chunk.length));
    request.on('end', () => {
      bodies.push(pieces);
      answer(response);
      if (bodies.length === 4) stopping.abort();
    });
  });
  const loadCase: LoadCase = { ...anyCase, keepAlive: false, uploadBytesPerSecond: 2_000 };
  const posts = {
    calls: { loadCase, next: () => ({ ...next(), method: 'POST' as const, body: Buffer.alloc(250) }) },
  };
  const { signal } = stopping;
  const options = { url, stage: closedOf(1), rates: {}, round: 0, signal, onProgress: () => undefined };
  const { cases } = await runStage({ ...options, cases: posts });
  t.match(cases.calls, { sent: 4, right: 4 });
  t.equal(connections.size, 4);
  for (const pieces of bodies) {
    t.ok(pieces.length > 1, `${pieces.length} pieces`);
    t.equal(
      pieces.reduce((sum, length) => sum + length, 0),
      250,
    );
  }
});

t.test('each case, stage and round has arrivals of its own, the same in each run', async (t) => {
  const first = (...of: Parameters<typeof createSeededRandom>) => createSeededRandom(...of)();
  t.equal(first('web', 'mix', 0), first('web', 'mix', 0));
  const different = [
    first('web', 'mix', 0),
    first('agents', 'mix', 0),
    first('web', 'soak', 0),
    first('web', 'mix', 1),
  ];
  t.equal(new Set(different).size, different.length);
  const [web, agents] = [createSeededRandom('web', 'mix', 0), createSeededRandom('agents', 'mix', 0)];
  const pairs = Array.from({ length: 2_000 }, () => [web() - 0.5, agents() - 0.5] as const);
  const covariance = pairs.reduce((sum, [one, other]) => sum + one * other, 0) / pairs.length;
  t.ok(Math.abs(covariance) < 0.01, `covariance ${covariance}`);
});

t.test('an answer is right by its status, its type, its width and the check of its case', async (t) => {
  const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#888' } })
    .webp()
    .toBuffer();
  const got = (type: string, body: Buffer | string, status = 200): CallResponse => ({
    status,
    headers: { 'content-type': type },
    body: Buffer.from(body),
  });
  const plain: HttpCall = { method: 'GET', path: '/' };
  const image: HttpCall = { ...plain, expects: { type: 'image/webp', width: 40 } };
  t.equal(errorOf(got('image/webp', picture), image, anyCase), null);
  t.equal(
    errorOf(got('image/webp', picture), { ...image, expects: { type: 'image/', width: 40 } }, anyCase),
    null,
  );
  t.equal(
    errorOf(got('image/webp', picture), { ...image, expects: { type: 'image/webp', width: 80 } }, anyCase),
    'width 40 instead of 80',
  );
  t.equal(errorOf(got('image/webp', 'no image'), image, anyCase), 'not an image');
  t.equal(errorOf(got('application/json', '{}'), image, anyCase), 'type application/json');
  t.equal(errorOf(got('application/json; charset=utf-8', '{}'), plain, anyCase), null);
  t.equal(errorOf(got('text/html', '<h1>login</h1>'), plain, anyCase), 'type text/html');
  t.equal(errorOf(got('image/webp', picture), plain, anyCase), null);
  for (const type of ['image/webp', 'image/png', 'image/svg+xml', 'image/jxl', 'application/json'])
    t.equal(errorOf(got(type, ''), plain, anyCase), 'empty answer', type);
  for (const type of ['image/webp', 'image/png', 'image/avif', 'image/tiff'])
    t.equal(errorOf(got(type, '<h1>login</h1>'), plain, anyCase), 'not an image', type);
  t.equal(errorOf(got('image/png', picture), plain, anyCase), 'image/webp called image/png');
  t.equal(errorOf(got('image/webp', picture.subarray(0, 12)), plain, anyCase), 'not an image');
  t.equal(errorOf(got('application/json', '<h1>login</h1>'), plain, anyCase), 'not JSON');
  t.equal(errorOf({ status: 204, headers: {}, body: Buffer.alloc(0) }, plain, anyCase), null);
  t.equal(errorOf(got('text/plain', '', 429), plain, { ...anyCase, expected: [429] }), null);
  t.equal(errorOf(got('text/plain', 'no json', 500), plain, anyCase), 'status 500');
  const check = ({ body }: CallResponse) => (body.includes('"done":true') ? null : 'not done');
  t.equal(errorOf(got('application/json', '{"done":true}'), plain, { ...anyCase, check }), null);
  t.equal(errorOf(got('application/json', '{}'), plain, { ...anyCase, check }), 'not done');
});

t.test('the check of a case makes answers wrong by its words, and one that throws by its own', async (t) => {
  for (const [check, error] of [
    [() => 'not done', 'not done'],
    [() => JSON.parse('').data, 'check threw Unexpected end of JSON input'],
  ] as const) {
    const stopping = new AbortController();
    let calls = 0;
    const { url } = await serve(t, (_request, response) => {
      if (++calls === 5) stopping.abort();
      answer(response);
    });
    const { cases } = await run(url, closedOf(1), { stopping, loadCase: { ...anyCase, check } });
    t.same(cases.calls?.errors, { [error]: calls });
  }
});

t.test('refusals and parts of timings are read as the service writes them', async (t) => {
  t.equal(refusalOf(500, 'no json'), 'status 500');
  t.equal(refusalOf(400, '{"error":{"code":"invalid_param"}}'), 'invalid_param');
  t.same(readServerTiming('admit;dur=0.4, fetch;dur=3'), { admit: 0.4, fetch: 3 });
  t.same(readServerTiming(undefined), {});
});

const outcome: CallEnd = {
  ...{ end: 'right', error: '', dueMs: 0, sentMs: 0, endMs: 0, bytes: 10 },
  ...{ timing: { queue: 2 }, retryAfterMs: null },
};
const terms = { name: 'calls', askedPerSecond: 10, isRetried: false, items: 1 };

t.test('a recorder has throughput, shares and percentiles of right answers alone', async (t) => {
  const recorder = new CaseRecorder(performance.now(), 10_000);
  const startMs = performance.now();
  for (let ms = 1; ms <= 100; ms += 1) {
    recorder.sent(startMs);
    recorder.ended({ ...outcome, dueMs: startMs, endMs: startMs + ms });
  }
  recorder.sent(startMs);
  recorder.ended({ ...outcome, dueMs: startMs, endMs: startMs + 9_000, end: 'wrong', error: 'rate_limited' });
  const { result } = recorder.record(10, terms);
  t.match(result, { sent: 101, right: 100, wrong: 1, unanswered: 0, perSecond: 10, errorShare: 0.0099 });
  t.same(result.errors, { rate_limited: 1 });
  t.same(result.timingMs, { queue: 2 });
  t.ok(Math.abs(Number(result.latencyMs?.p50) - 50) < 0.1, `p50 ${result.latencyMs?.p50}`);
  t.ok(Math.abs(Number(result.latencyMs?.p99) - 99) < 0.1, `p99 ${result.latencyMs?.p99}`);
  t.ok(Number(result.latencyMs?.max) < 101, 'the refusal is in no percentile');
  t.match(new CaseRecorder(0, 1_000).record(1, terms).result, { sent: 0, errorShare: null, latencyMs: null });
});

t.test('a recorder with a call that has not ended, or has ended twice, is refused', async (t) => {
  const recorder = new CaseRecorder(0, 1_000);
  recorder.sent(0);
  t.throws(() => recorder.record(1, terms), /calls sent 1 calls, but 0 of them have ended/);
  recorder.ended(outcome);
  t.equal(recorder.record(1, terms).result.sent, 1);
  recorder.ended(outcome);
  t.throws(() => recorder.record(1, terms), /sent 1 calls, but 2/);
});

t.test('a call is late by the time at which it was sent, in the second in which it was due', async (t) => {
  const nowMs = performance.now();
  const recorder = new CaseRecorder(nowMs - 3_000, 4_000);
  for (const dueMs of [nowMs - 2_500, nowMs]) {
    recorder.sent(dueMs);
    recorder.ended({ ...outcome, dueMs, endMs: nowMs });
  }
  recorder.unsent();
  const { result, timeline } = recorder.record(4, terms);
  t.equal(result.sentLate, 2, 'one was sent late, one not at all');
  t.same(
    timeline.map(({ late }) => late),
    [1, 0, 0, 0],
  );
});

t.test('a stall is a gap of answers, and a spike of latency where it began', async (t) => {
  const timeline = new Timeline(0);
  const call = (dueMs: number, endMs: number) => {
    timeline.sent(dueMs, dueMs);
    timeline.ended({ ...outcome, dueMs, endMs });
  };
  call(100, 110);
  call(900, 3_100);
  call(3_200, 3_210);
  t.same(timeline.seconds(), [
    { at: 1, right: 1, errors: 0, late: 0, p50: 2_200, p99: 2_200 },
    { at: 2, right: 0, errors: 0, late: 0, p50: null, p99: null },
    { at: 3, right: 0, errors: 0, late: 0, p50: null, p99: null },
    { at: 4, right: 2, errors: 0, late: 0, p50: 10, p99: 10 },
  ]);
});

t.test('a rate may be a multiple of an earlier stage, which must have measured the case', async (t) => {
  const earlier = [stageOf({ perSecond: 20, p50: 5 }, 0)];
  const stage = { name: 'overload', seconds: 1, loop: 'open' } as const;
  t.same(resolveRates({ ...stage, perSecond: { calls: { times: 3, stage: 'stage' } } }, earlier), {
    calls: 60,
  });
  t.throws(
    () => resolveRates({ ...stage, perSecond: { calls: { times: 3, stage: 'other' } } }, earlier),
    /other/,
  );
});

t.test('a busy or late loader is named as the limit', async (t) => {
  const calm = { cpuShare: 0.3, lagP99Ms: 6, lateShare: 0.001 };
  t.equal(loaderLoad(calm).limit, null);
  t.match(loaderLoad({ ...calm, cpuShare: 0.95 }).limit, /95 % of its core/);
  t.match(loaderLoad({ ...calm, lagP99Ms: 120 }).limit, /120 ms late/);
  t.match(loaderLoad({ ...calm, lateShare: 0.02 }).limit, /2 % of the calls late/);
});

t.test('a broken threshold is a sentence; so is one that could not be measured', async (t) => {
  const stages = [stageOf({ perSecond: 20, p50: 5 }, 0)];
  const threshold = { stage: 'stage', case: 'calls' } as const;
  t.same(brokenThresholds([{ ...threshold, measure: 'p50', atMost: 6 }], stages), []);
  t.match(brokenThresholds([{ ...threshold, measure: 'p50', atMost: 4 }], stages), [/p50 is 5, above 4/]);
  t.match(brokenThresholds([{ ...threshold, measure: 'perSecond', atLeast: 30 }], stages), [/below 30/]);
  const share = (times: number) => ({ times, stage: threshold.stage });
  t.same(brokenThresholds([{ ...threshold, measure: 'perSecond', atLeast: share(0.9) }], stages), []);
  t.match(brokenThresholds([{ ...threshold, measure: 'perSecond', atLeast: share(1.5) }], stages), [/below/]);
  const lost = { times: 1, stage: 'never run' };
  t.match(brokenThresholds([{ ...threshold, measure: 'perSecond', atLeast: lost }], stages), [/below/]);
  t.match(brokenThresholds([{ ...threshold, case: 'none', measure: 'p50', atMost: 4 }], stages), [
    /not measured/,
  ]);
});

t.test('pools are read from the metrics of all processes', async (t) => {
  const text =
    'darkroom_pool_busy{pool="image",process="1"} 1\ndarkroom_pool_busy{pool="image",process="2"} 2\nother 3\n';
  t.same(parsePools(text), { image: { busy: 3 } });
});

t.test('another machine is not loaded without consent, and an address needs a key', async (t) => {
  const options = { settings: {}, accounts: 1, yes: false };
  await t.rejects(openTarget({ ...options, url: 'http://10.0.0.1', keys: [] }), /--key/);
  await t.rejects(openTarget({ ...options, url: 'http://10.0.0.1', keys: ['k'] }), /--yes/);
  const target = await openTarget({ ...options, url: 'http://127.0.0.1:3000/', keys: ['k'] });
  t.match(target, { url: 'http://127.0.0.1:3000', name: 'http://127.0.0.1:3000' });
  for (const url of ['127.0.0.1:9', 'localhost:3000', 'ftp://localhost', 'nonsense'])
    await t.rejects(
      openTarget({ ...options, url, keys: ['k'] }),
      /--url is ".+", but an http or https address/,
      url,
    );
  await t.rejects(
    openTarget({ ...options, url: '127.0.0.1:9', keys: [] }),
    /such as http:\/\/127\.0\.0\.1:9/,
  );
});
