import { fork } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { randomDatabase, startMongo } from '../../bench/services/mongodb.ts';
import { startPrivateRedis } from '../../bench/services/redis.ts';
import { readSettings } from '../../config/index.ts';
import { newId } from '../../src/platform/ids/ids.ts';
import { PrimaryChannelHost } from '../../src/platform/stores/embedded/channel.ts';
import { openStores } from '../../src/platform/stores/open.ts';
import { EventOutbox } from '../../src/product/events/open.ts';
import { releaseEndpointsByHolder } from '../../src/product/webhooks/deliveries/schedule.ts';
import { newSigningSecret } from '../../src/product/webhooks/endpoints/signing.ts';
import { EndpointsStore } from '../../src/product/webhooks/endpoints/store.ts';
import { prepared } from '../support/documents.ts';

/**
 * `node test/chaos/webhooks.ts`: announces 5,000 outcomes on Redis and MongoDB while processes are killed with SIGKILL
 * 20 times and Redis is flushed once, and counts the deliveries. Exits 1 when one is missing, or when more were
 * repeated than were in progress at the kills and the flush. Takes two minutes.
 */
const OUTCOMES = 5_000;
const ENDPOINTS = 50;
const KILLS = 20;
const PROCESSES = 3;
const BATCH = 25;
const TIMEOUT_MS = 240_000;

const [redis, mongo] = await Promise.all([startPrivateRedis(), startMongo()]);
if (redis === null || mongo === null) throw new Error('Redis and a MongoDB are needed.');
const environment = {
  DATA_DIR: await mkdtemp(join(tmpdir(), 'darkroom-chaos-')),
  REDIS_URL: redis.url,
  MONGODB_URL: randomDatabase(mongo.url),
  PROCESSES: '1',
};
const stores = await openStores(readSettings(environment).stores, new PrimaryChannelHost());
await prepared(stores.documents);
const events = await EventOutbox.open(stores);
const receiver = fork(join(import.meta.dirname, '../../bench/webhooks/receiver.ts'));
const [url] = (await once(receiver, 'message')) as [string];
const accountIds = Array.from({ length: ENDPOINTS }, () => newId('acc'));
const endpoints = new EndpointsStore(stores.documents);
const settings = { description: '', events: ['job.completed' as const], enabled: true };
for (const id of accountIds)
  await endpoints.insert(id, { ...settings, url: `${url}/${id}`, secret: newSigningSecret() }, new Date());

const living = new Map<Worker, string>();
cluster.setupPrimary({ exec: join(import.meta.dirname, '../../bench/webhooks/process.ts') });
for (let n = 0; n < PROCESSES; n += 1) start(n);

const announced = announce();
let killed = 0;
for (; killed < KILLS; killed += 1) {
  await sleep(2_000 + Math.random() * 2_000);
  if (killed === KILLS / 2) await flush();
  await killOne();
}
await announced;
const { delivered, repeated } = await count();
const missing = OUTCOMES - delivered;
// Each process has at most one attempt of an endpoint under way; those of a kill and of the flush may come again.
const mayRepeat = (KILLS + 1) * ENDPOINTS;
console.log({ announced: OUTCOMES, delivered, missing, repeated, killed, mayRepeat });
for (const worker of living.keys()) worker.process.kill('SIGKILL');
receiver.disconnect();
await stores.close();
await Promise.all([redis.stop(), mongo.stop()]);
process.exit(missing > 0 || repeated > mayRepeat ? 1 : 0);

function start(n: number): void {
  const hostId = `host-${n % 2}`;
  const processId = newId('run');
  const worker = cluster.fork({ ...environment, DARKROOM_HOST_ID: hostId, DARKROOM_PROCESS_ID: processId });
  living.set(worker, `${hostId}/${processId}/`);
}

/** Kills a process at random, and does what its primary does: gives back what it held, and starts another. */
async function killOne(): Promise<void> {
  const [worker, holders] = [...living][Math.floor(Math.random() * living.size)] ?? [];
  if (worker === undefined || holders === undefined) return;
  const gone = once(worker, 'exit');
  worker.process.kill('SIGKILL');
  living.delete(worker);
  await gone;
  start(killed);
  await releaseEndpointsByHolder(stores.coordination, holders);
}

async function flush(): Promise<void> {
  const client = new Redis(environment.REDIS_URL);
  await client.flushall();
  client.disconnect();
  console.log('Redis was flushed');
}

/** As a writer of jobs does: the ids are chosen before, and a write that failed is repeated. */
async function announce(): Promise<void> {
  for (let n = 0; n < OUTCOMES; n += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) =>
      outcome(accountIds[(n + i) % ENDPOINTS] ?? '', n + i),
    );
    while (!(await isWritten(batch))) await sleep(500);
    await sleep(250);
  }
}

async function isWritten(batch: ReturnType<typeof outcome>[]): Promise<boolean> {
  return events.write(batch).then(
    () => true,
    () => false,
  );
}

function outcome(accountId: string, sequence: number) {
  const type = 'job.completed' as const;
  return {
    id: newId('evt'),
    accountId,
    type,
    createdAt: new Date().toISOString(),
    sequence,
    data: { sequence },
  };
}

async function count(): Promise<{ delivered: number; repeated: number }> {
  const total = { delivered: 0, repeated: 0 };
  const endsMs = performance.now() + TIMEOUT_MS;
  while (total.delivered < OUTCOMES && performance.now() < endsMs) {
    receiver.send('report');
    const [report] = (await once(receiver, 'message')) as [{ delaysMs: number[]; repeated: number }];
    total.delivered += report.delaysMs.length;
    total.repeated += report.repeated;
    await sleep(500);
  }
  return total;
}
