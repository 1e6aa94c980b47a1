// needs: nothing
import { mock } from 'node:test';
import t from 'tap';
import { ApiError, temporarilyUnavailable } from '../../../src/platform/http/errors/errors.ts';
import { Turns } from '../../../src/product/delivery/turns.ts';

/** The leases and messages of processes with one store. */
function openStore() {
  const holders = new Map<string, string>();
  const listeners: Array<(message: string) => void> = [];
  return {
    holders,
    async lease(name: string, owner: string) {
      if (!holders.has(name)) holders.set(name, owner);
      return holders.get(name) === owner;
    },
    async endLease(name: string, owner: string) {
      if (holders.get(name) === owner) holders.delete(name);
    },
    async publish(_channel: string, message: string) {
      for (const listener of listeners) listener(message);
      return listeners.length;
    },
    async subscribe(_channel: string, listener: (message: string) => void) {
      listeners.push(listener);
      return () => undefined;
    },
  };
}
type Store = ReturnType<typeof openStore>;

const open = (coordination: Store, processId: string, waitMs = 60_000) =>
  Turns.open({ coordination, among: 'host', processId, waitMs });

/** Work that ends when it is let, and how often it was begun. */
function openWork() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const work = {
    begun: 0,
    ...{ resolve, reject },
    run: () => {
      work.begun += 1;
      return promise;
    },
  };
  return work;
}

t.test('a process keeps its lease for as long as it works, and no longer', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  let untilMs = 0;
  let nowMs = 0;
  const turns = await open(
    {
      ...openStore(),
      async lease(_name: string, _owner: string, leaseMs = 0) {
        untilMs = nowMs + leaseMs;
        return true;
      },
      async endLease() {
        untilMs = nowMs;
      },
    },
    '1',
  );
  await turns.take('a', async () => {
    for (; nowMs < 20_000; nowMs += 500) {
      t.ok(untilMs > nowMs, `held after ${nowMs} ms`);
      mock.timers.tick(500);
    }
  });
  mock.timers.tick(10_000);
  t.equal(untilMs, nowMs, 'the lease has ended, and nothing renews it');
});

t.test('one process works at a time, and the next begins when it has ended', async (t) => {
  const store = openStore();
  const [first, second] = [await open(store, '1'), await open(store, '2')];
  const [one, other] = [openWork(), openWork()];
  const working = first.take('a', one.run);
  const waiting = second.take('a', other.run);
  const elsewhere = openWork();
  elsewhere.resolve();
  await second.take('b', elsewhere.run);
  t.same([one.begun, other.begun, elsewhere.begun], [1, 0, 1], 'other work waits for nothing');
  one.resolve();
  await working;
  other.resolve();
  await waiting;
  t.equal(other.begun, 1);
  t.equal(store.holders.size, 0);
});

t.test('what every process would refuse fails for all that wait, and is tried anew later', async (t) => {
  const store = openStore();
  const [first, second] = [await open(store, '1'), await open(store, '2')];
  const refusal = new ApiError('unsupported_format', 'This is no picture.', {
    param: 'url',
    details: { reason: 'format' },
  });
  for (const failure of [refusal, temporarilyUnavailable('url_unavailable', 'The host is away.', 2)]) {
    const [one, other] = [openWork(), openWork()];
    const asked = [first.take('a', one.run), second.take('a', other.run)];
    one.reject(failure);
    const ends = await Promise.allSettled(asked);
    for (const end of ends) {
      t.equal(end.status, 'rejected');
      const { code, message, param, details } = (end as PromiseRejectedResult).reason;
      t.same(
        [code, message, param, details],
        [failure.code, failure.message, failure.param, failure.details],
      );
    }
    t.same([one.begun, other.begun], [1, 0]);
    const next = openWork();
    next.resolve();
    await second.take('a', next.run);
    t.equal(next.begun, 1);
  }
});

t.test('what one process cannot do is tried by another one', async (t) => {
  const store = openStore();
  const [first, second] = [await open(store, '1'), await open(store, '2')];
  const [one, other] = [openWork(), openWork()];
  other.resolve();
  const asked = [first.take('a', one.run), second.take('a', other.run)];
  one.reject(temporarilyUnavailable('capacity', 'There is no place.', 1));
  const ends = await Promise.allSettled(asked);
  t.same(
    ends.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
});

t.test('a process that was killed, or a store that is away, holds nobody up for long', async (t) => {
  const store = openStore();
  await store.lease('delivery/host/a', 'killed');
  const late = openWork();
  late.resolve();
  await (await open(store, '2', 50)).take('a', late.run);
  t.equal(late.begun, 1, 'after its wait');
  t.equal(store.holders.get('delivery/host/a'), 'killed', 'the lease of another one stays');
  const away = () => Promise.reject(new Error('away'));
  const turns = await open({ ...store, lease: away, endLease: away, publish: away }, '3');
  const work = openWork();
  work.resolve();
  await turns.take('a', work.run);
  t.equal(work.begun, 1);
  const refusal = new ApiError('not_found', 'It is gone.');
  await t.rejects(
    turns.take('a', () => Promise.reject(refusal)),
    refusal,
  );
});
