// needs: server
import sharp from 'sharp';
import t from 'tap';
import { StorageFullError } from '../../../src/platform/stores/documents/port.ts';
import type { ObjectStore } from '../../../src/platform/stores/objects/port.ts';
import { DiskReserve } from '../../../src/platform/stores/objects/reserve.ts';
import { startServer } from '../../support/harness.ts';

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
    const check = new DiskReserve(2 * GIGABYTE, async () => space).check();
    const name = `${freeGb} of ${totalGb} GB`;
    if (isFull) await t.rejects(check, { name: 'StorageFullError' }, name);
    else await t.resolves(check, name);
  }
});

t.test(
  'what was written since the last look counts: a second of uploads takes nothing of the reserve',
  async (t) => {
    const space = { freeBytes: 3 * GIGABYTE, totalBytes: 100 * GIGABYTE };
    const reserve = new DiskReserve(2 * GIGABYTE, async () => space);
    await reserve.check();
    reserve.spend(GIGABYTE);
    await t.resolves(reserve.check());
    reserve.spend(1);
    await t.rejects(reserve.check(), { name: 'StorageFullError' });
  },
);

t.test('a full disk takes no upload, and lets everything else go on', async (t) => {
  const roomy = await startServer(t);
  const { key } = await roomy.account({ plan: 'free', credits: 100 });
  const upload = async (server: typeof roomy, background: string) => {
    const picture = sharp({ create: { width: 8, height: 8, channels: 3, background } }).png();
    const body = new Uint8Array(await picture.toBuffer());
    return server.call('/assets/upload', { key, body, type: 'image/png' });
  };
  const { id } = (await upload(roomy, 'red')).json.data;
  const preset = { name: 'Grey', slug: 'grey', steps: [{ op: 'grayscale' }] };
  const template = { name: 'Card', slug: 'card', html: '<p>Hi</p>', width: 10, height: 10 };
  const job = { op: 'flip', assetIds: [id] };
  t.equal((await roomy.call('/presets', { key, json: preset })).status, 201);
  const made = await roomy.call('/templates', { key, json: template });
  t.equal(made.status, 201);
  const refusedByModel = {
    op: 'generate',
    model: 'sandbox-image-draft',
    prompt: '[sandbox:reject]',
    wait: 60,
  };
  const { json: ended } = await roomy.call('/jobs', { key, json: refusedByModel });
  t.equal(ended.data.status, 'FAILED');

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
  const failed = `/jobs/${ended.data.id}`;
  const growing: Array<readonly [method: string, path: string, json: unknown]> = [
    ['POST', '/jobs', job],
    ['POST', `${failed}/resume`, {}],
    ['POST', '/presets', { ...preset, slug: 'grey-again' }],
    ['PUT', '/presets/grey', { steps: [{ op: 'negate' }] }],
    ['POST', '/presets/import', [preset]],
    ['POST', '/templates', { ...template, slug: 'card-again' }],
    ['PUT', `/templates/${made.json.data.id}`, { html: '<p>Ho</p>' }],
    ['POST', '/templates/import', [template]],
  ];
  for (const [method, path, json] of growing) {
    const { status, json: answer, headers } = await full.call(path, { key, method, json });
    t.equal(status, 500, `${method} ${path}`);
    t.match(answer.error, { code: 'internal_error', details: { reason: 'storage_full' } });
    t.ok(Number(headers.get('retry-after')) >= 1);
  }
  t.equal((await full.call('/jobs?dryRun=true', { key, json: job })).status, 200, 'a dry run stores nothing');
  t.equal((await full.call(failed, { key })).status, 200);
  t.equal((await full.call('/presets/grey', { key, method: 'DELETE' })).status, 204);
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

t.test('an output that finds no room is said to have found none', async (t) => {
  let lateMs = 0;
  const now = () => new Date(Date.now() + lateMs);
  const roomy = await startServer(t);
  const { put } = withoutRoom(roomy.stores.objects);
  const objects = { ...withoutRoom(roomy.stores.objects), put, checkFreeSpace: async () => {} };
  const { key } = await roomy.account();
  const picture = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).png();
  const body = new Uint8Array(await picture.toBuffer());
  const { json: uploaded } = await roomy.call('/assets/upload', { key, body, type: 'image/png' });
  await roomy.drain(1_000);
  const full = await startServer(t, { stores: { ...roomy.stores, objects }, now });
  const sent = { op: 'flip', assetIds: [uploaded.data.id] };
  const { json: submitted } = await full.call('/jobs', { key, json: sent });
  let job = submitted.data;
  for (let looks = 0; looks < 200 && job.status !== 'FAILED'; looks += 1) {
    lateMs += 70_000;
    await full.sweep();
    job = (await full.call(`/jobs/${job.id}?wait=1`, { key })).json.data;
  }
  t.match(job, {
    status: 'FAILED',
    errorCode: 'internal_error',
    errorMessage: /storage of this service is full/,
  });
});

/** The same objects on a disk that is filled up to its reserve. */
function withoutRoom(objects: ObjectStore): ObjectStore {
  const refuse = () => Promise.reject(new StorageFullError('The disk is full.'));
  return {
    put: refuse,
    checkFreeSpace: refuse,
    get: (key, range) => objects.get(key, range),
    read: (key, limitBytes) => objects.read(key, limitBytes),
    delete: (key) => objects.delete(key),
    listOlder: (prefix, beforeMs, limit) => objects.listOlder(prefix, beforeMs, limit),
    list: (prefix) => objects.list(prefix),
    ping: () => objects.ping(),
    close: async () => {},
  };
}
