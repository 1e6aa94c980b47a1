// needs: server
import { crc32 } from 'node:zlib';
import t from 'tap';
import { ASSETS_COLLECTION } from '../../../src/product/assets/store.ts';
import { startServer } from '../../support/harness.ts';
import { type Hook, hookedStores, type StoreCall } from './hooked-stores.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

interface StoredAsset {
  _id: string;
  jobId: string | null;
  crc32?: number;
}

let hook: Hook = () => undefined;
const first = await startServer(t);
const server = await startServer(t, { stores: hookedStores(first.stores, (call) => hook(call)) });
// Only the one with the hook works.
await first.drain(0);
const account = await server.account();
const { key } = account;
const assetIds = await uploadPictures(server, account, 3);
const assets = first.stores.documents.collection<StoredAsset>(ASSETS_COLLECTION);

const { json } = await submit(server, key, { op: 'flip', assetIds });
const jobId: string = json.data.id;
await ended(server, key, jobId);
const path = `/jobs/${jobId}/results.zip`;
const link = await linkOf();

async function linkOf(): Promise<string> {
  const { url } = (await server.call(`/jobs/${jobId}/results/link`, { key })).json.data as { url: string };
  return `//${new URL(url).pathname.slice(1)}${new URL(url).search}`;
}

const isDownload = ({ of, method }: StoreCall) => of === 'objects' && method === 'get';

/** Holds every reading of a stored file until it is released. */
function heldReadings() {
  const released = Promise.withResolvers<void>();
  let waiting = 0;
  let noteReached = () => {};
  hook = (call) => {
    if (!isDownload(call)) return undefined;
    waiting += 1;
    noteReached();
    return released.promise.then(call.run);
  };
  return {
    async reached(count: number) {
      while (waiting < count) await new Promise<void>((resolve) => (noteReached = resolve));
    },
    release: released.resolve,
  };
}

t.test('a range of an archive opens only the files that it touches, at an offset', async (t) => {
  const ranges: Array<{ start: number; end: number }> = [];
  hook = (call) => {
    if (isDownload(call)) ranges.push(JSON.parse(call.text)[1]);
    return undefined;
  };
  const whole = await server.call(path, { key });
  t.equal(ranges.length, 3);
  for (const range of ['bytes=0-0', 'bytes=-1', 'bytes=-22']) {
    ranges.length = 0;
    const part = await server.call(path, { key, headers: { range } });
    t.equal(part.status, 206, range);
    t.same(ranges, [], `${range} opens no file`);
  }
  ranges.length = 0;
  // The local header has 39 bytes and the name.
  const part = await server.call(path, { key, headers: { range: 'bytes=60-69' } });
  t.same(part.bytes, whole.bytes.subarray(60, 70));
  t.equal(ranges.length, 1);
  t.equal((ranges[0]?.end ?? 0) - (ranges[0]?.start ?? 0), 9, 'ten bytes are read for ten');
  ranges.length = 0;
  const head = await server.call(path, { key, method: 'HEAD' });
  t.same(
    [head.headers.get('content-length'), head.headers.get('etag')],
    [String(whole.bytes.length), whole.headers.get('etag')],
  );
  t.same(ranges, [], 'HEAD opens no file');
});

t.test('an account has two downloads at a time, one of them by a link', async (t) => {
  const readings = heldReadings();
  const byLink = server.call(link);
  await readings.reached(1);
  const secondLink = await server.call(link);
  t.equal(secondLink.status, 429);
  t.match(secondLink.json.error, {
    code: 'rate_limited',
    retryable: true,
    details: { reason: 'account_concurrency', limit: 1 },
  });
  t.ok(Number(secondLink.headers.get('retry-after')) >= 1);
  t.equal(secondLink.headers.get('etag'), null);
  const byKey = server.call(path, { key });
  await readings.reached(2);
  const third = await server.call(path, { key });
  t.match(
    [third.status, third.json.error.details],
    [429, { reason: 'account_concurrency', limit: 2 }],
    'links count among them',
  );
  t.equal((await server.call(path, { key, method: 'HEAD' })).status, 200, 'HEAD takes no slot');
  t.equal((await server.call('/account', { key })).status, 200, 'nor does any other call');
  hook = () => undefined;
  readings.release();
  t.equal((await byLink).status, 200);
  t.same((await byLink).bytes, (await byKey).bytes);
  const next = await Promise.all([server.call(link), server.call(path, { key })]);
  t.same(
    next.map(({ status }) => status),
    [200, 200],
    'the slots are free again',
  );
});

t.test('links leave a download to the account, and the account leaves none to links', async (t) => {
  const readings = heldReadings();
  const downloads = [server.call(path, { key }), server.call(path, { key })];
  await readings.reached(2);
  t.equal((await server.call(link)).status, 429);
  hook = () => undefined;
  readings.release();
  for (const { status } of await Promise.all(downloads)) t.equal(status, 200);
});

t.test('a client that goes away frees its slot, and no further file is opened', async (t) => {
  const readings = heldReadings();
  const gone = new AbortController();
  const address = `${server.url}/api/v1${path}`;
  const headers = { authorization: `ApiKey ${key}` };
  const broken = [1, 2].map(() => fetch(address, { headers, signal: gone.signal }).catch(() => null));
  await readings.reached(2);
  gone.abort();
  await Promise.all(broken);
  let opened = 0;
  hook = (call) => {
    if (isDownload(call)) opened += 1;
    return undefined;
  };
  let answer = await server.call(link);
  while (answer.status === 429) answer = await server.call(link);
  t.equal(answer.status, 200, 'though the readings for the first two have not ended');
  readings.release();
  await server.call(path, { key });
  t.equal(opened, 6, 'by the two new downloads alone');
});

t.test('pictures have their sum from the first moment', async (t) => {
  const stored = await assets.find({ jobId });
  t.equal(stored.length, 3);
  for (const { _id, crc32: kept } of stored) {
    const { bytes } = await server.call(`/assets/${_id}/content`, { key });
    t.equal(kept, crc32(bytes));
  }
});

t.test('uploads have their sum from the first moment', async (t) => {
  for (const _id of assetIds) {
    const { bytes } = await server.call(`/assets/${_id}/content`, { key });
    t.equal((await assets.findOne({ _id }))?.crc32, crc32(bytes));
  }
});
