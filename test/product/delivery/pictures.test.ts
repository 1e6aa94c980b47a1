// needs: nothing
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import { DiskShelf } from '../../../src/platform/file-cache/disk-shelf.ts';
import { FileCache } from '../../../src/platform/file-cache/file-cache.ts';
import { DiskReserve } from '../../../src/platform/stores/objects/reserve.ts';
import { pictureReserve } from '../../../src/product/delivery/cache.ts';
import { Pictures } from '../../../src/product/delivery/pictures.ts';

t.test('a process keeps its lease for as long as it makes a picture, and no longer', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'pictures-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const reserve = new DiskReserve(1_000, async () => ({ freeBytes: 1e9, totalBytes: 1e9 }));
  const shelf = new DiskShelf(directory, reserve);
  const cache = new FileCache({ shelf, maxBytes: 1_000_000, log: { warn: () => undefined } });
  let untilMs = 0;
  let nowMs = 0;
  const coordination = {
    async lease(_name: string, _owner: string, leaseMs: number) {
      untilMs = nowMs + leaseMs;
      return true;
    },
    async endLease() {
      untilMs = nowMs;
    },
  };
  const pictures = new Pictures({
    ...{ cache, coordination, hostId: 'host', processId: '1', waitMs: 10_000 },
    now: () => new Date(),
  });
  const picture = await pictures.get({
    place: { owner: 'acc_1', group: 'ast_1', name: 'a' },
    freshMs: null,
    staleMs: 0,
    isWanted: async () => true,
    async make() {
      for (; nowMs < 20_000; nowMs += 500) {
        t.ok(untilMs > nowMs, `held after ${nowMs} ms`);
        mock.timers.tick(500);
      }
      return { bytes: Buffer.from('x'), contentType: 'image/png', width: 1, height: 1, etag: 'e' };
    },
  });
  t.equal(picture.width, 1);
  mock.timers.tick(10_000);
  t.equal(untilMs, nowMs, 'the lease has ended, and nothing renews it');
  await cache.settled();
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
    await t.rejects(pictureReserve(reserveBytes, measure).check(), { name: 'StorageFullError' });
  }
});
