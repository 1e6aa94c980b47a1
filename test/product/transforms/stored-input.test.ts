// needs: server

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import { openTestStores, startServer } from '../../support/harness.ts';
import { pictureOf, pngOf, refusalOf } from './calls.ts';

const directory = await mkdtemp(join(tmpdir(), 'darkroom-stored-input-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));
const stores = await openTestStores(directory, () => new Date());
let reads = 0;
let isGone = false;
const objects = new Proxy(stores.objects, {
  get(target, name) {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== 'function') return method;
    return (...args: unknown[]) => {
      if (name === 'read') reads += 1;
      if (name === 'read' && isGone) return Promise.resolve(null);
      return method.apply(target, args);
    };
  },
});
const settings = { IMAGE_THREADS: '1', IMAGE_QUEUE: '3', SYNC_CALLS_PER_ACCOUNT: '20' };
const server = await startServer(t, { stores: { ...stores, objects }, settings });
t.teardown(() => stores.close());
const account = await server.account({ plan: 'scale' });
const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
const slow = await pngOf(
  sharp({ create: { width: 1200, height: 900, channels: 3, background: '#888', noise } }),
);
const small = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));

async function uploaded(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { json } = await server.call('/assets/upload', { key: account.key, body: bytes, type: 'image/png' });
  return json.data.id;
}

const transform = (assetId: string, query: string) =>
  server.call(`/images/transform?${query}`, { key: account.key, json: { assetId } });

/** Waits until so many calls wait for the process of slow passes. */
async function untilWaiting(count: number): Promise<void> {
  for (let looks = 0; looks < 500; looks += 1) {
    const { bytes } = await server.call('//metrics');
    const line = bytes.toString().match(/^darkroom_pool_queued\{[^}]*"slow"[^}]*\} (\d+)/m);
    if (Number(line?.[1]) === count) return;
    await pause(5);
  }
  throw new Error(`Never did ${count} calls wait.`);
}

t.test(
  'an asset is read when its call has its turn: what waits holds no bytes, a refused call reads nothing',
  async (t) => {
    const id = await uploaded(slow);
    const slowly = (width: number) => transform(id, `op=resize&width=${width}&format=webp&effort=9`);
    reads = 0;
    const working = slowly(1_200);
    while (reads === 0) await pause(1);
    const waiting = [1_199, 1_198, 1_197].map(slowly);
    await untilWaiting(3);
    t.equal(reads, 2, 'of the three that wait, the next one alone has read its asset');
    const refused = await slowly(1_196);
    t.match(refusalOf(refused), { status: 503, details: { reason: 'capacity' } });
    t.ok(Number(refused.headers.get('retry-after')) >= 1);
    t.equal(reads, 2);
    t.equal((await working).status, 200);
    const widths = (await Promise.all((await Promise.all(waiting)).map(pictureOf))).map(({ width }) => width);
    t.same(widths, [1_199, 1_198, 1_197]);
    t.equal(reads, 4);
  },
);

t.test('an asset whose bytes are gone is refused in its turn, and the thread goes on', async (t) => {
  const id = await uploaded(
    await pngOf(sharp({ create: { width: 9, height: 9, channels: 3, background: '#123' } })),
  );
  isGone = true;
  const answer = await transform(id, 'op=flip');
  isGone = false;
  t.match(refusalOf(answer), { status: 503, details: { reason: 'storage_read' } });
  t.equal((await transform(id, 'op=flip&format=png')).status, 200);
});

t.test('a stored drawing is drawn, and a stored picture described, as their bytes are', async (t) => {
  const svg = new TextEncoder().encode(
    '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="30" height="20" fill="#0a0"/></svg>',
  );
  const { json } = await server.call('/assets/upload', {
    key: account.key,
    body: svg,
    type: 'image/svg+xml',
  });
  const drawn = await pictureOf(await transform(json.data.id, 'op=convert&format=png'));
  t.same([drawn.width, drawn.height, drawn.at(5, 5)], [30, 20, [0, 170, 0, 255]]);
  for (const [assetId, body, type] of [
    [json.data.id, svg, 'image/svg+xml'],
    [await uploaded(small), small, 'image/png'],
  ] as const) {
    const stored = await server.call('/images/metadata', { key: account.key, json: { assetId } });
    const sent = await server.call('/images/metadata', { key: account.key, body, type });
    t.same(stored.json.data.image, sent.json.data.image);
    t.same(stored.json.data.metadata, sent.json.data.metadata);
  }
});
