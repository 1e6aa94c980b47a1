// needs: pixels
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import type { ImageWorkers } from '../../../src/imaging/images/image-workers.ts';
import { libuvThreadCount } from '../../../src/platform/concurrency/capacity.ts';
import type { ObjectStore } from '../../../src/platform/stores/objects/port.ts';
import { UploadIntake } from '../../../src/product/assets/uploads/intake.ts';
import { ItemPrefetch } from '../../../src/product/jobs/engine/active-job.ts';
import { JobEndWaiters } from '../../../src/product/jobs/waits.ts';
import { smallCapacity } from '../../support/capacity.ts';

const never = new AbortController().signal;
const turn = () => new Promise(setImmediate);

t.test(
  'a change of IMAGE_THREADS reaches the uploads: one more than the threads is described at once',
  async (t) => {
    const capacity = smallCapacity();
    let atOnce = 0;
    const ends: Array<() => void> = [];
    const imageWorkers = {
      describe() {
        atOnce += 1;
        const { promise, resolve } = Promise.withResolvers<unknown>();
        ends.push(() => resolve({ image: {}, metadata: {} }));
        const result = promise.finally(() => {
          atOnce -= 1;
        });
        return { result, ended: result.then(() => undefined) };
      },
    } as unknown as ImageWorkers;
    const objects = {
      read: async () => new Uint8Array(1),
      get: async () => ({ body: Readable.from([new Uint8Array(1)]), sizeBytes: 1, contentType: 'image/png' }),
    } as unknown as ObjectStore;
    const { describe } = new UploadIntake({ objects, imageWorkers, capacity });
    const uploads = Array.from({ length: 12 }, (_, index) => describe(`acc_${index}`, 'key', never));
    for (const threads of [1, 3, 6]) {
      capacity.set('IMAGE_THREADS', threads);
      for (let turns = 0; turns < 20; turns += 1) await turn();
      t.equal(atOnce, threads + 1, `${threads} threads`);
    }
    while (ends.length > 0 || atOnce > 0) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
    await Promise.all(uploads);
  },
);

t.test('a change of IMAGE_THREADS reaches the items that a process works on', async (t) => {
  const capacity = smallCapacity();
  const prefetch = new ItemPrefetch(capacity.imageThreads, capacity.jobItems);
  const worked = () => {
    prefetch.claimedCount = 0;
    while (prefetch.hasFreeWorker) prefetch.claimedCount += 1;
    return prefetch.claimedCount;
  };
  t.equal(worked(), 1);
  const { limit } = prefetch;
  capacity.set('IMAGE_THREADS', 4);
  t.equal(worked(), 4);
  t.equal(prefetch.limit, limit + 3, 'more are read ahead, too');
  capacity.set('IMAGE_THREADS', 2);
  t.equal(worked(), 2);
});

const request = {} as FastifyRequest;

t.test('a change of PROCESSES reaches the share that a process has of the waits of its host', async (t) => {
  const capacity = smallCapacity();
  const waits = new JobEndWaiters({ limit: () => Math.ceil(4 / capacity.processes()), draining: never });
  const open = new AbortController();
  const read = async () => ({ status: 'PENDING' }) as never;
  const wait = () =>
    waits.untilEnded('job_1', 60_000, { accountId: 'a', request, clientSignal: open.signal, read });
  const held = [wait(), wait()];
  capacity.set('PROCESSES', 2);
  await t.rejects(wait(), { code: 'provider_unavailable' }, 'a second process has the other half');
  capacity.set('PROCESSES', 1);
  held.push(wait());
  open.abort();
  await Promise.all(held);
});

t.test('of the waits of a full process, those of the account with the most end for others', async (t) => {
  const waits = new JobEndWaiters({ limit: () => 4, draining: never });
  const open = new AbortController();
  const read = async () => ({ status: 'PENDING' }) as never;
  const ended: string[] = [];
  const wait = (accountId: string) =>
    waits.untilEnded('job_1', 60_000, { accountId, request, clientSignal: open.signal, read }).then(() => {
      if (!open.signal.aborted) ended.push(accountId);
    });
  const held = ['a', 'a', 'a', 'a', 'b', 'b'].map(wait);
  await t.rejects(wait('b'), { code: 'provider_unavailable' }, 'nobody has more than b would have');
  await t.rejects(wait('a'), { code: 'provider_unavailable' });
  held.push(wait('c'));
  await Promise.all(held.slice(1, 4));
  await turn();
  t.same(ended, ['a', 'a', 'a'], 'they are answered, and not refused');
  open.abort();
  await Promise.all(held);
});

t.test('a change of IMAGE_THREADS reaches libuv’s threads of processes that start later', async (t) => {
  const capacity = smallCapacity();
  t.equal(libuvThreadCount(capacity), 8);
  capacity.set('IMAGE_THREADS', 8);
  t.equal(libuvThreadCount(capacity), 20);
});
