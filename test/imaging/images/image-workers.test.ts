// needs: pixels

import t, { type Test } from 'tap';
import type { TransformCall } from '../../../src/imaging/images/image-call.ts';
import { ImageWorkers, type ImageWorkersOptions } from '../../../src/imaging/images/image-workers.ts';
import type { ImagePass } from '../../../workers/protocol.ts';
import { smallCapacity } from '../../support/capacity.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';
import { gifOf, pngOf, svgOf } from './files.ts';
import { GatedPass } from './gated-pass.ts';

const STAND_IN = new URL('./stand-in-thread.ts', import.meta.url);

const SETTINGS: ImageWorkersOptions['settings'] = {
  IMAGE_THREADS: 1,
  IMAGE_ISOLATION: 'thread',
  IMAGE_HEAVY_SLOTS: 1,
  IMAGE_ACCOUNT_SECONDS: 30,
  IMAGE_WAIT_MS: 1_000,
  IMAGE_PROCESS_MEMORY_MEGABYTES: 2_048,
  IMAGE_QUEUE: 2,
  IMAGE_MEMORY_MEGABYTES: 512,
  TRANSFORM_TIMEOUT_MS: 10_000,
  VECTOR_TIMEOUT_MS: 10_000,
  VECTOR_MEMORY_MEGABYTES: 2_048,
};

function open(t: Test, options: Partial<ImageWorkersOptions> = {}) {
  const clock = manualClock();
  const lost: string[] = [];
  const log = { warn: (_context: object, message: string) => void lost.push(message) };
  const workers = new ImageWorkers({
    settings: SETTINGS,
    capacity: smallCapacity(options.settings ?? SETTINGS),
    log,
    clock,
    threadFile: STAND_IN,
    ...options,
  });
  t.teardown(() => workers.close());
  return { workers, clock, lost };
}

function passOf(behaviour: string): ImagePass {
  return { decode: {}, steps: [], encode: { background: behaviour } };
}

function callOf(clock: ManualClock, behaviour = 'answer'): TransformCall {
  return {
    bytes: pngOf(1, 1),
    accountId: 'acc',
    deadlineMs: clock.nowMs() + 10_000,
    pass: passOf(behaviour),
  };
}

/** A call that keeps its thread until it is let go. */
function heldCall(clock: ManualClock, behaviour: 'hold' | 'work' = 'hold') {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const call = { ...callOf(clock, behaviour), pass: new GatedPass(passOf(behaviour), gate) };
  const letGo = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  return { call, letGo };
}

t.test('a pass runs in a thread and comes back with its wait', async (t) => {
  const { workers, clock } = open(t);
  const result = await workers.transform(callOf(clock)).result;
  t.match(result, { kind: 'transformed', contentType: 'image/png', queueMs: 0 });
  t.match(workers.stats().quick, { slots: 1, busy: 0, waiting: 0, budgetBytes: 512 * 1_048_576 });
});

t.test('a pass of several formats tells the times of all of them', async (t) => {
  const { workers, clock } = open(t);
  const pass: ImagePass = { decode: {}, steps: [], encode: { formats: ['webp', 'png'] } };
  const { timings } = await workers.transform({ ...callOf(clock), pass }).result;
  t.same(timings, { decodeMs: 1, processMs: 20, encodeMs: 300 });
});

t.test('bytes that own their memory are handed over, others are copied', async (t) => {
  const { workers, clock } = open(t);
  const own = new Uint8Array(pngOf(1, 1));
  await workers.transform({ ...callOf(clock), bytes: own }).result;
  t.equal(own.length, 0, 'moved to the thread');
  const part = Buffer.concat([pngOf(1, 1), Buffer.alloc(8)]).subarray(0, -8);
  await workers.transform({ ...callOf(clock), bytes: part }).result;
  t.ok(part.length > 0, 'still here');
});

t.test("a thread's refusal names the parameter in the caller's words", async (t) => {
  const { workers, clock } = open(t);
  const call = { ...callOf(clock, 'fail'), paramOf: (param: string) => param.split('.').at(-1) ?? param };
  await t.rejects(workers.transform(call).result, {
    code: 'invalid_param',
    param: 'width',
    message: 'Too wide.',
  });
});

t.test('a thread that notices the deadline first is told as the deadline', async (t) => {
  const { workers, clock } = open(t);
  await t.rejects(workers.transform(callOf(clock, 'late')).result, {
    code: 'provider_unavailable',
    message: /nearest file of quality 1 .* has 900 bytes\.$/,
    details: { reason: 'deadline_exceeded', reached: 900, achieved: { quality: 1, bytes: 900 } },
  });
});

t.test('what is no image, or too large, never reaches a thread', async (t) => {
  const { workers, clock } = open(t);
  for (const bytes of [Buffer.from('text'), pngOf(10_000, 5_001), gifOf(2_000, 1_000, 26)])
    await t.rejects(workers.transform({ ...callOf(clock, 'die'), bytes }).result, {
      code: 'unsupported_format',
    });
});

t.test('a thread that dies is worker_unreachable, and the next call finds another', async (t) => {
  const { workers, clock, lost } = open(t);
  for (const behaviour of ['die', 'throw', 'die']) {
    const work = workers.transform(callOf(clock, behaviour));
    await t.rejects(work.result, {
      code: 'provider_unavailable',
      status: 503,
      details: { reason: 'worker_unreachable' },
      retryAfterSeconds: 1,
    });
    await work.ended;
    t.match(await workers.transform(callOf(clock)).result, { kind: 'transformed' });
  }
  t.equal(lost.length, 3, 'the operator reads of it');
});

t.test('a thread that cannot even start fails its calls and never hangs them', async (t) => {
  const { workers, clock } = open(t, { threadFile: new URL('./no-such-thread.ts', import.meta.url) });
  for (let round = 0; round < 3; round += 1) {
    await t.rejects(workers.transform(callOf(clock)).result, {
      code: 'provider_unavailable',
      details: { reason: 'worker_unreachable' },
    });
  }
  t.match(workers.stats().quick, { busy: 0, waiting: 0 });
});

t.test(
  'at the deadline the caller is answered, and the slot stays taken until the thread has ended',
  async (t) => {
    const { workers, clock } = open(t);
    const { call, letGo } = heldCall(clock);
    const work = workers.transform(call);
    await new Promise(setImmediate);
    clock.advance(10_000);
    await t.rejects(work.result, {
      code: 'provider_unavailable',
      status: 503,
      retryable: true,
      details: { reason: 'deadline_exceeded' },
    });
    t.match(workers.stats().quick, { busy: 1 });
    const next = workers.transform(callOf(clock));
    await new Promise(setImmediate);
    t.match(workers.stats().quick, { busy: 1, waiting: 1 });
    letGo();
    await work.ended;
    t.match(await next.result, { kind: 'transformed' });
  },
);

t.test('a deadline that passes in the waiting room answers too, and the work is never begun', async (t) => {
  const { workers, clock } = open(t);
  const { call, letGo } = heldCall(clock);
  const working = workers.transform({ ...call, deadlineMs: clock.nowMs() + 60_000 });
  const waiting = workers.transform(callOf(clock, 'die'));
  await new Promise(setImmediate);
  clock.advance(10_000);
  await t.rejects(waiting.result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
  await waiting.ended;
  t.match(workers.stats().quick, { busy: 1, waiting: 0 });
  letGo();
  t.match(await working.result, { kind: 'transformed' });
});

t.test('a client that goes away gives up its place in the queue', async (t) => {
  const { workers, clock } = open(t);
  const { call, letGo } = heldCall(clock);
  const working = workers.transform(call);
  const client = new AbortController();
  const waiting = workers.transform({ ...callOf(clock), signal: client.signal });
  await new Promise(setImmediate);
  client.abort(new Error('gone'));
  await t.rejects(waiting.result, { message: 'gone' });
  t.match(workers.stats().quick, { waiting: 0 });
  letGo();
  await working.result;
});

t.test('a full queue is 503 capacity with a Retry-After', async (t) => {
  const { workers, clock } = open(t);
  const { call, letGo } = heldCall(clock);
  const accepted = [
    workers.transform(call),
    workers.transform(callOf(clock)),
    workers.transform(callOf(clock)),
  ];
  await new Promise(setImmediate);
  const refusal = {
    code: 'provider_unavailable',
    status: 503,
    details: { reason: 'capacity' },
    retryAfterSeconds: 1,
  };
  await t.rejects(workers.transform(callOf(clock)).result, refusal);
  letGo();
  await Promise.all(accepted.map(({ result }) => result));
});

t.test('four drawings that never end hold no picture up', async (t) => {
  const { workers, clock } = open(t, { settings: { ...SETTINGS, IMAGE_QUEUE: 8 } });
  const bomb = svgOf(4_000, 4_000, ENDLESS);
  const drawings = ['a', 'b', 'c', 'd'].map((accountId) =>
    workers.transform({ ...callOf(clock), accountId, bytes: bomb, deadlineMs: clock.nowMs() + 8_000 }),
  );
  for (let round = 0; round < 20; round += 1) {
    t.match(await workers.transform(callOf(clock)).result, { kind: 'transformed', queueMs: 0 });
  }
  clock.advance(8_000);
  for (const { result } of drawings)
    await t.rejects(result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
});

/** 1 KB that a renderer works on for minutes. */
const ENDLESS =
  '<filter id="f"><feTurbulence baseFrequency="0.01" numOctaves="5000"/></filter><rect width="4000" height="4000" filter="url(#f)"/>';

t.test('the self-test runs a pass, unless a call has just proved the same', async (t) => {
  const { workers, clock } = open(t);
  await workers.selfTest();
  const { call, letGo } = heldCall(clock);
  const { result } = workers.transform({ ...call, deadlineMs: clock.nowMs() + 60_000 });
  await new Promise(setImmediate);
  await workers.selfTest();
  clock.advance(5_000);
  const waiting = workers.selfTest();
  await new Promise(setImmediate);
  t.match(workers.stats().quick, { waiting: 1 });
  clock.advance(10_000);
  await t.rejects(waiting, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
  letGo();
  await result;
});

t.test(
  'a call does not wait until the item of a job has ended, and a second item waits for the first',
  async (t) => {
    const { workers, clock } = open(t);
    const item = heldCall(clock, 'work');
    const first = workers.transform({ ...item.call, accountId: 'batch', work: 'job' });
    const second = workers.transform({ ...callOf(clock), accountId: 'batch', work: 'job' });
    await workers.transform(callOf(clock)).result;
    t.match(workers.stats().quick, { slots: 1, busy: 1 }, 'the first item is at work, the second waits');
    item.letGo();
    await Promise.all([first.result, second.result]);
  },
);

t.test("a job's deadline counts its work and not its waiting", async (t) => {
  const { workers, clock } = open(t);
  const { call, letGo } = heldCall(clock);
  const ahead = workers.transform({ ...call, deadlineMs: clock.nowMs() + 60_000 });
  await new Promise(setImmediate);
  const patient = workers.transform({ ...callOf(clock), accountId: 'batch', work: 'job' });
  await new Promise(setImmediate);
  clock.advance(20_000);
  letGo();
  await ahead.result;
  t.match(await patient.result, { kind: 'transformed', queueMs: 20_000 });

  const slow = heldCall(clock);
  const late = workers.transform({ ...slow.call, work: 'job' });
  await new Promise(setImmediate);
  clock.advance(10_000);
  await t.rejects(late.result, {
    code: 'provider_unavailable',
    details: { reason: 'deadline_exceeded' },
  });
  slow.letGo();
});

t.test('close waits for the calls under way', async (t) => {
  const { workers, clock } = open(t);
  const { call, letGo } = heldCall(clock);
  const { result } = workers.transform(call);
  await new Promise(setImmediate);
  const closed = workers.close();
  letGo();
  t.match(await result, { kind: 'transformed' });
  await closed;
});
