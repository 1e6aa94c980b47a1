// needs: documents
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import {
  coordinationOverChannel,
  EmbeddedCoordination,
  provideCoordination,
} from '../../../../src/platform/stores/coordination/embedded.ts';
import { ExpiringMap } from '../../../../src/platform/stores/coordination/expiring.ts';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { channelPair } from '../channel-pair.ts';
import { coordinationContract } from './contract.ts';
import { begun, until } from './harness.ts';

const DAY_MS = 86_400_000;
const kept = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'kept, with ünïcode' };

/** A clock that stands until it is moved. */
function clock() {
  let nowMs = Date.parse('2026-05-04T03:02:01.000Z');
  return {
    now: () => nowMs,
    elapse: (ms: number) => {
      nowMs += ms;
    },
  };
}

async function openStore(t: Test, now: () => number, path = join(t.testdir(), 'documents.sqlite')) {
  const documents = openEmbeddedDocuments(path);
  const store = new EmbeddedCoordination(documents, now);
  let open = true;
  const close = async () => {
    if (!open) return;
    open = false;
    await store.close();
    await documents.close();
  };
  t.teardown(close);
  return { store, documents, close };
}

t.test('in the primary', async (t) => {
  const { documents } = await openStore(t, Date.now);
  coordinationContract(t, async () => {
    const { now, elapse } = clock();
    const store = new EmbeddedCoordination(documents, now);
    return { connect: async () => store, elapse };
  });
});

t.test('from API processes', async (t) => {
  const { documents } = await openStore(t, Date.now);
  coordinationContract(t, async () => {
    const { now, elapse } = clock();
    const store = new EmbeddedCoordination(documents, now);
    return {
      elapse,
      async connect() {
        const { host, channel } = channelPair();
        provideCoordination(host, store);
        return coordinationOverChannel(channel);
      },
    };
  });
});

t.test('the primary itself is heard by its processes, and hears them', async (t) => {
  const { store } = await openStore(t, Date.now);
  const { host, channel, cut } = channelPair();
  provideCoordination(host, store);
  const remote = coordinationOverChannel(channel);
  const heard: string[] = [];
  await remote.subscribe('wake', (message) => heard.push(`process ${message}`));
  await store.subscribe('wake', (message) => heard.push(`primary ${message}`));
  t.equal(await store.publish('wake', '1'), 2);
  t.equal(await remote.publish('wake', '2'), 2);
  t.ok(await until(async () => heard.length === 4));
  t.same(heard.toSorted(), ['primary 1', 'primary 2', 'process 1', 'process 2']);

  await t.rejects(
    channel.call('coordination', 'close', []),
    /has no method close/,
    'no process ends the store',
  );
  cut();
  await t.rejects(remote.ping(), { name: 'StoreUnavailableError' });
});

t.test('a restart forgets no idempotency key', async (t) => {
  const { now, elapse } = clock();
  const path = join(t.testdir(), 'documents.sqlite');
  const before = await openStore(t, now, path);
  const token = await begun(before.store, 'answered', 'print');
  await before.store.keepIdempotent('answered', token, kept);
  await begun(before.store, 'died', 'print');
  await before.close();

  const { store } = await openStore(t, now, path);
  const again = (key: string) => store.beginIdempotent(key, 'print', 300_000, DAY_MS);
  t.same(await again('answered'), { state: 'replay', response: kept });
  t.same(await again('died'), { state: 'running' });
  elapse(60_000);
  t.match(await again('died'), { state: 'new' }, 'a request that died holds its key for its time');
  elapse(DAY_MS - 60_001);
  t.match(await again('answered'), { state: 'replay' }, 'kept to the last millisecond');
  elapse(1);
  t.match(await again('answered'), { state: 'new' });
});

t.test('expired idempotency records are deleted, a batch at a time', async (t) => {
  const { now, elapse } = clock();
  const { store, documents } = await openStore(t, now);
  await Promise.all(Array.from({ length: 250 }, (_, i) => begun(store, `old-${i}`, 'print')));
  elapse(DAY_MS);
  const records = documents.collection({ name: 'idempotency', indexes: [] });
  const left = async () => records.count({ _id: { $gte: 'old-', $lt: 'old.' } });
  for (let beginning = 0; beginning < 50 && (await left()) > 0; beginning++) {
    await begun(store, randomText(8), 'print');
  }
  t.equal(await left(), 0);
});

t.test('windows turn, slots and leases end on their very millisecond', async (t) => {
  const { now, elapse } = clock();
  const { store } = await openStore(t, now);
  const rate = { key: 'k', limit: 1, windowMs: 1000 };
  const slot = { key: 'k', limit: 1, holder: 'a', leaseMs: 1000 };
  t.match((await store.admit({ rate })).rate, { allowed: true, remaining: 0, resetMs: 1000 });
  t.equal((await store.admit({ slot })).slot, true);
  t.equal(await store.lease('k', 'a', 1000), true);
  elapse(999);
  t.match((await store.admit({ rate })).rate, { allowed: false, remaining: 0, resetMs: 1 });
  t.equal((await store.admit({ slot: { ...slot, holder: 'b' } })).slot, false);
  t.equal(await store.lease('k', 'b', 1000), false);
  elapse(1);
  t.match((await store.admit({ rate })).rate, { allowed: true, remaining: 0, resetMs: 1000 });
  t.equal((await store.admit({ slot: { ...slot, holder: 'b' } })).slot, true);
  t.equal(await store.lease('k', 'b', 1000), true);
});

t.test('memory keeps to what is alive', async (t) => {
  const { now, elapse } = clock();
  const map = new ExpiringMap<number>(now);
  map.set('long', 0, now() + DAY_MS);
  for (let i = 0; i < 100_000; i++) {
    map.set(`key-${i}`, i, now() + 100);
    elapse(1);
  }
  t.ok(map.size <= 300, `${map.size} entries for some 100 that live`);
  t.equal(map.get('long'), 0);
  t.equal(map.get('key-99998'), 99_998);
  t.equal(map.get('key-0'), undefined);
});
