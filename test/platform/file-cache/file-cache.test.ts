// needs: nothing
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FileCache, filesToEvict } from '../../../src/platform/file-cache/file-cache.ts';
import { BucketStorage, DiskStorage } from '../../../src/platform/file-cache/storage.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';
import { DiskReserve } from '../../../src/platform/stores/objects/reserve.ts';
import { fileCacheContract, place } from './contract.ts';

const DISK_BYTES = 1_000_000_000;
const log = { warn: () => undefined };

async function openDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'cache-'));
  // A cache records without waiting when a file was last read, which may meet the end of a test.
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  return directory;
}

async function openDisk(t: Test, space: { freeBytes: number } = { freeBytes: DISK_BYTES }) {
  const directory = await openDirectory(t);
  const reserve = new DiskReserve(1_000, async () => ({ ...space, totalBytes: DISK_BYTES }));
  return { directory, storage: new DiskStorage(directory, reserve) };
}

t.test('on a disk', async (t) => fileCacheContract(t, async (t) => (await openDisk(t)).storage));

t.test('among the objects', async (t) =>
  fileCacheContract(t, async (t) => {
    const objects = new FileObjectStore(await openDirectory(t));
    await objects.put('other/a', Buffer.from('no file of the cache'), 'text/plain');
    return new BucketStorage({ objects, prefix: 'kept/', maxFileBytes: 1_000_000 });
  }),
);

t.test('the reserve of a disk is never used, and nothing is left of what was not kept', async (t) => {
  const { directory, storage } = await openDisk(t, { freeBytes: 999 });
  const cache = new FileCache({ storage, maxBytes: 1_000_000, log });
  t.equal(await cache.write(place('a'), {}, Buffer.alloc(10)), false);
  t.equal(await cache.read(place('a')), null);
  t.same(await readdir(directory), []);
});

t.test('a disk that cannot be written keeps nothing, and fails nobody', async (t) => {
  const directory = await openDirectory(t);
  await writeFile(join(directory, 'a file'), '');
  const reserve = new DiskReserve(0, async () => ({ freeBytes: DISK_BYTES, totalBytes: DISK_BYTES }));
  const storage = new DiskStorage(join(directory, 'a file'), reserve);
  const cache = new FileCache({ storage, maxBytes: 1_000_000, log });
  t.equal(await cache.write(place('a'), {}, Buffer.alloc(10)), false);
  t.equal(await cache.read(place('a')), null);
  t.same(await cache.readFigures(), { files: 0, bytes: 0, oldestUseMs: null });
  await cache.removeAll('acc_1');
});

t.test('the owner with the most loses what it used least recently', async (t) => {
  const file = (path: string, usedMs: number) => ({ path, usedMs, bytes: 10 });
  const flood = Array.from({ length: 8 }, (_, index) => file(`flood/f${index}`, 100 + index));
  const quiet = [file('quiet/q0', 1), file('quiet/q1', 2)];
  const names = (keptBytes: number) =>
    filesToEvict([...flood, ...quiet], keptBytes).map(({ path }) => path.split('/')[1]);
  t.same(names(100), []);
  t.same(names(70), ['f0', 'f1', 'f2'], 'though all of the other are older');
  t.same(names(30), ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6']);
  t.same(names(0).length, 10);
});

t.test('a read is the last use of a file', async (t) => {
  const { directory, storage } = await openDisk(t);
  const path = join(directory, 'acc_1', 'ast_1', 'a');
  await new FileCache({ storage, maxBytes: 1_000_000, log }).write(place('a'), {}, Buffer.from('x'));
  await utimes(path, new Date(0), new Date(0));
  await new FileCache({ storage, maxBytes: 1_000_000, log }).read(place('a'));
  let usedMs = 0;
  for (let look = 0; look < 1_000 && usedMs === 0; look += 1) usedMs = (await stat(path)).mtimeMs;
  t.ok(usedMs > 0);
});

t.test('an unfinished file of a process that died is deleted', async (t) => {
  const { directory, storage } = await openDisk(t);
  const open = () => new FileCache({ storage, maxBytes: 1_000_000, log });
  await open().write(place('a'), {}, Buffer.from('x'));
  const left = join(directory, 'acc_1', 'ast_1', 'b.12345678.part');
  await writeFile(left, 'half');
  await utimes(left, new Date(0), new Date(0));
  const next = open();
  await next.write(place('c'), {}, Buffer.from('x'));
  await next.whenSettled();
  t.same((await readdir(join(directory, 'acc_1', 'ast_1'))).toSorted(), ['a', 'c']);
});
