// needs: nothing
import { mock } from 'node:test';
import t from 'tap';
import { ApiError, temporarilyUnavailableError } from '../../../src/platform/http/errors/errors.ts';
import { Leases } from '../../../src/product/delivery/leases.ts';

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
    /** As a store sends it whose first answer was lost. */
    async publishTwice(channel: string, message: string) {
      await this.publish(channel, message);
      return this.publish(channel, message);
    },
    async subscribe(_channel: string, listener: (message: string) => void) {
      listeners.push(listener);
      return () => undefined;
    },
  };
}
type Store = ReturnType<typeof openStore>;

const open = (coordination: Store, processId: string, more: { waitMs?: number; pause?: Pause } = {}) =>
  Leases.open({ coordination, scope: 'host', processId, waitMs: 60_000, ...more });
type Pause = () => Promise<void>;

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
  const leases = await open(
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
  await leases.hold('a', async () => {
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
  const working = first.hold('a', one.run);
  const waiting = second.hold('a', other.run);
  const elsewhere = openWork();
  elsewhere.resolve();
  await second.hold('b', elsewhere.run);
  t.same([one.begun, other.begun, elsewhere.begun], [1, 0, 1], 'other work waits for nothing');
  one.resolve();
  await working;
  other.resolve();
  await waiting;
  t.equal(other.begun, 1);
  t.equal(store.holders.size, 0);
});

/** Lets everything happen that waits for no clock. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

t.test('who waits is woken by the end of the lease, and looks by itself once in a while', async (t) => {
  const store = openStore();
  const waking: Array<() => void> = [];
  const pause = () => new Promise<void>((resolve) => waking.push(resolve));
  const processes = await Promise.all(['1', '2', '3'].map((id) => open(store, id, { pause })));
  const works = processes.map(openWork);
  const asked = processes.map((one, index) => one.hold('a', works[index]?.run ?? openWork().run));
  const begun = () => works.map((work) => work.begun);
  await settled();
  t.same(begun(), [1, 0, 0]);
  works[0]?.resolve();
  await settled();
  t.equal(begun().filter((count) => count === 1).length, 2, 'the next begins while the clock stands');
  for (const work of works) work.resolve();
  await settled();
  t.same(begun(), [1, 1, 1]);
  await Promise.all(asked);

  const silent = { ...store, publish: async () => 0 };
  const [first, second] = [await open(silent, '1'), await open(silent, '2', { pause })];
  const [one, other] = [openWork(), openWork()];
  const unheard = [first.hold('b', one.run), second.hold('b', other.run)];
  one.resolve();
  await settled();
  t.equal(other.begun, 0, 'the message was lost');
  for (const wake of waking) wake();
  await settled();
  t.equal(other.begun, 1);
  other.resolve();
  await Promise.all(unheard);
});

t.test('a message that comes twice wakes nobody to the same work at once', async (t) => {
  const store = openStore();
  const twice = { ...store, publish: store.publishTwice.bind(store) };
  const processes = await Promise.all(['1', '2', '3'].map((id) => open(twice, id)));
  const running = { now: 0, most: 0, ended: 0 };
  const work = async () => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    await settled();
    running.now -= 1;
    running.ended += 1;
  };
  await Promise.all(processes.map((one) => one.hold('a', work)));
  t.same(running, { now: 0, most: 1, ended: 3 });
  const refusal = new ApiError('not_found', 'It is gone.');
  const refused = openWork();
  const asked = processes.map((one) => one.hold('a', refused.run));
  await settled();
  refused.reject(refusal);
  const ends = await Promise.allSettled(asked);
  t.same(new Set(ends.map(({ status }) => status)), new Set(['rejected']));
  t.equal(refused.begun, 1);
  await processes[0]?.hold('a', work);
  t.equal(running.ended, 4, 'and refuses nothing that is asked later');
});

t.test('what every process would refuse fails for all that wait, and is tried anew later', async (t) => {
  const store = openStore();
  const [first, second] = [await open(store, '1'), await open(store, '2')];
  const refusal = new ApiError('unsupported_format', 'This is no picture.', {
    param: 'url',
    details: { reason: 'format' },
  });
  for (const failure of [refusal, temporarilyUnavailableError('url_unavailable', 'The host is away.', 2)]) {
    const [one, other] = [openWork(), openWork()];
    const asked = [first.hold('a', one.run), second.hold('a', other.run)];
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
    await second.hold('a', next.run);
    t.equal(next.begun, 1);
  }
});

t.test('what one process cannot do is tried by another one', async (t) => {
  const store = openStore();
  const [first, second] = [await open(store, '1'), await open(store, '2')];
  const [one, other] = [openWork(), openWork()];
  other.resolve();
  const asked = [first.hold('a', one.run), second.hold('a', other.run)];
  one.reject(temporarilyUnavailableError('capacity', 'There is no place.', 1));
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
  await (await open(store, '2', { waitMs: 50 })).hold('a', late.run);
  t.equal(late.begun, 1, 'after its wait');
  t.equal(store.holders.get('delivery/host/a'), 'killed', 'the lease of another one stays');
  const away = () => Promise.reject(new Error('away'));
  const leases = await open({ ...store, lease: away, endLease: away, publish: away }, '3');
  const work = openWork();
  work.resolve();
  await leases.hold('a', work.run);
  t.equal(work.begun, 1);
  const refusal = new ApiError('not_found', 'It is gone.');
  await t.rejects(
    leases.hold('a', () => Promise.reject(refusal)),
    refusal,
  );
});
