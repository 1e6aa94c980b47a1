// needs: server, both stores
import sharp from 'sharp';
import t from 'tap';
import { manualClock } from '../../support/clock.ts';
import { startServer } from '../../support/harness.ts';
import { pngOf } from './calls.ts';

const DEADLINE_MS = 60_000;
const clock = manualClock(Date.now());
const worked = Promise.withResolvers<void>();
/** Two processes of one deployment: the work of the first never ends, and the work of the second takes no time. */
const first = await startServer(t, {
  settings: { TRANSFORM_TIMEOUT_MS: String(DEADLINE_MS) },
  imageWork: {
    clock,
    processFile: new URL('./endless-process.ts', import.meta.url),
    processCpuMs() {
      worked.resolve();
      return clock.nowMs();
    },
  },
});
const second = await startServer(t, {
  stores: first.stores,
  imageWork: {
    clock: manualClock(),
    processFile: new URL('../../imaging/images/stand-in-process.ts', import.meta.url),
  },
});
/** A picture whose work may take several seconds. */
const body = await pngOf(sharp({ create: { width: 5_000, height: 5_000, channels: 3, background: 'teal' } }));
const account = await first.account();

function transform(server: typeof first, { key } = account) {
  return server.call('/images/transform?op=median&size=25', { method: 'POST', key, body, type: 'image/png' });
}

t.test('what has met its deadline in one process is not started again in any', async (t) => {
  t.equal((await transform(second)).status, 200, 'nothing was late yet');
  const late = transform(first);
  await worked.promise;
  // The work of a call begins in the same turn as that of its process.
  await new Promise(setImmediate);
  clock.advance(2 * DEADLINE_MS);
  t.match((await late).json.error.message, /the work itself took that time/);
  t.match((await transform(first)).json.error.message, /not started again/);
  let elsewhere = await transform(second);
  while (elsewhere.status === 200) elsewhere = await transform(second);
  t.match(elsewhere.json.error.message, /not started again/);
  t.equal((await transform(second, await second.account())).status, 200, 'the work of others is');
});
