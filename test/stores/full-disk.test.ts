// needs: server, documents
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { EmbeddedCoordination } from '../../src/stores/coordination/embedded.ts';
import { openEmbeddedDocuments } from '../../src/stores/documents/embedded/actor.ts';
import { FileObjects } from '../../src/stores/objects/files.ts';
import type { Stores } from '../../src/stores/open.ts';
import { startServer } from '../harness.ts';

const DISK_MEGABYTES = 40;
const RESERVE_BYTES = 8 * 2 ** 20;
/** Of noise, so that the file is as large as its pixels: 3 MB. */
const SIDE = 1_000;

const disk = mountDisk(t);

t.test(
  'on a disk that uploads have filled uploads are refused, and what makes room works',
  { skip: disk === null && 'only root may mount a small disk' },
  async (t) => {
    const server = await startServer(t, { stores: await storesOn(disk ?? '') });
    const { key } = await server.account();
    const upload = async () => server.call('/assets/upload', { key, body: await noise(), type: 'image/png' });
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
    const ready = await server.call('//readyz');
    t.equal(ready.status, 200, 'what needs no room goes on');
    t.match(ready.json.remarks.join(), /uploads are refused/);

    const preset = { name: 'Grey', steps: [{ op: 'grayscale' }] };
    for (let count = 0; count < 20; count += 1)
      t.equal((await server.call('/presets', { key, json: preset })).status, 201, 'documents are written');
    t.equal((await server.call(`/assets/${ids[0]}/content`, { key })).status, 200);
    for (const id of ids.slice(0, 4))
      t.equal((await server.call(`/assets/${id}`, { key, method: 'DELETE' })).status, 204);
    await server.sweep();
    // The disk is looked at once a second.
    let again = await upload();
    for (let look = 0; look < 100 && again.status !== 201; look += 1) {
      await pause(100);
      again = await upload();
    }
    t.equal(again.status, 201, 'and there is room again, without a restart');
  },
);

/** A file system of its own in memory; null where this process may not mount one. */
function mountDisk(t: Test): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-disk-'));
  let isMounted = true;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    isMounted = false;
  }
  t.teardown(() => {
    if (isMounted) execFileSync('umount', [directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return isMounted ? directory : null;
}

async function storesOn(directory: string): Promise<Stores> {
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const coordination = await EmbeddedCoordination.open(documents);
  const objects = new FileObjects(join(directory, 'objects'), RESERVE_BYTES);
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
