import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { type Api, openApi } from './api.ts';
import type { BareCase, BareResult } from './bare-sharp.ts';
import { cpuMs } from './cpu.ts';
import { engineAlone } from './engine-alone.ts';
import { photograph } from './load/pictures.ts';
import { type BenchServer, startBenchServer } from './server.ts';
import { dropDatabase, randomDatabase, startMongo } from './services/mongodb.ts';
import { startRedis } from './services/redis.ts';
import { median, round, type SuiteResult, type SuiteRow } from './suite.ts';

/**
 * Number of items of a job that is compared with bare sharp; the engine alone gets far more, because its items take no
 * time.
 */
const ITEMS = Number(process.env.BENCH_ITEMS ?? 200);
const ENGINE_ITEMS = Number(process.env.BENCH_ENGINE_ITEMS ?? 5_000);
const CALLS = Number(process.env.BENCH_CALLS ?? 40);
/** Number of first rounds that only warm up the threads and the compiler. */
const WARM_UP_ROUNDS = 10;
/** The pause after an answer. The CPU time of its clean-up in this pause counts towards the answer. */
const CLEAN_UP_MS = 40;
/** Duration of a run of bare sharp, which then has the machine to itself. */
const BARE_MS = 8_000;
const RESIZE = { width: 512, format: 'jpeg', quality: 80 } as const;

/**
 * Compares batches with bare sharp, compares a job that the call waits for with a synchronous call, and measures the
 * engine without any work.
 */
export async function run(): Promise<SuiteResult> {
  const rows = [
    ...(await jobRows()),
    engineRow('embedded', await engineAlone(ENGINE_ITEMS)),
    ...(await engineOnServers()),
  ];
  console.table(rows);
  const method = `A resize job of ${ITEMS} items over 20 assets, from its submit to its end, compared with bare sharp in one process with two threads over the same file, one after the other. A waited job of one item and a synchronous transform of the same asset, in turn, ${CALLS} times; CPU of all processes, with the clean-up after the answer. The engine alone: one process, work that answers at once. The MongoDB is the one that the tests run on; where that is the server in Java, it keeps nothing on disk.`;
  return { method, rows };
}

async function jobRows(): Promise<SuiteRow[]> {
  await using server = await startBenchServer();
  const large = new Uint8Array(await photograph());
  const small = new Uint8Array(await sharp(large).resize(1152).jpeg({ quality: 85 }).toBuffer());
  const api = openApi(server);
  return [
    await measureBatch(api, '12 MP', large),
    await measureBatch(api, '1 MP', small),
    await measureWaitedJobs(server, small),
  ];
}

function engineRow(stores: string, { submitMs, runMs }: { submitMs: number; runMs: number }): SuiteRow {
  return {
    case: `engine alone, ${ENGINE_ITEMS} items, ${stores}`,
    'items/s': round((ENGINE_ITEMS * 1_000) / runMs, 0),
    'submit ms': round(submitMs, 0),
  };
}

/** Measures the engine on Redis and MongoDB; empty if either server cannot run here. */
async function engineOnServers(): Promise<SuiteRow[]> {
  const [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
  try {
    if (redis === null || mongo === null) return [];
    const mongodb = randomDatabase(mongo.url);
    const measured = await engineAlone(ENGINE_ITEMS, { redis: redis.url, mongodb });
    await dropDatabase(mongodb);
    return [engineRow('Redis and MongoDB', measured)];
  } finally {
    await Promise.all([redis?.stop(), mongo?.stop()]);
  }
}

async function measureBatch(api: Api, name: string, picture: Uint8Array<ArrayBuffer>): Promise<SuiteRow> {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => upload(api, picture, index)));
  const assetIds = Array.from({ length: ITEMS }, (_, index) => ids[index % ids.length] ?? '');
  // The warm-up job is large enough to count as a batch. Batches have their own processes, which start once and stay
  // while there are batches.
  await completeJob(api, { op: 'resize', parameters: RESIZE, assetIds: ids });
  const startedMs = performance.now();
  await completeJob(api, { op: 'resize', parameters: RESIZE, assetIds });
  const perSecond = (ITEMS * 1_000) / (performance.now() - startedMs);
  const bare = await measureBarePerSecond(picture);
  return {
    case: `resize, ${name}, ${ITEMS} items`,
    'items/s': round(perSecond, 1),
    'bare sharp/s': round(bare, 1),
    ratio: round(perSecond / bare),
  };
}

async function measureWaitedJobs(server: BenchServer, picture: Uint8Array<ArrayBuffer>): Promise<SuiteRow> {
  const api = openApi(server);
  const assetId = await upload(api, picture, 99);
  const query = new URLSearchParams({ op: 'resize', width: '512', format: 'jpeg', quality: '80' });
  const kinds = {
    job: () => api.send('/jobs?wait=30', { op: 'resize', parameters: RESIZE, assetIds: [assetId] }),
    call: () => api.send(`/images/transform?${query}`, { assetId }),
  };
  const took = { job: [] as number[], call: [] as number[] };
  const cpu = { job: 0, call: 0 };
  for (let index = 0; index < WARM_UP_ROUNDS + CALLS; index += 1) {
    for (const kind of ['job', 'call'] as const) {
      const cpuBeforeMs = cpuMs(server.pid);
      const startedMs = performance.now();
      const response = await kinds[kind]();
      await response.bytes();
      if (!response.ok) throw new Error(`A ${kind} was answered with ${response.status}.`);
      const tookMs = performance.now() - startedMs;
      await pause(CLEAN_UP_MS);
      if (index < WARM_UP_ROUNDS) continue;
      took[kind].push(tookMs);
      cpu[kind] += cpuMs(server.pid) - cpuBeforeMs;
    }
  }
  return {
    case: 'waited job of one item, 1 MP',
    'job ms p50': round(median(took.job), 1),
    'call ms p50': round(median(took.call), 1),
    'more ms': round(median(took.job) - median(took.call), 1),
    'more CPU ms': round((cpu.job - cpu.call) / CALLS, 1),
  };
}

/** Each upload differs in its last byte, so that none is an asset already. */
async function upload(api: Api, picture: Uint8Array, index: number): Promise<string> {
  const bytes = Buffer.concat([picture, Buffer.from([index])]);
  const { id } = await api.post('/assets/upload', { type: 'image/jpeg', bytes });
  return String(id);
}

/** Resolves when the job is completed. @throws Error when it fails. */
async function completeJob(api: Api, job: object): Promise<void> {
  const { id } = await api.post('/jobs', job);
  for (;;) {
    const { status, errorMessage } = await api.get(`/jobs/${id}?wait=60`);
    if (status === 'COMPLETED') return;
    if (status === 'FAILED') throw new Error(`The job failed: ${errorMessage}`);
  }
}

async function measureBarePerSecond(picture: Uint8Array): Promise<number> {
  const child = fork(join(import.meta.dirname, 'bare-sharp.ts'), {
    env: { ...process.env, UV_THREADPOOL_SIZE: '2' },
  });
  const { width: size, format, quality } = RESIZE;
  const bareCase: BareCase = { input: Buffer.from(picture).toString('base64'), size, format, quality };
  child.send({ bareCase, inFlight: 4, durationMs: BARE_MS });
  const [{ perSecond }] = (await once(child, 'message')) as [BareResult];
  child.kill();
  return perSecond;
}
