// needs: nothing
import { setImmediate } from 'node:timers/promises';
import { register } from 'prom-client';
import t from 'tap';
import { FileCache, packFile } from '../../../src/platform/file-cache/file-cache.ts';
import { DiskReserve } from '../../../src/platform/stores/objects/reserve.ts';
import { createPictureDiskReserve } from '../../../src/product/delivery/cache.ts';
import { DeliveredPictures } from '../../../src/product/delivery/pictures.ts';

// Each holder of pictures declares its metrics.
t.beforeEach(() => register.clear());

t.test('a picture is answered before it is kept, and is one making until then', async (t) => {
  const written = Promise.withResolvers<void>();
  const kept: string[] = [];
  const storage = {
    ...{ kind: 'disk' as const, useResolutionMs: 1_000 },
    read: async () => null,
    async write(path: string) {
      await written.promise;
      kept.push(path);
    },
    async remove(path: string) {
      kept.splice(kept.indexOf(path), 1);
    },
    touch: async () => undefined,
    list: async () => [],
  };
  const cache = new FileCache({ storage, maxBytes: 100_000_000, log: { warn: () => undefined } });
  let held = 0;
  const pictures = new DeliveredPictures({
    cache,
    leases: {
      async hold(_name, work) {
        held += 1;
        await work();
        held -= 1;
      },
    },
    now: () => new Date(),
  });
  let made = 0;
  // It is too large for the memory of the process.
  const bytes = Buffer.alloc(1_000_000);
  const request = (isWanted: boolean) => ({
    path: `acc_1/ast_1/${isWanted}`,
    ...{ freshMs: null, staleMs: 0 },
    async make() {
      made += 1;
      return { bytes, contentType: 'image/png', width: 1, height: 1, etag: 'e' };
    },
    isWanted: async () => isWanted,
  });
  for (const one of [request(true), request(false)])
    for (let call = 0; call < 3; call += 1) t.equal((await pictures.findOrMake(one)).bytes, bytes);
  t.same([made, held, kept], [2, 2, []], 'nothing is kept yet, and no other process makes them');
  let hasEnded = false;
  const ended = cache.whenSettled().then(() => {
    hasEnded = true;
  });
  t.equal(hasEnded, false, 'a process that stops waits for its writes');
  written.resolve();
  await ended;
  for (let turn = 0; turn < 10; turn += 1) await undefined;
  t.same([held, kept], [0, ['acc_1/ast_1/true']], 'what is gone meanwhile is not kept');
});

t.test('a picture that is read from the cache twice is in memory', async (t) => {
  const facts = { contentType: 'image/png', width: 1, height: 1, etag: 'e', madeAtMs: 0 };
  const bytes = Buffer.from('the bytes');
  const reads: string[] = [];
  const storage = {
    ...{ kind: 'disk' as const, useResolutionMs: 1_000 },
    async read(path: string) {
      reads.push(path);
      return packFile(facts, bytes);
    },
    ...{ write: async () => undefined, remove: async () => undefined, touch: async () => undefined },
    list: async () => [],
  };
  const cache = new FileCache({ storage, maxBytes: 100_000, log: { warn: () => undefined } });
  const pictures = new DeliveredPictures({
    cache,
    leases: { hold: (_name, work) => work() },
    now: () => new Date(),
  });
  const request = (name: string) => ({
    path: `acc_1/ast_1/${name}`,
    ...{ freshMs: null, staleMs: 0 },
    make: () => Promise.reject(new Error('It is kept.')),
    isWanted: async () => true,
  });
  for (let call = 0; call < 4; call += 1) t.same((await pictures.findOrMake(request('often'))).bytes, bytes);
  t.equal(reads.length, 2);
  for (let index = 0; index < 600; index += 1) await pictures.findOrMake(request(`once-${index}`));
  t.equal(pictures.findInMemory(request('once-599')), null, 'one that is asked for once displaces nothing');
  t.same(pictures.findInMemory(request('often'))?.bytes, bytes);
});

t.test('a source that fails is tried once in ten seconds while its last picture is kept', async (t) => {
  const files = new Map<string, Buffer>();
  const storage = {
    ...{ kind: 'disk' as const, useResolutionMs: 1_000 },
    read: async (path: string) => files.get(path) ?? null,
    write: async (path: string, file: Buffer) => void files.set(path, file),
    ...{ remove: async () => undefined, touch: async () => undefined, list: async () => [] },
  };
  const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
  const cache = new FileCache({ storage, maxBytes: 100_000, log: { warn: () => undefined } });
  const leases = { hold: (_name: string, work: () => Promise<void>) => work() };
  const pictures = new DeliveredPictures({ cache, leases, now: () => new Date(clock.nowMs) });
  const source = { isAway: false, tries: 0 };
  const request = {
    path: 'acc_1/url-1/a',
    ...{ freshMs: 3_600_000, staleMs: 86_400_000 },
    async make() {
      source.tries += 1;
      if (source.isAway) throw new Error('It is away.');
      return { bytes: Buffer.from('the bytes'), contentType: 'image/png', width: 1, height: 1, etag: 'e' };
    },
    isWanted: async () => true,
  };
  const { bytes } = await pictures.findOrMake(request);
  // A picture is kept after its answer, and whoever asks until then has the same answer.
  await setImmediate();
  source.isAway = true;
  clock.nowMs += 3_600_000;
  const triesOf = async (calls: number) => {
    for (let call = 0; call < calls; call += 1) t.same((await pictures.findOrMake(request)).bytes, bytes);
    return source.tries;
  };
  t.equal(await triesOf(5), 2);
  clock.nowMs += 9_000;
  t.equal(await triesOf(5), 2);
  clock.nowMs += 2_000;
  t.equal(await triesOf(5), 3);
  source.isAway = false;
  clock.nowMs += 11_000;
  t.equal(await triesOf(5), 4);
  await setImmediate();
  source.isAway = true;
  clock.nowMs += 86_400_001;
  await t.rejects(pictures.findOrMake(request));
});

t.test('a disk that still takes uploads keeps no more pictures', async (t) => {
  const gigabytes = (count: number) => count * 1_000_000_000;
  for (const [totalBytes, reserveBytes, freeBytes] of [
    [gigabytes(100), gigabytes(1), gigabytes(1.5)],
    // Of a small disk, a share is reserved.
    [gigabytes(1), gigabytes(1), gigabytes(0.15)],
  ] as const) {
    const measure = async () => ({ totalBytes, freeBytes });
    await t.resolves(new DiskReserve(reserveBytes, measure).check(), 'an upload');
    await t.rejects(createPictureDiskReserve(reserveBytes, measure).check(), { name: 'StorageFullError' });
  }
});
