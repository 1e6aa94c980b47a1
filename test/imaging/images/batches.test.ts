// needs: pixels
import { getPriority } from 'node:os';
import t from 'tap';
import type { TransformCall } from '../../../src/imaging/images/image-call.ts';
import { Readers } from '../../../src/imaging/readers/readers.ts';
import type { PassSegment } from '../../../src/product/jobs/plan.ts';
import { createPassWork } from '../../../src/product/jobs/work/pass.ts';
import type { ItemCall } from '../../../src/product/jobs/work/perform.ts';
import type { ManualClock } from '../../support/clock.ts';
import { pngOf } from './files.ts';
import { openStandIns } from './stand-ins.ts';

function callOf(clock: ManualClock, behaviour = 'answer'): TransformCall {
  return {
    bytes: pngOf(1, 1),
    accountId: 'caller',
    deadlineMs: clock.nowMs() + 10_000,
    pass: { decode: {}, steps: [], encode: { background: behaviour } },
  };
}

/** An item of a large job. */
function itemOf(clock: ManualClock, behaviour = 'answer'): TransformCall {
  return { ...callOf(clock, behaviour), accountId: 'batch', work: 'job', inBatch: true };
}

/** A PNG, as far as its header goes, of so many bytes. */
function fileOf(sizeBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizeBytes).map((_, index) => (index * 31) % 251);
  bytes.set(pngOf(1, 1).subarray(0, sizeBytes));
  return bytes;
}

const turn = () => new Promise(setImmediate);

/** The stand-in process says so; the stand-in thread answers with its input. */
const ranInProcess = (data: Uint8Array) => Buffer.from(data).toString() === 'done';

t.test('an item of a large job leaves the cores to calls, and less so than a heavy pass', async (t) => {
  const { workers, clock } = openStandIns(t);
  const nicenessOf = async (call: TransformCall) => {
    // A process gets its priority when its first task begins, which may have told it already.
    await workers.transform(call).result;
    const { data } = await workers.transform(call).result;
    return Number(Buffer.from(data).toString()) - getPriority();
  };
  const item = itemOf(clock, 'priority');
  const encode = { ...item.pass.encode, format: 'avif', lossless: true } as const;
  const heavy = { ...item, bytes: pngOf(7_000, 7_000), pass: { ...item.pass, encode } };
  const niceness = await nicenessOf(item);
  t.ok(niceness > 0);
  t.ok(niceness < (await nicenessOf(heavy)), 'a heavy pass of a large job runs as any heavy pass');
});

t.test('an item that waits is given up at once, and one that runs is not', async (t) => {
  const { workers, clock } = openStandIns(t);
  const stop = new AbortController();
  const { signal: waitSignal } = stop;
  const running = workers.transform({ ...itemOf(clock, 'spin'), waitSignal });
  const waiting = workers.transform({ ...itemOf(clock), waitSignal });
  await turn();
  t.match(workers.stats().batch, { busy: 1, jobsWaiting: 1 });
  stop.abort(new Error('The job is being cancelled.'));
  await t.rejects(waiting.result, { message: 'The job is being cancelled.' });
  t.match(workers.stats().batch, { busy: 1, jobsWaiting: 0 });
  const another = workers.transform({ ...itemOf(clock), waitSignal });
  await t.rejects(another.result, { message: 'The job is being cancelled.' }, 'nor does another one begin');
  clock.advance(10_000);
  const late = { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } };
  await t.rejects(running.result, late, 'it had all of its time');
});

t.test('calls and small jobs find their thread free while a batch has its slot', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_QUEUE: 0 });
  const stuck = workers.transform({ ...itemOf(clock, 'spin'), deadlineMs: clock.nowMs() + 60_000 });
  const next = workers.transform(itemOf(clock));
  await turn();
  t.match(workers.stats().batch, { slots: 1, busy: 1 });
  for (const work of ['call', 'job'] as const) {
    const { data, queueMs } = await workers.transform({ ...callOf(clock), work }).result;
    t.notOk(ranInProcess(data));
    t.equal(queueMs, 0);
  }
  t.match(workers.stats().quick, { busy: 0, waiting: 0 });
  clock.advance(60_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
  const { data, queueMs } = await next.result;
  t.ok(ranInProcess(data), 'the next item has a process again');
  t.equal(queueMs, 60_000, 'an item waits without end');
});

t.test('an operator who changes the number of threads changes the slots of a batch', async (t) => {
  const { workers, clock, capacity } = openStandIns(t);
  capacity.set('IMAGE_THREADS', 2);
  const stuck = [1, 2].map(() => workers.transform(itemOf(clock, 'spin')));
  await turn();
  t.match(workers.stats().batch, { slots: 2, busy: 2, waiting: 0 });
  clock.advance(10_000);
  for (const { result } of stuck)
    await t.rejects(result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
});

t.test('items run in a child process from a job of 20 items on; a small job needs no process', async (t) => {
  const { workers } = openStandIns(t);
  const ran = createPassWork({
    imageWorkers: workers,
    readers: new Readers(workers),
    assets: {} as Parameters<typeof createPassWork>[0]['assets'],
    meters: { ops: { recordRun: () => undefined } },
    fonts: { findWarnings: async () => [] },
  });
  const segment = { index: 0, layers: [], pass: { decode: {}, steps: [], encode: {} } };
  const isolated = async (totalItems: number) => {
    const job = { accountId: 'batch', totalItems };
    const call = { job, item: { variant: 0 }, definition: { variants: [] } };
    const made = await ran(
      call as unknown as ItemCall,
      segment as unknown as PassSegment,
      new Uint8Array(pngOf(1, 1)),
    );
    return made.kind === 'image' && ranInProcess(made.bytes);
  };
  t.equal(await isolated(1), false);
  t.equal(await isolated(19), false);
  t.equal(await isolated(20), true);
  t.equal(await isolated(10_000), true);
});

t.test('files of any size reach a process whole, one after the other', async (t) => {
  const { workers, clock } = openStandIns(t);
  for (const sizeBytes of [5_000_001, 70, 65_536, 1_000_000]) {
    const bytes = fileOf(sizeBytes);
    const { data } = await workers.transform({ ...itemOf(clock, 'echo'), bytes: bytes.slice() }).result;
    t.equal(data.length, sizeBytes);
    t.ok(Buffer.from(bytes).equals(data));
  }
});

t.test('a process that dies while a large file is on its way is replaced', async (t) => {
  const { workers, clock } = openStandIns(t);
  const dying = workers.transform({ ...itemOf(clock, 'die'), bytes: fileOf(5_000_000) });
  await t.rejects(dying.result, { code: 'unsupported_format' });
  const stuck = workers.transform({ ...itemOf(clock, 'spin'), bytes: fileOf(5_000_000) });
  for (let look = 0; look < 100 && workers.stats().batch.busy === 0; look += 1) await turn();
  clock.advance(10_000);
  await t.rejects(stuck.result, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
  await stuck.ended;
  t.ok(ranInProcess((await workers.transform(itemOf(clock)).result).data));
});
