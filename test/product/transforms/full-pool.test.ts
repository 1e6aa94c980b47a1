// needs: server
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import type { TestServer } from '../../support/harness.ts';
import { type Calls, openCalls, pngOf, refusalOf } from './calls.ts';

const png = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));
/** Large enough for a pass that may take long. */
const large = await pngOf(sharp({ create: { width: 1600, height: 1200, channels: 3, background: '#888' } }));
const LONG_PASS = { op: 'convert', format: 'avif', effort: '9' };
const MAX_POLLS = 1_000;
const POLL_MS = 10;

/** A server with one slot for passes that may take long, whose work goes on until its client leaves. */
function openOneSlot(t: Test, settings: Record<string, string>): Promise<Calls> {
  const processFile = new URL('./endless-process.ts', import.meta.url);
  return openCalls(t, { IMAGE_HEAVY_SLOTS: '1', ...settings }, { imageWork: { processFile } });
}

/** A call whose pass goes on until its client leaves. */
function longCall({ url }: TestServer, key: string): { leave(): Promise<unknown> } {
  const leaving = new AbortController();
  const ended = fetch(`${url}/api/v1/images/transform?${new URLSearchParams(LONG_PASS)}`, {
    method: 'POST',
    body: large,
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'image/png' },
    signal: leaving.signal,
  }).then(
    ({ status }) => status,
    () => 'gone',
  );
  return {
    leave() {
      leaving.abort();
      return ended;
    },
  };
}

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
  for (let looks = 1; value !== wanted && looks < MAX_POLLS; looks += 1) {
    await pause(POLL_MS);
    value = await gauge(server, name);
  }
  return value;
}

t.test('a full worker says so at once, and queued work of a client that left is dropped', async (t) => {
  const calls = await openOneSlot(t, { IMAGE_QUEUE: '1' });
  const { server } = calls;
  const [first, second, third] = [await server.account(), await server.account(), await server.account()];
  const slow = longCall(server, first.key);
  t.equal(await untilGauge(server, 'busy', 1), 1, 'the worker is busy');
  const queued = longCall(server, second.key);
  t.equal(await untilGauge(server, 'queued', 1), 1, 'one call waits');

  const refused = await calls.transform(LONG_PASS, large, 'image/png', third.key);
  t.match(refusalOf(refused), {
    status: 503,
    code: 'provider_unavailable',
    retryable: true,
    details: { reason: 'capacity' },
  });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);

  t.equal(await queued.leave(), 'gone');
  t.equal(await untilGauge(server, 'queued', 0), 0, 'nobody waits any more');
  t.equal(await gauge(server, 'busy'), 1, 'while the worker is still busy');
  t.equal(await slow.leave(), 'gone');
});

t.test('without a queue a second call is refused while the first is at work', async (t) => {
  const calls = await openOneSlot(t, { IMAGE_QUEUE: '0' });
  const other = await calls.server.account();
  const slow = longCall(calls.server, calls.key);
  await untilGauge(calls.server, 'busy', 1);
  const refused = await calls.transform(LONG_PASS, large, 'image/png', other.key);
  t.match(refusalOf(refused), { status: 503, details: { reason: 'capacity' } });
  t.equal(await slow.leave(), 'gone');
  t.equal(await untilGauge(calls.server, 'busy', 0), 0, 'the work ends with its client');
  t.equal(
    (await calls.transform({ op: 'flip' }, png, 'image/png', other.key)).status,
    200,
    'and then it is not',
  );
});
