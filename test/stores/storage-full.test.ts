// needs: server
import sharp from 'sharp';
import t from 'tap';
import { StorageFullError } from '../../src/stores/documents/port.ts';
import type { Objects } from '../../src/stores/objects/port.ts';
import { createReserve } from '../../src/stores/objects/reserve.ts';
import { startServer } from '../harness.ts';

const GIGABYTE = 2 ** 30;

t.test('a disk is full when less is free than the reserve, of a small disk than a tenth', async (t) => {
  const rows: Array<[freeGb: number, totalGb: number, isFull: boolean]> = [
    [5, 100, false],
    [2, 100, false],
    [1.9, 100, true],
    [0, 100, true],
    [1, 10, false],
    [0.9, 10, true],
  ];
  for (const [freeGb, totalGb, isFull] of rows) {
    const space = { freeBytes: freeGb * GIGABYTE, totalBytes: totalGb * GIGABYTE };
    const check = createReserve(2 * GIGABYTE, async () => space).check();
    const name = `${freeGb} of ${totalGb} GB`;
    if (isFull) await t.rejects(check, { name: 'StorageFullError' }, name);
    else await t.resolves(check, name);
  }
});

t.test(
  'what was written since the last look counts: a second of uploads takes nothing of the reserve',
  async (t) => {
    const space = { freeBytes: 3 * GIGABYTE, totalBytes: 100 * GIGABYTE };
    const reserve = createReserve(2 * GIGABYTE, async () => space);
    await reserve.check();
    reserve.spend(GIGABYTE);
    await t.resolves(reserve.check());
    reserve.spend(1);
    await t.rejects(reserve.check(), { name: 'StorageFullError' });
  },
);

t.test('a full disk takes no upload, and lets everything else go on', async (t) => {
  const roomy = await startServer(t);
  const { key } = await roomy.account();
  const upload = async (server: typeof roomy, background: string) => {
    const picture = sharp({ create: { width: 8, height: 8, channels: 3, background } }).png();
    const body = new Uint8Array(await picture.toBuffer());
    return server.call('/assets/upload', { key, body, type: 'image/png' });
  };
  const { id } = (await upload(roomy, 'red')).json.data;

  const full = await startServer(t, {
    stores: { ...roomy.stores, objects: withoutRoom(roomy.stores.objects) },
  });
  const refused = await upload(full, 'blue');
  t.equal(refused.status, 500);
  t.match(refused.json.error, {
    code: 'internal_error',
    retryable: true,
    details: { reason: 'storage_full' },
  });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  const ready = await full.call('//readyz');
  t.equal(ready.status, 200);
  t.match(ready.json.remarks.join(), /uploads are refused/);
  t.equal((await full.call(`/assets/${id}/content`, { key })).status, 200);
  t.equal((await full.call(`/assets/${id}`, { key, method: 'DELETE' })).status, 204);
  t.equal(
    (await full.call('/account', { key })).json.data.assets.stored,
    0,
    'and nothing is left of the upload',
  );
});

/** The same objects on a disk that is filled up to its reserve. */
function withoutRoom(objects: Objects): Objects {
  const refuse = () => Promise.reject(new StorageFullError('The disk is full.'));
  return {
    put: refuse,
    checkRoom: refuse,
    get: (key, range) => objects.get(key, range),
    read: (key, limitBytes) => objects.read(key, limitBytes),
    delete: (key) => objects.delete(key),
    listOlder: (prefix, beforeMs, limit) => objects.listOlder(prefix, beforeMs, limit),
    ping: () => objects.ping(),
    close: async () => {},
  };
}
