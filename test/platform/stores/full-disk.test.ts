// needs: server, documents
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import { EmbeddedCoordination } from '../../../src/platform/stores/coordination/embedded.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { mountDisk } from '../../support/disk.ts';
import { startServer } from '../../support/harness.ts';

const DISK_MEGABYTES = 40;
const DAY_MS = 86_400_000;
const RESERVE_BYTES = 8 * 2 ** 20;
/** Of noise, so that the file is as large as its pixels: 3 MB. */
const SIDE = 1_000;

const disk = mountDisk(t, DISK_MEGABYTES);
/** What SQLite writes before the database itself. */
const LOG = join(disk ?? '', 'documents.sqlite-wal');

t.test(
  'on a disk that uploads have filled uploads are refused, and what makes room works',
  { skip: disk === null && 'only root may mount a small disk' },
  async (t) => {
    let lateMs = 0;
    const now = () => new Date(Date.now() + lateMs);
    const server = await startServer(t, { stores: await storesOn(disk ?? ''), now });
    const { key, email, password } = await server.account();
    const path = '/images/transform?op=resize&width=8&response=url';
    const linked = await server.call(path, { key, body: await noise(), type: 'image/png' });
    const result = new URL(linked.json.data.url).pathname.slice(1);
    t.ok(
      await server.stores.objects.read(result, DISK_MEGABYTES * 2 ** 20),
      'a result is kept behind its link',
    );
    await server.call('/auth/sign-in', { json: { email, password } });
    const sessions = server.stores.documents.collection({ name: 'sessions', indexes: [] });
    t.equal(await sessions.count({}), 1);
    const upload = async () => server.call('/assets/upload', { key, body: await noise(), type: 'image/png' });
    // As in a service that ran before its disk filled, the log has its usual length.
    await writeAndDelete(server.stores.documents, { batches: 20, documents: 50 });
    const restarts = restartsOf(LOG);
    const preset = { name: 'Grey', steps: [{ op: 'grayscale' }] };
    const removable: Array<readonly [path: string, json: object]> = [
      ['/collections', { name: 'Holidays' }],
      ['/presets', { ...preset, slug: 'grey-again' }],
      ['/templates', { name: 'Card', slug: 'card', html: '<p>Hi</p>', width: 10, height: 10 }],
    ];
    for (const [path, json] of removable)
      t.equal((await server.call(path, { key, json })).status, 201, `POST ${path}`);
    const ids: string[] = [];
    let last = await upload();
    for (; last.status === 201; last = await upload()) ids.push(last.json.data.id);
    t.ok(ids.length >= 8, `${ids.length} uploads found room`);
    t.equal(last.status, 500);
    t.match(last.json.error, {
      code: 'internal_error',
      retryable: true,
      details: { reason: 'storage_full' },
    });
    // The documents may be out of room before the objects: their disk is looked at once per second.
    let ready = await server.call('//readyz');
    for (let look = 0; look < 100 && !saysFull(ready); look += 1) {
      await pause(100);
      ready = await server.call('//readyz');
    }
    t.equal(ready.status, 200, 'what needs no room goes on');
    t.ok(saysFull(ready), 'and tells that uploads are refused');

    const longest = logBytes();
    await writeAndDelete(server.stores.documents, { batches: 200, documents: 20 });
    t.ok(restartsOf(LOG) > restarts, 'checkpoints happen on a full disk, and the log begins again');
    t.ok(logBytes() <= longest, `the log, of ${longest} bytes before, did not grow`);
    const refused = await server.call('/presets', { key, json: { ...preset, slug: 'grey-again' } });
    t.match(refused.json.error, { details: { reason: 'storage_full' } }, 'no document is added by a caller');
    t.equal((await server.call(`/assets/${ids[0]}/content`, { key })).status, 200);
    for (const path of ['/collections/Holidays', '/presets/grey-again', '/templates/card'])
      t.equal((await server.call(path, { key, method: 'DELETE' })).status, 204, `DELETE ${path}`);
    for (const id of ids.slice(0, 4))
      t.equal((await server.call(`/assets/${id}`, { key, method: 'DELETE' })).status, 204);
    lateMs = DAY_MS;
    await server.sweep();
    lateMs = 0;
    t.equal(await server.stores.objects.get(result), null, 'the upkeep removed a result that had ended');
    t.equal(await sessions.count({}), 0, 'and a session');
    t.notMatch(server.logged(), /was not swept/, 'no duty of the upkeep failed');
    // The service checks the disk once per second.
    let again = await upload();
    for (let look = 0; look < 100 && again.status !== 201; look += 1) {
      await pause(100);
      again = await upload();
    }
    t.equal(again.status, 201, 'and there is room again, without a restart');
  },
);

t.test(
  'a disk that another program has filled completely is reported as full, and not as an unavailable store',
  { skip: disk === null && 'only root may mount a small disk' },
  async (t) => {
    const small = mountDisk(t, DISK_MEGABYTES) ?? '';
    const server = await startServer(t, { stores: await storesOn(small) });
    const { key } = await server.account();
    const filler = join(small, 'of-another-program');
    t.throws(() => writeFileSync(filler, Buffer.alloc(2 * DISK_MEGABYTES * 2 ** 20)), { code: 'ENOSPC' });
    const calls = {
      upload: async () => server.call('/assets/upload', { key, body: await noise(), type: 'image/png' }),
      reserve: () => server.call('/assets', { key, json: { contentType: 'image/png' } }),
    };
    for (const [name, call] of Object.entries(calls)) {
      let reason: string | undefined;
      // The service checks the disk once per second.
      for (let look = 0; look < 30 && reason !== 'storage_full'; look += 1) {
        reason = (await call()).json.error?.details?.reason;
        await pause(100);
      }
      t.equal(reason, 'storage_full', name);
    }
  },
);

function saysFull({ json }: { json: { remarks: string[] } }): boolean {
  return json.remarks.some((remark) => remark.includes('uploads are refused'));
}

/** Passes some megabytes through the log of the database and leaves nothing: a document takes 10 kB. */
async function writeAndDelete(
  store: DocumentStore,
  { batches, documents }: { batches: number; documents: number },
): Promise<void> {
  const scraps = store.collection<{ _id: string; text: string }>({ name: 'scraps', indexes: [] });
  for (let batch = 0; batch < batches; batch += 1) {
    const written = Array.from({ length: documents }, (_, at) => ({
      _id: `${batch}-${at}`,
      text: randomBytes(5_000).toString('hex'),
    }));
    await scraps.insertMany(written);
    await scraps.deleteMany({ _id: { $in: written.map(({ _id }) => _id) } });
  }
}

function logBytes(): number {
  return statSync(LOG).size;
}

/** How often the log began again after a checkpoint: its header counts (SQLite's file format, 4.1: bytes 12 to 15). */
function restartsOf(log: string): number {
  return readFileSync(log).readUInt32BE(12);
}

async function storesOn(directory: string): Promise<Stores> {
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const coordination = new EmbeddedCoordination(documents);
  const objects = new FileObjectStore(join(directory, 'objects'), RESERVE_BYTES);
  const close = async () => {
    await coordination.close();
    await Promise.all([documents.close(), objects.close()]);
  };
  t.teardown(close);
  return { documents, coordination, objects, close };
}

async function noise(): Promise<Uint8Array<ArrayBuffer>> {
  const raw = { width: SIDE, height: SIDE, channels: 3 } as const;
  const picture = sharp(randomBytes(SIDE * SIDE * 3), { raw }).png({ compressionLevel: 0 });
  return new Uint8Array(await picture.toBuffer());
}
