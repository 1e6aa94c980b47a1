// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { TestServer } from '../../support/harness.ts';
import { openCalls, pngOf, refusalOf } from './calls.ts';

const png = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));
/** Enough noise to keep an AVIF encoder at work for seconds. */
const busywork = await pngOf(
  sharp({
    create: {
      width: 1600,
      height: 1200,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  }),
);
/** A pass that goes on longer than a test needs it ends at the deadline. */
const ONE_SLOT = { IMAGE_HEAVY_SLOTS: '1', TRANSFORM_TIMEOUT_MS: '12000' };
const LONG_PASS = { op: 'convert', format: 'avif', effort: '9' };
const MAX_POLLS = 300;

/** What a gauge of the passes that may take long says. */
async function gauge(server: TestServer, name: string): Promise<number> {
  const { bytes } = await server.call('//metrics');
  const line = bytes
    .toString()
    .split('\n')
    .find((text) => text.startsWith(`darkroom_pool_${name}{`) && text.includes('"heavy"'));
  return Number(line?.split(' ').at(-1));
}

async function untilGauge(server: TestServer, name: string, wanted: number): Promise<number> {
  let value = await gauge(server, name);
  for (let looks = 1; value !== wanted && looks < MAX_POLLS; looks += 1) value = await gauge(server, name);
  return value;
}

t.test('a full worker says so at once, and queued work of a client that left is dropped', async (t) => {
  const calls = await openCalls(t, { ...ONE_SLOT, IMAGE_QUEUE: '1' });
  const { server } = calls;
  const [first, second, third] = [await server.account(), await server.account(), await server.account()];
  const slow = calls.transform(LONG_PASS, busywork, 'image/png', first.key);
  t.equal(await untilGauge(server, 'busy', 1), 1, 'the worker is busy');

  const leaving = new AbortController();
  const queued = fetch(`${server.url}/api/v1/images/transform?${new URLSearchParams(LONG_PASS)}`, {
    method: 'POST',
    body: busywork,
    headers: { authorization: `ApiKey ${second.key}`, 'content-type': 'image/png' },
    signal: leaving.signal,
  }).catch(() => 'gone');
  t.equal(await untilGauge(server, 'queued', 1), 1, 'one call waits');

  const refused = await calls.transform(LONG_PASS, busywork, 'image/png', third.key);
  t.match(refusalOf(refused), {
    status: 503,
    code: 'provider_unavailable',
    retryable: true,
    details: { reason: 'capacity' },
  });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);

  leaving.abort();
  t.equal(await queued, 'gone');
  t.equal(await untilGauge(server, 'queued', 0), 0, 'nobody waits any more');
  t.equal(await gauge(server, 'busy'), 1, 'while the worker is still busy');
  t.match((await slow).status, /^(200|503)$/);
});

t.test('without a queue a second call is refused while the first is at work', async (t) => {
  const calls = await openCalls(t, { ...ONE_SLOT, IMAGE_QUEUE: '0' });
  const other = await calls.server.account();
  const slow = calls.transform(LONG_PASS, busywork);
  await untilGauge(calls.server, 'busy', 1);
  const refused = await calls.transform(LONG_PASS, busywork, 'image/png', other.key);
  t.match(refusalOf(refused), { status: 503, details: { reason: 'capacity' } });
  t.match((await slow).status, /^(200|503)$/);
  t.equal(
    (await calls.transform({ op: 'flip' }, png, 'image/png', other.key)).status,
    200,
    'and then it is not',
  );
});
