// needs: server, redis, mongodb
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { dropDatabase, randomDatabase, startMongo } from '../../../bench/services/mongodb.ts';
import { startRedis } from '../../../bench/services/redis.ts';
import { RedisCoordination } from '../../../src/platform/stores/coordination/redis.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { prepared } from '../../support/documents.ts';
import { startServer } from '../../support/harness.ts';
import { type Proxy as CuttableProxy, startProxy } from '../../support/services/proxy.ts';

const redis = await startRedis();
const mongo = await startMongo();

if (redis === null || mongo === null) {
  t.pass('outages', { skip: 'there is no Redis or no MongoDB' });
} else {
  t.teardown(() => Promise.all([redis.stop(), mongo.stop()]));

  for (const lost of ['coordination', 'documents'] as const) {
    t.test(
      `${lost} out of reach: a clear error within the deadline, health says so, and recovery without a restart`,
      async (t) => {
        const { stores, proxies } = await behindProxies(t, redis.url, mongo.url);
        const server = await startServer(t, { stores });
        const { key } = await server.account();
        t.equal((await server.call('/templates?filter=user', { key })).status, 200);

        // The thread that draws has started then.
        while ((await server.call('//readyz')).status !== 200);

        await proxies[lost].cut();
        const refused = await server.call('/templates?filter=user', { key });
        t.equal(refused.status, 500);
        t.equal(refused.json.error.code, 'internal_error');
        t.equal(refused.json.error.retryable, true);
        t.equal(refused.json.error.details.reason, 'store_unavailable');
        t.ok(Number(refused.headers.get('retry-after')) >= 1);
        const ready = await server.call('//readyz');
        t.equal(ready.status, 503);
        t.not(ready.json.parts[lost], 'ok');
        t.equal(ready.json.parts.pixels, 'ok');
        t.equal((await server.call('//healthz')).status, 200);

        await proxies[lost].restore();
        await t.resolves(stores[lost].ping());
        t.equal((await server.call('/templates?filter=user', { key })).status, 200);
        t.equal((await server.call('//readyz')).status, 200);
      },
    );
  }
}

/** Stores whose connections go through proxies that can be cut. */
async function behindProxies(t: Test, redisUrl: string, mongoUrl: string) {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-outage-'));
  const database = new URL(randomDatabase(mongoUrl));
  const proxies: Record<'coordination' | 'documents', CuttableProxy> = {
    coordination: await startProxy(Number(new URL(redisUrl).port)),
    documents: await startProxy(Number(database.port)),
  };
  const through = new URL(database);
  through.port = String(proxies.documents.port);
  const coordination = new RedisCoordination({
    url: `redis://127.0.0.1:${proxies.coordination.port}`,
    keyPrefix: `outage-${database.pathname.slice(1)}:`,
    deadlineMs: 3_000,
  });
  const documents = await prepared(connectMongoDocuments(through.href));
  const objects = new FileObjectStore(join(directory, 'objects'));
  const stores: Stores = { documents, coordination, objects, close: async () => undefined };
  t.teardown(async () => {
    await coordination.close();
    await documents.close();
    await dropDatabase(database.href);
    await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
    await rm(directory, { recursive: true, force: true });
  });
  return { stores, proxies };
}
