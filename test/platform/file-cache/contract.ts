import type { Test } from 'tap';
import { FileCache } from '../../../src/platform/file-cache/file-cache.ts';
import type { FileStorage } from '../../../src/platform/file-cache/storage.ts';

const log = { warn: () => undefined };
export const place = (name: string, owner = 'acc_1', group = 'ast_1') => `${owner}/${group}/${name}`;

/** The promises of a cache, on every kind of storage. @param open opens a storage without any file. */
export function fileCacheContract(t: Test, open: (t: Test) => Promise<FileStorage>): void {
  const cacheOn = (storage: FileStorage, maxBytes = 4_000_000) => new FileCache({ storage, maxBytes, log });

  t.test('a file is read as it was written, by another process as well', async (t) => {
    const storage = await open(t);
    const cache = cacheOn(storage);
    t.equal(await cache.read(place('a')), null);
    for (const size of [0, 9, 70_000, 131_072, 300_000]) {
      const bytes = Buffer.alloc(size, 'the bytes');
      const own = place(`bytes-${size}`);
      t.equal(await cache.write(own, { width: 3 }, bytes), true);
      for (const reader of [cache, cacheOn(storage)])
        t.same(await reader.read(own), { facts: { width: 3 }, bytes }, own);
    }
    await cache.whenSettled();
  });

  t.test('a damaged file is not there, wherever it is damaged', async (t) => {
    const storage = await open(t);
    const cache = cacheOn(storage);
    const path = 'acc_1/ast_1/a';
    await cache.write(place('a'), { width: 3 }, Buffer.from('the bytes'));
    await cache.whenSettled();
    const whole = (await storage.read(path)) ?? Buffer.alloc(0);
    for (let at = 0; at < whole.length; at += 7) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await storage.write(path, damaged);
      t.equal(await cache.read(place('a')), null, `byte ${at}`);
      await storage.write(path, whole.subarray(0, at));
      t.equal(await cache.read(place('a')), null, `the first ${at} bytes`);
    }
    t.same(await storage.list(''), [], 'it is deleted');
  });

  t.test('what was made of one thing, or begins with one name, is deleted together', async (t) => {
    const cache = cacheOn(await open(t));
    const places = [
      place('preset-1.a', 'acc_1', 'ast_1'),
      place('preset-1.b', 'acc_1', 'ast_2'),
      place('c', 'acc_1', 'ast_2'),
      place('preset-1.d', 'acc_2', 'ast_3'),
    ];
    const left = async () => {
      const found = await Promise.all(places.map((one) => cache.read(one)));
      return places.filter((_one, index) => found[index] !== null).map((path) => path.split('/')[2]);
    };
    for (const one of places) await cache.write(one, {}, Buffer.from('x'));
    await cache.removeAll('acc_1/ast_1');
    t.same(await left(), ['preset-1.b', 'c', 'preset-1.d']);
    await cache.removeAll('acc_1', 'preset-1.');
    t.same(await left(), ['c', 'preset-1.d']);
    await cache.removeAll('acc_2');
    t.same(await cache.paths(), [place('c', 'acc_1', 'ast_2')]);
    t.same(await left(), ['c']);
    await cache.removeAll('acc_1/never');
    await cache.whenSettled();
  });

  t.test('the space is never exceeded by more than what is written meanwhile', async (t) => {
    const maxBytes = 100_000;
    const storage = await open(t);
    const cache = cacheOn(storage, maxBytes);
    for (let index = 0; index < 150; index += 1) {
      await cache.write(place(`f${index}`), {}, Buffer.alloc(1_000));
      await cache.whenSettled();
    }
    const total = (await storage.list('')).reduce((sum, { bytes }) => sum + bytes, 0);
    t.ok(total <= maxBytes && total > maxBytes / 2, `${total} bytes`);
    t.ok(cache.evicted > 0);
    const { bytes, files, oldestUseMs } = await cache.readFigures();
    t.ok(bytes > maxBytes / 2 && bytes <= maxBytes * 1.1, `${bytes} bytes by the figures`);
    t.ok(files > 50 && files < 110, `${files} files`);
    t.ok(oldestUseMs !== null);
  });

  t.test('a flood of one owner cannot evict the others below a fair share', async (t) => {
    const storage = await open(t);
    const cache = cacheOn(storage, 100_000);
    for (let index = 0; index < 30; index += 1)
      await cache.write(place(`q${index}`, 'quiet'), {}, Buffer.alloc(1_000));
    for (let index = 0; index < 150; index += 1) {
      await cache.write(place(`f${index}`, 'flood'), {}, Buffer.alloc(1_000));
      await cache.whenSettled();
    }
    t.equal((await storage.list('quiet')).length, 30);
  });

  t.test('a file that would take too much is not kept, and a cache without space keeps none', async (t) => {
    const storage = await open(t);
    t.equal(await cacheOn(storage, 8_000).write(place('a'), {}, Buffer.alloc(2_000)), false);
    const off = cacheOn(storage, 0);
    t.equal(off.isOff, true);
    t.equal(await off.write(place('a'), {}, Buffer.alloc(1)), false);
    t.equal(await off.read(place('a')), null);
    t.same(await storage.list(''), []);
  });
}
