// needs: nothing
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DiskCache, filesToEvict } from '../../src/platform/disk-cache/disk-cache.ts';
import { DiskReserve } from '../../src/platform/stores/objects/reserve.ts';

const log = { warn: () => undefined };
const place = (name: string, owner = 'acc_1', group = 'ast_1') => ({ owner, group, name });

async function openCache(t: Test, maxBytes: number, freeBytes = 1_000_000_000) {
  const directory = await mkdtemp(join(tmpdir(), 'cache-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const reserve = new DiskReserve(1_000, async () => ({ freeBytes, totalBytes: 1_000_000_000 }));
  const options = { directory, maxBytes, reserve, now: () => new Date(), log };
  return { directory, options, cache: new DiskCache(options) };
}

t.test('a file is read as it was written, by another process as well', async (t) => {
  const { cache, options } = await openCache(t, 1_000_000);
  const bytes = Buffer.from('the bytes');
  t.equal(await cache.read(place('a')), null);
  t.equal(await cache.write(place('a'), { width: 3 }, bytes), true);
  for (const reader of [cache, new DiskCache(options)])
    t.same(await reader.read(place('a')), { facts: { width: 3 }, bytes });
  await cache.settled();
});

t.test('a damaged file is not there, wherever it is damaged', async (t) => {
  const { cache, directory } = await openCache(t, 1_000_000);
  const path = join(directory, 'acc_1', 'ast_1', 'a');
  await cache.write(place('a'), { width: 3 }, Buffer.from('the bytes'));
  await cache.settled();
  const whole = await readFile(path);
  for (let at = 0; at < whole.length; at += 1) {
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    await writeFile(path, damaged);
    t.equal(await cache.read(place('a')), null, `byte ${at}`);
    await writeFile(path, whole.subarray(0, at));
    t.equal(await cache.read(place('a')), null, `the first ${at} bytes`);
  }
  t.same(await readdir(join(directory, 'acc_1', 'ast_1')), [], 'it is deleted');
});

t.test('what was made of one thing is deleted together', async (t) => {
  const { cache } = await openCache(t, 1_000_000);
  for (const group of ['ast_1', 'ast_2']) await cache.write(place('a', 'acc_1', group), {}, Buffer.from('x'));
  await cache.removeGroup({ owner: 'acc_1', group: 'ast_1' });
  t.equal(await cache.read(place('a')), null);
  t.ok(await cache.read(place('a', 'acc_1', 'ast_2')));
  await cache.removeGroup({ owner: 'acc_1', group: 'never' });
});

t.test('the space is never exceeded by more than what is written meanwhile', async (t) => {
  const maxBytes = 100_000;
  const { cache, directory } = await openCache(t, maxBytes);
  for (let index = 0; index < 300; index += 1) {
    await cache.write(place(`f${index}`), {}, Buffer.alloc(1_000));
    await cache.settled();
  }
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    names
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  t.ok(total <= maxBytes && total > maxBytes / 2, `${total} bytes`);
});

t.test('a file that would take too much, or uses the reserve of the disk, is not kept', async (t) => {
  const { cache } = await openCache(t, 8_000);
  t.equal(await cache.write(place('a'), {}, Buffer.alloc(2_000)), false);
  const full = await openCache(t, 1_000_000, 999);
  t.equal(await full.cache.write(place('a'), {}, Buffer.alloc(10)), false);
  t.equal(await full.cache.read(place('a')), null);
  t.same(await readdir(full.directory), [], 'nothing is left');
  const off = await openCache(t, 0);
  t.equal(off.cache.isOff, true);
  t.equal(await off.cache.read(place('a')), null);
});

t.test('the owner with the most loses what it used least recently', async (t) => {
  const file = (owner: string, path: string, usedMs: number) => ({ owner, path, usedMs, bytes: 10 });
  const flood = Array.from({ length: 8 }, (_, index) => file('flood', `f${index}`, 100 + index));
  const quiet = [file('quiet', 'q0', 1), file('quiet', 'q1', 2)];
  const names = (keptBytes: number) => filesToEvict([...flood, ...quiet], keptBytes).map(({ path }) => path);
  t.same(names(100), []);
  t.same(names(70), ['f0', 'f1', 'f2'], 'though all of the other are older');
  t.same(names(30), ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6']);
  t.same(names(0).length, 10);
});

t.test('an unfinished file of a process that died is deleted', async (t) => {
  const { cache, directory, options } = await openCache(t, 1_000_000);
  await cache.write(place('a'), {}, Buffer.from('x'));
  await cache.settled();
  const left = join(directory, 'acc_1', 'ast_1', 'b.12345678.part');
  await writeFile(left, 'half');
  await utimes(left, new Date(0), new Date(0));
  const next = new DiskCache(options);
  await next.write(place('c'), {}, Buffer.from('x'));
  await next.settled();
  t.same((await readdir(join(directory, 'acc_1', 'ast_1'))).toSorted(), ['a', 'c']);
});
