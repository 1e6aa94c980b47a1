import { type ChildProcess, fork } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSettings } from '../config/index.ts';
import { COLLECTIONS } from '../src/host/collections.ts';
import { newId, randomText } from '../src/platform/ids/ids.ts';
import type { DocumentStore } from '../src/platform/stores/documents/port.ts';
import { PrimaryChannelHost } from '../src/platform/stores/embedded/channel.ts';
import { openStores } from '../src/platform/stores/open.ts';
import { newSigningSecret } from '../src/product/webhooks/endpoints/signing.ts';
import { EndpointsStore } from '../src/product/webhooks/endpoints/store.ts';
import { cpuMs } from './cpu.ts';
import { randomDatabase, startMongo } from './services/mongodb.ts';
import { startPrivateRedis } from './services/redis.ts';
import { percentile, round, type SuiteResult, type SuiteRow } from './suite.ts';
import type { AnnouncedLoad } from './webhooks/process.ts';
import type { ReceiverReport } from './webhooks/receiver.ts';

const PROCESSES = 2;
const ENDPOINTS = 100;
const HANGING_ENDPOINTS = 900;
const STAGE_SECONDS = 10;
/** Outcomes per second. The last rate exceeds the capacity, and shows the maximum. */
const RATES = [100, 500, 1_000, 2_000];
const TIMEOUT_MS = 60_000;
/** One host for all of the stores opened in turn, because the processes reach the stores that were provided last. */
const HOST = new PrimaryChannelHost();

const METHOD_TEXT = [
  `${PROCESSES} API processes (without calls) announce outcomes in an open loop, each in a write of its own, over ${ENDPOINTS} endpoints of as many accounts;`,
  'receivers in a process of their own, on the same cores, take each delivery over a new connection.',
  'Time is from the instant of the outcome to the arrival of the first attempt. "hanging" endpoints get the same events and never answer.',
  'CPU time is that of all processes together, receiver and embedded stores included: it holds whatever else the machine does.',
  'The MongoDB is the one that the tests run on; where that is the server in Java, it keeps nothing on disk.',
].join(' ');

interface WebhookSetup {
  stores: 'embedded' | 'Redis and MongoDB';
  protocol: 'http' | 'https';
  hanging: number;
  rates: number[];
}

const WEBHOOK_SETUPS: WebhookSetup[] = [
  { stores: 'embedded', protocol: 'http', hanging: 0, rates: RATES },
  { stores: 'embedded', protocol: 'https', hanging: 0, rates: [200, 1_000] },
  { stores: 'embedded', protocol: 'http', hanging: HANGING_ENDPOINTS, rates: [100] },
  { stores: 'Redis and MongoDB', protocol: 'http', hanging: 0, rates: RATES },
  { stores: 'Redis and MongoDB', protocol: 'http', hanging: HANGING_ENDPOINTS, rates: [100] },
];

export async function run(): Promise<SuiteResult> {
  const rows: SuiteRow[] = [];
  for (const setup of WEBHOOK_SETUPS) rows.push(...(await measure(setup)));
  console.table(rows);
  return { method: METHOD_TEXT, rows };
}

async function measure(setup: WebhookSetup): Promise<SuiteRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-bench-'));
  const cleanUp = [() => rm(directory, { recursive: true, force: true })];
  try {
    const environment: Record<string, string> = { DATA_DIR: directory, PROCESSES: String(PROCESSES) };
    if (setup.stores !== 'embedded') {
      const [redis, mongo] = await Promise.all([startPrivateRedis(), startMongo()]);
      if (redis === null || mongo === null) return [];
      cleanUp.unshift(redis.stop, mongo.stop);
      Object.assign(environment, { REDIS_URL: redis.url, MONGODB_URL: randomDatabase(mongo.url) });
    }
    const stores = await openStores(readSettings(environment).stores, HOST);
    cleanUp.unshift(() => stores.close());
    await Promise.all(COLLECTIONS.map((spec) => stores.documents.prepare(spec)));
    const receiver = await startReceiver(setup.protocol);
    cleanUp.unshift(async () => void receiver.process.disconnect());
    const accountIds = await registerEndpoints(stores.documents, receiver.url, setup.hanging);
    const processes = await startProcesses(environment);
    cleanUp.unshift(() => endProcesses(processes));
    const rows: SuiteRow[] = [];
    for (const perSecond of setup.rates) {
      rows.push({
        ...labelsOf(setup),
        ...(await measureRate(perSecond, accountIds, processes, receiver.process)),
      });
      console.log(rows.at(-1));
    }
    return rows;
  } finally {
    for (const clean of cleanUp) await clean();
  }
}

function labelsOf({ stores, protocol, hanging }: WebhookSetup) {
  return { stores, protocol, hanging };
}

async function measureRate(
  perSecond: number,
  accountIds: string[],
  processes: readonly Worker[],
  receiver: ChildProcess,
): Promise<SuiteRow> {
  const startMs = performance.now();
  const startCpuMs = cpuMs(process.pid);
  const announced = processes.map((one) => waitForMessage(one, 'announced'));
  const load: AnnouncedLoad = { accountIds, perSecond: perSecond / PROCESSES, seconds: STAGE_SECONDS };
  for (const one of processes) one.send({ kind: 'load', load });
  const delaysMs: number[] = [];
  let repeated = 0;
  let lastMs = startMs;
  const expected = perSecond * STAGE_SECONDS;
  while (delaysMs.length < expected && performance.now() - startMs < TIMEOUT_MS) {
    await sleep(100);
    receiver.send('report');
    const [report] = (await once(receiver, 'message')) as [ReceiverReport];
    if (report.delaysMs.length > 0) lastMs = performance.now();
    delaysMs.push(...report.delaysMs);
    repeated += report.repeated;
  }
  await Promise.all(announced);
  return {
    outcomesPerSecond: perSecond,
    deliveriesPerSecond: Math.round(delaysMs.length / ((lastMs - startMs) / 1000)),
    p50Ms: percentile(delaysMs, 0.5),
    p99Ms: percentile(delaysMs, 0.99),
    cpuMsPerDelivery: round((cpuMs(process.pid) - startCpuMs) / delaysMs.length),
    missing: expected - delaysMs.length,
    repeated,
  };
}

/** Registers one endpoint per account; hanging ones are spread over the accounts as further endpoints. */
async function registerEndpoints(documents: DocumentStore, base: string, hanging: number): Promise<string[]> {
  const endpoints = new EndpointsStore(documents);
  const accountIds = Array.from({ length: ENDPOINTS }, () => newId('acc'));
  const common = { description: '', events: ['job.completed' as const], enabled: true };
  const longAgo = new Date(Date.now() - 60_000);
  const add = (accountId: string, url: string) =>
    endpoints.insert(accountId, { ...common, url, secret: newSigningSecret() }, longAgo);
  await Promise.all(accountIds.map((id) => add(id, `${base}/${randomText(6)}`)));
  for (let n = 0; n < hanging; n += 1) await add(accountIds[n % ENDPOINTS] ?? '', `${base}/hang/${n}`);
  return accountIds;
}

async function startReceiver(protocol: WebhookSetup['protocol']) {
  const receiver = fork(
    join(import.meta.dirname, 'webhooks/receiver.ts'),
    protocol === 'https' ? ['tls'] : [],
  );
  const [url] = (await once(receiver, 'message')) as [string];
  return { process: receiver, url };
}

async function startProcesses(environment: Record<string, string>): Promise<Worker[]> {
  cluster.setupPrimary({ exec: join(import.meta.dirname, 'webhooks/process.ts') });
  const processes = Array.from({ length: PROCESSES }, () => cluster.fork(environment));
  await Promise.all(processes.map((one) => waitForMessage(one, 'ready')));
  return processes;
}

async function endProcesses(processes: readonly Worker[]): Promise<void> {
  const gone = processes.map((one) => once(one, 'exit'));
  for (const one of processes) one.process.kill('SIGTERM');
  await Promise.all(gone);
}

/** Resolves at the next message of this kind. */
function waitForMessage(worker: Worker, kind: string): Promise<void> {
  return new Promise((resolve) => {
    const listener = (message: { kind?: string }) => {
      if (message.kind !== kind) return;
      worker.off('message', listener);
      resolve();
    };
    worker.on('message', listener);
  });
}
