// needs: redis
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { startPrivateRedis, startRedis } from '../../../../bench/services/redis.ts';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import { RedisCoordination } from '../../../../src/platform/stores/coordination/redis.ts';
import { startProxy } from '../../../support/services/proxy.ts';
import { coordinationContract } from './contract.ts';
import { begun, until } from './harness.ts';

const MINUTE_MS = 60_000;

/** A store that closes with the test. */
function connect(t: Test, url: string, keyPrefix: string, deadlineMs = 10_000) {
  const store = new RedisCoordination({ url, keyPrefix, deadlineMs });
  t.teardown(() => store.close());
  return store;
}

function promisesOnRedis(sharedUrl: string, ownUrl: string): void {
  t.test('on Redis', async (t) => {
    coordinationContract(t, async (t) => {
      const keyPrefix = `test-${randomText(8)}:`;
      return { connect: async () => connect(t, sharedUrl, keyPrefix), elapse: () => {} };
    });
  });

  t.test('every key ends by itself', async (t) => {
    const keyPrefix = `test-${randomText(8)}:`;
    const store = connect(t, sharedUrl, keyPrefix);
    await store.admit({
      rate: { key: 'k', limit: 1, windowMs: MINUTE_MS },
      slot: { key: 'k', limit: 1, holder: 'a/1/1', leaseMs: MINUTE_MS },
    });
    await store.renewSlot('k', 'a/1/1', MINUTE_MS);
    await store.addStrike('k', MINUTE_MS);
    await store.setFlag('k', MINUTE_MS);
    await store.lease('k', 'owner', MINUTE_MS);
    await begun(store, 'pending', 'print');
    await store.keepIdempotent('kept', await begun(store, 'kept', 'print'), {
      status: 200,
      headers: {},
      body: '',
    });

    await store.schedule('k', [{ member: 'claimed', afterMs: 0 }]);
    await store.claimDue('k', 1, MINUTE_MS, 'a/1/1');
    await store.schedule('k', [{ member: 'claimed', afterMs: 0 }]);

    const client = new Redis(sharedUrl);
    t.teardown(() => client.disconnect());
    const keys = await client.keys(`${keyPrefix}*`);
    t.equal(keys.length, 10);
    for (const key of keys) t.ok((await client.pttl(key)) > 0, key);
  });

  t.test('FLUSHALL and a server that forgot the scripts lose counts and nothing else', async (t) => {
    const store = connect(t, ownUrl, 'flush:');
    const heard: string[] = [];
    await store.subscribe('wake', (message) => heard.push(message));
    const rate = { key: 'k', limit: 1, windowMs: MINUTE_MS };
    const slot = { key: 'k', limit: 1, holder: 'a/1/1', leaseMs: MINUTE_MS };
    const token = await begun(store, 'k', 'print');
    t.match(await store.admit({ rate, slot }), { rate: { allowed: true }, slot: true });

    const client = new Redis(ownUrl);
    t.teardown(() => client.disconnect());
    await client.flushall();
    await client.script('FLUSH');

    t.match(await store.admit({ rate, slot: { ...slot, holder: 'a/1/2' } }), {
      rate: { allowed: true },
      slot: true,
    });
    t.equal(await store.renewSlot('k', 'a/1/1', MINUTE_MS), false);
    t.equal(await store.renewDue('k', 'm', 'a/1/1', MINUTE_MS), true);
    await store.keepIdempotent('k', token, { status: 200, headers: {}, body: '' });
    await begun(store, 'k', 'print');
    await store.publish('wake', 'up');
    t.ok(await until(async () => heard.length === 1));
  });

  t.test('a command that the server refuses for itself is a fault of the code, and no outage', async (t) => {
    const store = connect(t, ownUrl, 'faults:');
    const client = new Redis(ownUrl);
    t.teardown(() => client.disconnect());
    await t.rejects(store.lease('k', 'owner', Number.NaN), { name: 'ReplyError', message: /^ERR/ });
    await store.admit({ slot: { key: 'k', limit: 1, holder: 'a/1/1', leaseMs: MINUTE_MS } });
    for (const key of await client.keys('faults:*')) await client.set(key, 'of another type');
    await t.rejects(store.releaseSlot('k', 'a/1/1'), { name: 'ReplyError', message: /^WRONGTYPE/ });
  });

  t.test('a command that the server refuses for its state is an outage', async (t) => {
    const store = connect(t, ownUrl, 'state:');
    const client = new Redis(ownUrl);
    t.teardown(() => client.disconnect());
    const refused = () =>
      t.rejects(store.lease(randomText(8), 'owner', MINUTE_MS), { name: 'StoreUnavailableError' });
    await client.config('SET', 'maxmemory', 1);
    await refused();
    await client.config('SET', 'maxmemory', 0);
    await client.replicaof('127.0.0.1', 1);
    await refused();
    await client.replicaof('NO', 'ONE');
    t.equal(await store.lease('k', 'owner', MINUTE_MS), true);
    await client.config('SET', 'maxclients', 1);
    const late = connect(t, ownUrl, 'late:');
    await t.rejects(
      late.lease('k', 'owner', MINUTE_MS),
      { name: 'StoreUnavailableError' },
      'too many clients',
    );
    await client.config('SET', 'maxclients', 10_000);
    t.equal(await late.lease('k', 'owner', MINUTE_MS), true);
  });

  t.test('a lost connection is waited for, and restored without a restart', async (t) => {
    const proxy = await startProxy(Number(new URL(ownUrl).port));
    t.teardown(() => proxy.stop());
    const store = connect(t, `redis://127.0.0.1:${proxy.port}`, 'corrected:');
    const direct = connect(t, ownUrl, 'corrected:');
    const heard: string[] = [];
    await store.subscribe('wake', (message) => heard.push(message));
    const slot = { key: 'k', limit: 4, holder: 'a/1/1', leaseMs: MINUTE_MS };
    await store.admit({ slot });

    const inFlight = Array.from({ length: 20 }, (_, i) =>
      store.admit({ slot: { ...slot, holder: `a/1/${i}` } }),
    );
    await proxy.cut();
    const given = store.beginIdempotent('k', 'print', MINUTE_MS, MINUTE_MS);
    await proxy.restore();
    t.match(await given, { state: 'new' });
    t.equal(
      (await Promise.all(inFlight)).filter((answer) => answer.slot).length,
      4,
      'asked twice, counted once',
    );

    const woken = await until(async () => {
      await direct.publish('wake', 'up');
      return heard.length > 0;
    });
    t.ok(woken, 'the subscription came back');
  });

  t.test('a server that is away is told within the deadline, and taken up again', async (t) => {
    const proxy = await startProxy(Number(new URL(ownUrl).port));
    t.teardown(() => proxy.stop());
    const store = connect(t, `redis://127.0.0.1:${proxy.port}`, 'away:', 300);
    const answers = () =>
      store.ping().then(
        () => true,
        () => false,
      );
    t.ok(await until(answers));
    await proxy.cut();
    const unavailable = { name: 'StoreUnavailableError' };
    await t.rejects(store.ping(), unavailable);
    await t.rejects(store.admit({ rate: { key: 'k', limit: 1, windowMs: MINUTE_MS } }), unavailable);
    const subscribing = store.subscribe('wake', () => {});
    await t.rejects(subscribing, unavailable);
    await proxy.restore();
    t.ok(await until(answers));
    await store.close();
    await t.rejects(store.ping(), unavailable, 'a closed store answers at once');
  });
}

const shared = await startRedis();
const own = await startPrivateRedis();
if (shared === null || own === null) {
  t.pass('Redis keeps the contract', { skip: 'there is no Redis' });
} else {
  t.teardown(() => Promise.all([shared.stop(), own.stop()]));
  promisesOnRedis(shared.url, own.url);
}
