// needs: nothing
import t from 'tap';
import { runClosed } from '../../bench/load/closed.ts';
import { runOpen } from '../../bench/load/open.ts';
import { seeded } from '../../bench/load/random.ts';
import { ratesOf } from '../../bench/load/run.ts';
import { loaderLoad, runStage } from '../../bench/load/stage.ts';
import type { LoadCase } from '../../bench/load/suite.ts';
import { type Outcome, readError, readServerTiming, Tally } from '../../bench/load/tally.ts';
import { openTarget } from '../../bench/load/target.ts';
import { brokenThresholds } from '../../bench/load/thresholds.ts';
import { readPools } from '../../bench/load/watch.ts';
import { serve } from '../support/loopback.ts';
import { stageOf } from './results.ts';

const loadCase: LoadCase = {
  description: 'A call.',
  prepare: async () => () => ({ method: 'GET', path: '/' }),
};
const next = () => ({ method: 'GET' as const, path: '/' });
const unstopped = new AbortController().signal;

t.test('an open loop sends what is due though nothing was answered yet', async (t) => {
  const held: Array<() => void> = [];
  const { url } = await serve(t, (_request, response) => {
    held.push(() => response.end('{}'));
    // Only when five are in flight at once is any of them answered: a closed loop of one would wait for ever.
    if (held.length >= 5) for (const release of held.splice(0)) release();
  });
  const outcomes: Outcome[] = [];
  const random = seeded(1);
  const loop = runOpen({
    url,
    key: 'k',
    loadCase,
    next,
    signal: unstopped,
    durationMs: 200,
    perSecond: 200,
    retries: false,
    random,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  const release = setInterval(() => held.splice(0).map((answer) => answer()), 500);
  await loop;
  clearInterval(release);
  t.ok(outcomes.length >= 5, `${outcomes.length} calls were answered`);
  t.ok(outcomes.every(({ status, error }) => status === 200 && error === null));
});

for (const loop of ['closed', 'open'] as const) {
  t.test(`a ${loop} stage that is stopped answers with what it has measured until then`, async (t) => {
    const { url } = await serve(t, (_request, response) => response.end('{}'));
    const stopping = new AbortController();
    let sent = 0;
    const cases = {
      calls: {
        loadCase,
        next: () => {
          sent += 1;
          if (sent === 20) stopping.abort();
          return next();
        },
      },
    };
    const common = { name: 'hours', seconds: 36_000 };
    const result = await runStage({
      url,
      key: 'k',
      stage:
        loop === 'closed'
          ? { ...common, loop, connections: { calls: 1 } }
          : { ...common, loop, perSecond: { calls: 200 } },
      rates: { calls: 200 },
      cases,
      signal: stopping.signal,
      onSecond: () => undefined,
    });
    t.ok(result.seconds < 36_000, `it took ${result.seconds} s`);
    const counted = Math.round(Number(result.cases.calls?.perSecond) * result.seconds);
    t.ok(counted >= 10, `${counted} calls were counted, at the rate of the time until then`);
  });
}

t.test('a refused call comes again after Retry-After, and its first answer alone is counted', async (t) => {
  let calls = 0;
  const { url } = await serve(t, (_request, response) => {
    calls += 1;
    if (calls > 1) return response.end('{}');
    response.writeHead(429, { 'retry-after': '0' });
    response.end('{"error":{"code":"rate_limited","details":{"reason":"account_concurrency"}}}');
  });
  const outcomes: Outcome[] = [];
  // One call: the first number is small, so the call is due at once, and the second lies behind the end.
  const numbers = [0.0001, 0.999999999];
  const loop = await runOpen({
    url,
    key: 'k',
    loadCase,
    next,
    signal: unstopped,
    durationMs: 100,
    perSecond: 10,
    retries: true,
    random: () => numbers.shift() ?? 0.999999999,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  t.same(loop, { retried: 1, retriedRight: 1 });
  t.match(outcomes, [{ status: 429, error: 'rate_limited/account_concurrency' }]);
  t.equal(outcomes.length, 1);
});

t.test('a closed loop counts right answers, their timing, and errors by code', async (t) => {
  let calls = 0;
  const credentials = new Set<string | undefined>();
  const { url } = await serve(t, (request, response) => {
    credentials.add(request.headers.authorization);
    calls += 1;
    if (calls % 2 === 0) {
      response.writeHead(503);
      return response.end('{"error":{"code":"provider_unavailable","details":{"reason":"capacity"}}}');
    }
    response.setHeader('server-timing', 'admit;dur=0.5, process;dur=2.5');
    response.end('ok');
  });
  const outcomes: Outcome[] = [];
  const onOutcome = (outcome: Outcome) => outcomes.push(outcome);
  await runClosed({
    url,
    key: 'k',
    loadCase,
    next,
    durationMs: 300,
    signal: unstopped,
    connections: 1,
    onOutcome,
  });
  t.match(outcomes[0], { status: 200, error: null, timing: { admit: 0.5, process: 2.5 } });
  t.match(outcomes[1], { status: 503, error: 'provider_unavailable/capacity' });
  t.same([...credentials], ['ApiKey k']);
});

t.test('a tally tells goodput, shares and percentiles of right answers alone', async (t) => {
  const tally = new Tally();
  for (let ms = 1; ms <= 100; ms += 1)
    tally.add({ status: 200, latencyMs: ms, bytes: 10, error: null, timing: { queue: 2 } });
  tally.add({ status: 429, latencyMs: 9_000, bytes: 10, error: 'rate_limited', timing: {} });
  const result = tally.result(10);
  t.equal(result.calls, 101);
  t.equal(result.perSecond, 10);
  t.equal(result.errorShare, 0.0099);
  t.same(result.errors, { rate_limited: 1 });
  t.same(result.timingMs, { queue: 2 });
  t.ok(Math.abs(result.latencyMs.p50 - 50) < 0.1, `p50 ${result.latencyMs.p50}`);
  t.ok(Math.abs(result.latencyMs.p99 - 99) < 0.1, `p99 ${result.latencyMs.p99}`);
  t.ok(result.latencyMs.max < 101, 'the refusal is in no percentile');
  t.equal(new Tally().result(1).latencyMs.p50, 0, 'nothing counted is nothing, not NaN');
});

t.test('names of errors and parts of timings are read as the service writes them', async (t) => {
  t.equal(readError(500, 'no json'), 'status 500');
  t.equal(readError(400, '{"error":{"code":"invalid_param"}}'), 'invalid_param');
  t.same(readServerTiming('admit;dur=0.4, fetch;dur=3'), { admit: 0.4, fetch: 3 });
  t.same(readServerTiming(undefined), {});
});

t.test('a rate may be a multiple of an earlier stage, which must have measured the case', async (t) => {
  const earlier = [stageOf({ perSecond: 20, p50: 5 }, 0)];
  const stage = { name: 'overload', seconds: 1, loop: 'open' } as const;
  t.same(ratesOf({ ...stage, perSecond: { calls: { times: 3, stage: 'stage' } } }, earlier), { calls: 60 });
  t.throws(() => ratesOf({ ...stage, perSecond: { calls: { times: 3, stage: 'other' } } }, earlier), /other/);
});

t.test('a busy or late loader is named as the limit', async (t) => {
  t.equal(loaderLoad(0.3, 6).limit, null);
  t.match(loaderLoad(0.95, 6).limit, /95 % of its core/);
  t.match(loaderLoad(0.3, 120).limit, /120 ms late/);
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
  t.same(readPools(text), { image: { busy: 3 } });
});

t.test('another machine is not loaded without consent, and an address needs a key', async (t) => {
  const options = { settings: {}, yes: false };
  await t.rejects(openTarget({ ...options, url: 'http://10.0.0.1', key: '' }), /--key/);
  await t.rejects(openTarget({ ...options, url: 'http://10.0.0.1', key: 'k' }), /--yes/);
  const target = await openTarget({ ...options, url: 'http://127.0.0.1:3000/', key: 'k' });
  t.equal(target.url, 'http://127.0.0.1:3000');
});
