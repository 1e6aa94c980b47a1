// needs: pixels
import { Piscina } from 'piscina';
import t from 'tap';
import type { ImageTask, ImageTaskResult } from '../../../workers/protocol.ts';
import { drawn, passOf } from './passes.ts';

const pool = new Piscina<ImageTask, ImageTaskResult>({
  filename: new URL('../../../workers/image/perform.ts', import.meta.url).href,
  minThreads: 1,
  maxThreads: 1,
});
t.teardown(() => pool.destroy());

const deadlineMs = Date.now() + 60_000;

t.test('a pass crosses to the thread and back; its bytes are moved both ways', async (t) => {
  const input = new Uint8Array(await drawn(16, 8, () => [255, 0, 0]));
  const pass = passOf([['rotate', { angle: 90 }]], { format: 'webp' });
  const result = await pool.run(
    { kind: 'transform', input, pass, deadlineMs },
    { transferList: [input.buffer] },
  );
  t.match(result, { kind: 'transformed', contentType: 'image/webp', width: 8, height: 16 });
  t.equal(input.byteLength, 0, 'the input is gone');
  if (result.kind === 'transformed') {
    t.equal(result.data.byteLength, result.data.buffer.byteLength, 'the result owns its whole buffer');
    t.ok(result.timings.processMs > 0);
  }
});

t.test('failures are answers', async (t) => {
  const input = new Uint8Array(9);
  const failed = await pool.run({ kind: 'transform', input, pass: passOf([]), deadlineMs });
  t.match(failed, { kind: 'failure', code: 'unsupported_format' });
  const refused = await pool.run({
    kind: 'transform',
    input: new Uint8Array(await drawn(4, 4, () => [0, 0, 0])),
    pass: passOf([['resize', {}]]),
    deadlineMs,
  });
  t.match(refused, { kind: 'failure', code: 'invalid_param', param: 'steps[0].params.width' });
});

t.test('describe is answered by the same thread', async (t) => {
  const input = new Uint8Array(await drawn(4, 6, () => [0, 0, 255]));
  t.match(await pool.run({ kind: 'describe', input, deadlineMs }), {
    kind: 'described',
    image: { width: 4, height: 6 },
  });
});
