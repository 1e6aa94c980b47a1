// needs: pixels
import { getPriority } from 'node:os';
import t, { type Test } from 'tap';
import type { TransformCall } from '../../../src/imaging/images/image-call.ts';
import type { ApiError } from '../../../src/platform/http/errors/errors.ts';
import type { PoolMeter } from '../../../src/platform/metrics/work.ts';
import type { OperationStep } from '../../../workers/protocol.ts';
import type { ManualClock } from '../../support/clock.ts';
import { pngOf, svgOf } from './files.ts';
import { GatedPass } from './gated-pass.ts';
import { openStandIns } from './stand-ins.ts';

/** A pass that is estimated to take some milliseconds. */
function quickCall(clock: ManualClock, accountId = 'b', behaviour = 'answer'): TransformCall {
  const deadlineMs = clock.nowMs() + 10_000;
  const pass = { decode: {}, steps: [] as OperationStep[], encode: { background: behaviour } };
  return { bytes: pngOf(400, 400), accountId, deadlineMs, pass };
}

/** A pass that is estimated to take half a second. */
function slowCall(clock: ManualClock, accountId = 'a', behaviour = 'answer'): TransformCall {
  const { pass, ...call } = quickCall(clock, accountId, behaviour);
  const steps = [{ operation: 'blur', params: { sigma: 5 } }];
  return { ...call, bytes: pngOf(2_000, 1_000), pass: { ...pass, steps } };
}

const turn = () => new Promise(setImmediate);

/** Image threads whose CPU time the test decides. */
function openMeasured(t: Test) {
  let cpuMs = 0;
  const reports: Parameters<PoolMeter['recordPoolWorkEnd']>[0][] = [];
  const meter = {
    recordPoolWork: () => {},
    recordPoolWorkEnd: (report: (typeof reports)[0]) => void reports.push(report),
  };
  const opened = openStandIns(
    t,
    { IMAGE_ACCOUNT_SECONDS: 1, IMAGE_QUEUE: 8 },
    { meter, workersCpuMs: () => cpuMs, processCpuMs: () => cpuMs },
  );
  const { workers, clock } = opened;
  return {
    ...opened,
    /** Runs a call in the thread that takes so much wall time, and so much CPU time. */
    async took(call: TransformCall, wallMs: number, ownMs: number, behaviour = 'work') {
      const gate = new Int32Array(new SharedArrayBuffer(4));
      const pass = new GatedPass({ ...call.pass, encode: { background: behaviour } }, gate);
      const work = workers.transform({ ...call, pass });
      await turn();
      cpuMs += ownMs;
      clock.advance(wallMs);
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      await work.ended;
      return work.result;
    },
    /** Lets the workers use CPU time. */
    spend(ownMs: number) {
      cpuMs += ownMs;
    },
    /** Runs a call; answers what was reported of it. */
    async poolOf(call: TransformCall) {
      await workers.transform(call).result;
      return reports.at(-1);
    },
  };
}

t.test('slow passes leave the thread to quick ones, and are killed at their deadline', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_QUEUE: 0 });
  const stuck = workers.transform(slowCall(clock, 'a', 'spin'));
  await turn();
  t.match(workers.stats().slow, { slots: 1, busy: 1 });
  for (let call = 0; call < 5; call += 1) {
    const { queueMs } = await workers.transform(quickCall(clock)).result;
    t.equal(queueMs, 0);
  }
  clock.advance(10_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
  await stuck.ended;
  t.match(workers.stats().slow, { busy: 0, reservedBytes: 0 });
  t.match(await workers.transform(slowCall(clock, 'c')).result, { kind: 'transformed' });
});

t.test('a slow pass yields to quick ones, and less so than items of a batch and heavy passes', async (t) => {
  const { workers, clock } = openStandIns(t);
  const slow = slowCall(clock, 'a', 'priority');
  const heavy = { ...slow, bytes: pngOf(7_000, 7_000) };
  const batch = { ...slow, work: 'job', inBatch: true } as const;
  const niceness: number[] = [];
  for (const call of [slow, batch, heavy]) {
    // A process gets its priority when its first task begins, which may have told the one of the start by then.
    const told: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      const { data } = await workers.transform(call).result;
      told.push(Number(Buffer.from(data).toString()) - getPriority());
    }
    // The last calls may go to a thread, because the first were quick. A thread tells no priority.
    niceness.push(Math.max(...told.filter(Number.isFinite)));
  }
  const [ofSlow = 0, ofBatch = 0, ofHeavy = 0] = niceness;
  t.ok(0 < ofSlow && ofSlow < ofBatch && ofBatch < ofHeavy, String(niceness));
});

t.test('a host whose cores others take makes no pass slow', async (t) => {
  const { clock, poolOf, took } = openMeasured(t);
  for (let call = 0; call < 10; call += 1) await took(quickCall(clock), 5_000, 20);
  t.match(await poolOf(quickCall(clock)), { pool: 'image' }, 'it is quick by its CPU time');
});

t.test('what takes longer than its estimate is moved, and comes back after a few quick ones', async (t) => {
  const { clock, poolOf, took } = openMeasured(t);
  const call = () => ({ ...quickCall(clock), bytes: pngOf(1_200, 1_200) });
  await took(call(), 5_000, 5_000);
  t.match(await poolOf(call()), { pool: 'slow' }, 'one outlier');
  for (let quick = 0; quick < 4; quick += 1) await took(quickCall(clock), 100, 1);
  t.match(await poolOf(call()), { pool: 'image' });
});

t.test('processes report the CPU time of their passes as threads do', async (t) => {
  const { clock, poolOf } = openMeasured(t);
  const [first, ...others] = [slowCall(clock), slowCall(clock), slowCall(clock), slowCall(clock)];
  t.match(await poolOf(first), { pool: 'slow', outcome: 'done', cpuMs: Number });
  for (const call of others) await poolOf(call);
  t.match(await poolOf(slowCall(clock)), { pool: 'image' }, 'the stand-in takes next to nothing');
});

t.test('a pass that one outlier sent to the heavy pool comes back by what it takes there', async (t) => {
  const { workers, clock, poolOf, spend } = openMeasured(t);
  const call = (accountId: string, behaviour?: string) => ({
    ...slowCall(clock, accountId, behaviour),
    bytes: pngOf(2_000, 2_000),
  });
  const outlier = workers.transform(call('a', 'spin'));
  await turn();
  t.match(workers.stats().slow, { busy: 1 });
  spend(10_000);
  clock.advance(10_000);
  await t.rejects(outlier.result, {
    code: 'provider_unavailable',
    details: { reason: 'deadline_exceeded' },
  });
  await outlier.ended;
  for (let quick = 0; quick < 3; quick += 1) {
    const report = await poolOf(call('b'));
    if (quick === 0) t.match(report, { pool: 'heavy', reason: 'estimate', outcome: 'done' });
  }
  t.match(await poolOf(call('b')), { pool: 'slow' });
});

t.test('past its budget an account gives way while others call, and only then', async (t) => {
  const { clock, poolOf, took } = openMeasured(t);
  for (let call = 0; call < 60; call += 1) await took(quickCall(clock, 'greedy'), 20, 20);
  const low = { pool: 'heavy', reason: 'budget' };
  t.match(await poolOf(quickCall(clock, 'greedy')), { pool: 'image' }, 'alone it keeps its thread');
  t.match(await poolOf(quickCall(clock, 'other')), { pool: 'image' });
  t.match(await poolOf(quickCall(clock, 'greedy')), low);
  t.match(await poolOf(quickCall(clock, 'other')), { pool: 'image' }, 'others keep the thread');
  t.match(await poolOf(slowCall(clock, 'greedy')), low);
  clock.advance(1_001);
  t.match(await poolOf(quickCall(clock, 'greedy')), { pool: 'image' }, 'the other one has gone');
  clock.advance(60_000);
  t.match(await poolOf(quickCall(clock, 'other')), { pool: 'image' });
  t.match(await poolOf(quickCall(clock, 'greedy')), { pool: 'image' }, 'a minute later it has a budget');
});

t.test('refused and late work counts, items of jobs do not', async (t) => {
  const { clock, poolOf, took } = openMeasured(t);
  const other = () => poolOf(quickCall(clock, 'other'));
  for (let item = 0; item < 60; item += 1) await took({ ...quickCall(clock, 'worker'), work: 'job' }, 20, 20);
  await other();
  t.match(await poolOf(quickCall(clock, 'worker')), { pool: 'image' });
  await t.rejects(took(quickCall(clock, 'refused'), 1_100, 1_100, 'refuse'), { code: 'invalid_param' });
  await other();
  t.match(await poolOf(quickCall(clock, 'refused')), { pool: 'heavy', reason: 'budget' });
  await t.rejects(took(quickCall(clock, 'late'), 10_000, 1_100), { code: 'provider_unavailable' });
  await other();
  t.match(await poolOf(slowCall(clock, 'late')), { pool: 'heavy', reason: 'budget' });
});

t.test('work that has just met its deadline is not started again for a minute', async (t) => {
  const { workers, clock, poolOf, took } = openMeasured(t);
  const asJob = { op: 'convert', parameters: {} };
  const paramOf = (passParam: string) => passParam;
  const call = () => ({ ...quickCall(clock, 'a', 'work'), paramOf, asJobs: [asJob] });
  const instead = [{ parameters: { effort: 0 } }, { job: asJob }];
  await t.rejects(took(call(), 10_000, 6_000), {
    code: 'provider_unavailable',
    retryAfterSeconds: 60,
    details: { instead },
  });
  clock.advance(20_000);
  await t.rejects(workers.transform(call()).result, {
    code: 'provider_unavailable',
    status: 503,
    retryable: true,
    retryAfterSeconds: 40,
    message: /not started again/,
    details: { reason: 'deadline_exceeded', instead },
  });
  const over = (width: number, height: number) => ({ ...call(), bytes: pngOf(width, height) });
  for (const [width, height] of [
    [1_000, 1_000],
    [400, 330],
  ] as const) {
    const again = workers.transform(over(width, height)).result;
    await t.rejects(again, { message: /not started again/ }, `${width} × ${height}, which is as much`);
  }
  t.match(await poolOf(over(350, 350)), { pool: 'image' }, 'a quarter less');
  t.match(await poolOf({ ...call(), accountId: 'b' }), { pool: 'image' }, 'another account');
  t.match(await poolOf({ ...call(), work: 'job' }), { pool: 'heavy', reason: 'deadline' });
  clock.advance(42_000);
  t.match(await poolOf(call()), { pool: 'image' }, 'a minute has passed');
});

t.test('responses that refuse repeated work are held back to be a second apart, by account', async (t) => {
  const { workers, clock, took } = openMeasured(t);
  const call = (accountId: string) => quickCall(clock, accountId, 'work');
  for (const accountId of ['a', 'b'])
    await t.rejects(took(call(accountId), 10_000, 6_000), { code: 'provider_unavailable' });
  const heldMs = (accountId: string) =>
    workers.transform(call(accountId)).result.catch(({ holdMs }: ApiError) => holdMs);
  const held: unknown[] = [];
  for (const accountId of ['a', 'a', 'a', 'b']) held.push(await heldMs(accountId));
  t.same(held, [0, 1_000, 2_000, 0], 'the first of each is not held back');
  for (let more = 0; more < 5; more += 1) held.push(await heldMs('a'));
  t.same(held.slice(4), [3_000, 4_000, 5_000, 5_000, 5_000], 'none is held back for longer');
  clock.advance(7_000);
  t.equal(await heldMs('a'), 0);
});

t.test('what was late because others had the cores begins again at once', async (t) => {
  const { clock, poolOf, took } = openMeasured(t);
  const call = () => quickCall(clock, 'a', 'work');
  const late = await took(call(), 10_000, 4_000).catch((error) => error);
  t.match(late, {
    code: 'provider_unavailable',
    message: /4\.0 s of it within 10\.0 s/,
    details: { instead: undefined },
  });
  t.ok(late.retryAfterSeconds < 60);
  t.match(await poolOf({ ...call(), bytes: pngOf(401, 400) }), { outcome: 'done' });
});

t.test('a drawing that has just met its deadline is not started again for a minute', async (t) => {
  let cpuMs = 0;
  const { workers, clock } = openStandIns(t, { VECTOR_TIMEOUT_MS: 5_000 }, { processCpuMs: () => cpuMs });
  const endless = '<filter id="f"><feTurbulence baseFrequency="0.01" numOctaves="5000"/></filter>';
  const bomb = `${endless}<rect width="4000" height="4000" filter="url(#f)"/>`;
  const draw = (svg: string) =>
    workers.transform({ ...quickCall(clock, 'a'), bytes: svgOf(4_000, 4_000, svg) }).result;
  for (const [usedMs, message] of [
    [2_000, /not done in time, because other work had the processor/],
    [4_000, /not done in time, and the work itself/],
  ] as const) {
    const late = draw(bomb);
    await clock.nextTimer();
    cpuMs += usedMs;
    clock.advance(5_000);
    await t.rejects(late, { message });
  }
  await t.rejects(draw(bomb), { retryAfterSeconds: 60, message: /not started again/ });
  t.match(await draw('<rect width="9" height="9"/>'), { kind: 'transformed' }, 'another drawing');
});
