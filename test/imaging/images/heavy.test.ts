// needs: pixels

import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import t from 'tap';
import type { TransformCall } from '../../../src/imaging/images/image-call.ts';
import type { ManualClock } from '../../support/clock.ts';
import { pngOf } from './files.ts';
import { openStandIns } from './stand-ins.ts';

/** A pass that is estimated to take some twenty seconds. */
function heavyCall(clock: ManualClock, behaviour = 'answer', accountId = 'a'): TransformCall {
  return {
    bytes: pngOf(7_000, 7_000),
    accountId,
    deadlineMs: clock.nowMs() + 10_000,
    pass: { decode: {}, steps: [], encode: { format: 'avif', lossless: true, background: behaviour } },
  };
}

const smallCall = (clock: ManualClock): TransformCall => ({
  ...heavyCall(clock, 'answer', 'b'),
  bytes: pngOf(1, 1),
});

/** Processes that this one has started, and that still are. */
function children(): number[] {
  const listed = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  return listed.split(' ').filter(Boolean).map(Number);
}

const turn = () => new Promise(setImmediate);

t.test('a heavy pass runs in a child process and comes back as any other', async (t) => {
  const { workers, clock } = openStandIns(t);
  const { data, ...facts } = await workers.transform(heavyCall(clock)).result;
  t.match(facts, { kind: 'transformed', contentType: 'image/png', width: 1, queueMs: 0 });
  t.equal(Buffer.from(data).toString(), 'done');
  t.match(workers.stats().heavy, { slots: 1, busy: 0 });
});

t.test(
  'others are answered while heavy work runs; once killed it leaves no process and no slot',
  async (t) => {
    const { workers, clock } = openStandIns(t);
    const before = children();
    const stuck = workers.transform(heavyCall(clock, 'spin'));
    await turn();
    t.match(workers.stats().heavy, { busy: 1 });
    for (let call = 0; call < 5; call += 1)
      t.match(await workers.transform(smallCall(clock)).result, { kind: 'transformed', queueMs: 0 });
    clock.advance(10_000);
    await t.rejects(stuck.result, {
      code: 'provider_unavailable',
      status: 503,
      details: { reason: 'deadline_exceeded' },
    });
    await stuck.ended;
    t.match(workers.stats().heavy, { busy: 0, waiting: 0, reservedBytes: 0 });
    t.same(children(), before);
    t.match(await workers.transform(heavyCall(clock)).result, { kind: 'transformed' });
  },
);

t.test('heavy work leaves the cores to others, a search that a call waits for as well', async (t) => {
  const { workers, clock } = openStandIns(t);
  const plain = heavyCall(clock, 'priority');
  const search = {
    ...plain,
    pass: { ...plain.pass, encode: { ...plain.pass.encode, target: { maxBytes: 1_000 } } },
  };
  for (const call of [plain, search]) {
    const { data } = await workers.transform(call).result;
    t.ok(Number(Buffer.from(data).toString()) - getPriority() > 0);
  }
});

t.test('a client that goes away ends its heavy pass', async (t) => {
  const { workers, clock } = openStandIns(t);
  const before = children();
  const client = new AbortController();
  const work = workers.transform({ ...heavyCall(clock, 'spin'), signal: client.signal });
  await turn();
  client.abort(new Error('gone'));
  await t.rejects(work.result, { message: 'gone' });
  await work.ended;
  t.same(children(), before);
});

t.test('a heavy pass that finds no slot by its deadline is told so', async (t) => {
  const { workers, clock } = openStandIns(t);
  const stuck = workers.transform({ ...heavyCall(clock, 'spin'), deadlineMs: clock.nowMs() + 60_000 });
  await turn();
  const waiting = workers.transform(heavyCall(clock, 'answer', 'b'));
  await turn();
  clock.advance(10_000);
  await t.rejects(waiting.result, {
    code: 'provider_unavailable',
    status: 503,
    retryable: true,
    message: /longer than 2 s/,
    details: { reason: 'capacity' },
  });
  clock.advance(50_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
});

t.test('a heavy call does not wait for an item of a job that has the slot', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_MEMORY_MEGABYTES: 65_536 });
  const job = { work: 'job', deadlineMs: clock.nowMs() + 60_000 } as const;
  const stuck = workers.transform({ ...heavyCall(clock, 'spin'), ...job });
  const next = workers.transform({ ...heavyCall(clock), ...job });
  await turn();
  t.match(workers.stats().heavy, { slots: 1, busy: 1, jobsWaiting: 1 });
  t.match(await workers.transform(heavyCall(clock)).result, { kind: 'transformed', queueMs: 0 });
  t.match(workers.stats().heavy, { busy: 1, jobsWaiting: 1 }, 'the next item still waits for the slot');
  clock.advance(60_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable' });
  t.match(await next.result, { kind: 'transformed', queueMs: 60_000 });
});

t.test('a job waits for a heavy slot as long as it takes', async (t) => {
  const { workers, clock } = openStandIns(t);
  const stuck = workers.transform({ ...heavyCall(clock, 'spin'), deadlineMs: clock.nowMs() + 60_000 });
  await turn();
  const job = workers.transform({ ...heavyCall(clock, 'answer', 'b'), work: 'job' });
  await turn();
  clock.advance(60_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable' });
  t.match(await job.result, { kind: 'transformed', queueMs: 60_000 });
});

t.test('a pass that breaks its process is refused, and the next one finds another', async (t) => {
  const { workers, clock } = openStandIns(t);
  await t.rejects(workers.transform(heavyCall(clock, 'die')).result, { code: 'unsupported_format' });
  t.match(await workers.transform(heavyCall(clock)).result, { kind: 'transformed' });
});

t.test('a child process knows nothing of the environment of the service', async (t) => {
  process.env.MONGODB_URL = 'mongodb://user:secret@db';
  t.teardown(() => delete process.env.MONGODB_URL);
  const { workers, clock } = openStandIns(t);
  const { data } = await workers.transform(heavyCall(clock, 'secrets')).result;
  t.notMatch(Buffer.from(data).toString(), /MONGODB/);
});

t.test('a child process takes its memory as the service does', async (t) => {
  const before = { ...process.env };
  t.teardown(() => {
    process.env = before;
  });
  Object.assign(process.env, { MALLOC_ARENA_MAX: '2', MALLOC_CONF: 'narenas:2' });
  const { workers, clock } = openStandIns(t);
  const { data } = await workers.transform(heavyCall(clock, 'secrets')).result;
  const names = Buffer.from(data).toString().split(' ');
  t.ok(names.includes('MALLOC_ARENA_MAX'));
  t.ok(names.includes('MALLOC_CONF'));
});

t.test('with IMAGE_ISOLATION=process no pass runs in a thread', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_ISOLATION: 'process' });
  const { data } = await workers.transform(smallCall(clock)).result;
  t.equal(Buffer.from(data).toString(), 'done', 'the stand-in thread answers with its input');
});

t.test('a process without work is ended after a while', async (t) => {
  const { workers, clock } = openStandIns(t);
  const before = children();
  await workers.transform({ ...heavyCall(clock), bytes: pngOf(2_400, 2_000) }).result;
  t.equal(children().length, before.length + 1);
  clock.advance(60_000);
  for (let look = 0; look < 500 && children().length > before.length; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  t.same(children(), before);
});

const WAITED = /most of that time was the waiting for a worker.*same call again later/;
const WORKED = /the work itself took that time/;
const STARVED =
  /other work had the processor: this work got 2\.0 s of it within 6\.0 s.*same call again later/;

t.test('a late call is told whether it waited, worked or had no CPU time; a start is a wait', async (t) => {
  for (const [startMs, pace, says] of [
    [6_000, 1, WAITED],
    [4_000, 1, WORKED],
    [4_000, 0.2, STARVED],
  ] as const) {
    let cpuMs = 0;
    const { workers, clock } = openStandIns(t, {}, { processCpuMs: () => cpuMs });
    const stuck = workers.transform(heavyCall(clock, 'spin'));
    await turn();
    clock.advance(startMs);
    while (stuck.waitedMs() < startMs) await turn();
    cpuMs = pace * 10_000;
    clock.advance(10_000 - startMs);
    const late = await stuck.result.catch((error) => error);
    t.match(late, { details: { reason: 'deadline_exceeded' }, message: says });
    t.equal(late.retryAfterSeconds === 60, says === WORKED, 'equal work is refused only if it was to blame');
    t.equal(stuck.waitedMs(), startMs);
    await stuck.ended;
  }
});

t.test(
  'late work that hardly had CPU time is sent to a job, however little it could do in its time',
  async (t) => {
    let readings = 0;
    // The second reading is that of the answer: five seconds have passed by then, without any CPU time.
    const processCpuMs = () => {
      readings += 1;
      if (readings === 2) clock.advance(5_000);
      return 0;
    };
    const { workers, clock } = openStandIns(t, {}, { processCpuMs });
    const asJobs = [{ type: 'convert', parameters: { format: 'avif' } }];
    const { result } = workers.transform({ ...heavyCall(clock, 'late'), asJobs });
    const [job] = asJobs;
    const late = await result.catch((error) => error);
    t.match(late.message, /had the processor.*a job/);
    t.same(late.details.instead.at(-1), { job });
  },
);

t.test('each output of a call, and a worker that sees the deadline first, tell the same', async (t) => {
  const { workers, clock } = openStandIns(t);
  const { pass, ...call } = heavyCall(clock, 'late');
  const paramOf = (param: string) => param;
  const single = workers.transform({ ...call, pass });
  await turn();
  clock.advance(6_000);
  await t.rejects(single.result, { details: { reason: 'deadline_exceeded' }, message: WAITED });
  const { pass: other } = heavyCall(clock);
  const branches = [pass, other].map((one) => ({ pass: one, paramOf }));
  const { outputs } = await workers.branch({ ...heavyCall(clock), branches }).result;
  t.match(outputs, [{ details: { reason: 'deadline_exceeded' }, message: WORKED }, { kind: 'transformed' }]);
});
