// needs: pixels

import t from 'tap';
import type { TransformCall } from '../../../src/imaging/images/image-call.ts';
import { performImageTask } from '../../../workers/image/perform.ts';
import type { ImagePass, OperationStep, OutputFormat } from '../../../workers/protocol.ts';
import type { ManualClock } from '../../support/clock.ts';
import { image, needsImages } from '../../support/images.ts';
import { pngOf } from './files.ts';
import { GatedPass } from './gated-pass.ts';
import { openStandIns } from './stand-ins.ts';

const SHARPEN: OperationStep = { operation: 'sharpen', params: { sigma: 2 } };

/** A call whose answer's width is the number of threads that libvips may use for it. */
function callOf(
  clock: ManualClock,
  steps: OperationStep[],
  encode: ImagePass['encode'] = {},
  bytes = pngOf(2_000, 1_000),
) {
  const pass = { decode: {}, steps, encode: { ...encode, background: 'threads' } };
  return { bytes, accountId: 'acc', deadlineMs: clock.nowMs() + 10_000, pass } satisfies TransformCall;
}

t.test('a pass that is alone has a second thread where its steps gain by it', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_THREADS: 2 });
  const threadsOf = async (call: TransformCall) => (await workers.transform(call).result).width;
  const resize = (width: number): OperationStep => ({ operation: 'resize', params: { width } });

  t.equal(await threadsOf(callOf(clock, [SHARPEN])), 2);
  t.equal(await threadsOf(callOf(clock, [resize(1_900)])), 2, 'a large picture that is scaled');
  t.equal(await threadsOf(callOf(clock, [resize(64)])), 1, 'the decoder does most of the work');
  t.equal(await threadsOf(callOf(clock, [])), 1, 'no steps');
  t.equal(await threadsOf(callOf(clock, [SHARPEN], {}, pngOf(200, 100))), 1, 'a small picture');
  t.equal(await threadsOf(callOf(clock, [SHARPEN], { format: 'avif' })), 1, 'its bytes would differ');
});

t.test('a pass beside another one has one thread', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_THREADS: 2 });
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const held = callOf(clock, []);
  const pass = new GatedPass({ ...held.pass, encode: { background: 'work' } }, gate);
  const other = workers.transform({ ...held, pass }).result;
  const { width } = await workers.transform(callOf(clock, [SHARPEN])).result;
  t.equal(width, 1);
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  await other;
});

t.test('a service of one thread in all has no second one', async (t) => {
  const { workers, clock } = openStandIns(t, { IMAGE_THREADS: 1 });
  t.equal((await workers.transform(callOf(clock, [SHARPEN])).result).width, 1);
});

t.test('the result is the same with one thread and with two', needsImages(t), async (t) => {
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'tiff'] as const) {
    const one = await sharpened(format, 1);
    t.ok(Buffer.from(await sharpened(format, 2)).equals(one), format);
  }
});

async function sharpened(format: OutputFormat, threads: number): Promise<Uint8Array> {
  const pass = { decode: {}, steps: [SHARPEN], encode: { format } };
  const deadlineMs = Date.now() + 60_000;
  const input = image('photos/kodak-1.png');
  const result = await performImageTask({ kind: 'transform', input, pass, threads, deadlineMs });
  if (result.kind !== 'transformed') throw new Error(`The pass ended as ${JSON.stringify(result)}.`);
  return result.data;
}
