import { type ChildProcess, fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import sharp from 'sharp';
import { forEachWithLimit } from '../../src/platform/queues.ts';
import { openApi } from '../api.ts';
import type { BareCase, BareRequest, BareResult } from '../bare-sharp.ts';
import { cpuMs } from '../cpu.ts';
import { photograph } from '../load/pictures.ts';
import { type BenchServer, startBenchServer } from '../server.ts';
import { type CallCost, measureCall, ratios, type ServerUnderTest } from '../small-calls/call-cost.ts';
import { median, round, type SuiteResult, type SuiteRow } from '../suite.ts';
import { startNginx } from './nginx.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000);
const WARM_UP_MS = 2_000;
/**
 * The number of pictures on the disk. It is more than a process keeps in memory, so that requests for all of them in
 * turn always read the disk.
 */
const PICTURES_ON_DISK = 1_000;
const EQUAL_REQUESTS = 100;
const CALLS_IN_FLIGHT = 4;
const PICTURE_TYPE = 'image/png';

const MIN_RATIOS = { memory: 0.6, disk: 0.4, distinct: 0.95, equal: 20 } as const;

/** An account's own server: it signs addresses of one asset. */
interface AddressSigner {
  address(what: string, extension: string): string;
}

/**
 * Compares delivered pictures with a bare implementation: cached pictures with bare Fastify and with nginx, in one
 * process each, and new pictures with bare sharp.
 */
export async function run(): Promise<SuiteResult> {
  const kept = await measureCached();
  const made = await measureNew();
  const rows = [...kept, ...made];
  console.table(rows);
  const method = `Medians of ${ROUNDS} rounds of ${ROUND_MS} ms, in turn. Kept pictures: one API process, bare Fastify that answers bytes of the same picture from memory and, where the machine has it, nginx with one worker that serves it as a file, 8 connections. On the disk: ${PICTURES_ON_DISK} pictures in turn, more than the memory holds. Distinct pictures: a 12 MP JPEG to about 512 px WebP, ${CALLS_IN_FLIGHT} in flight, two threads on both sides. Equal ones: ${EQUAL_REQUESTS} at once for a picture that is not made yet, beside bare sharp that makes ${EQUAL_REQUESTS}.`;
  const missed = rows.flatMap(({ case: name, ratio, aim }) =>
    Number(ratio) < Number(aim) ? [`${name}: ${ratio} beside the aim of ${aim}.`] : [],
  );
  return { method, rows, missed };
}

async function measureCached(): Promise<SuiteRow[]> {
  await using server = await startBenchServer({ PROCESSES: '1' });
  using bare = fork(join(import.meta.dirname, 'bare-picture.ts'));
  const { address } = await openSigner(server, await smallPhotograph());
  const inMemory = address('resize:width=200', 'png');
  const onDisk = Array.from({ length: PICTURES_ON_DISK }, (_, index) =>
    address(`adjust:hue=${1 + (index % 359)},brightness=${1 + Math.floor(index / 359) / 10}`, 'png'),
  );
  const picture = await read(server, inMemory);
  await forEachWithLimit(onDisk, CALLS_IN_FLIGHT, (path) => read(server, path));
  bare.send({ bytes: picture.toString('base64'), type: PICTURE_TYPE });
  const [url] = (await once(bare, 'message')) as [string];
  const plain = { url, pid: bare.pid ?? 0 };
  await using nginx = await startNginx(picture, PICTURE_TYPE);
  if (nginx === null) console.log('nginx is missing, so nothing is compared with it.');
  const sides = { service: server, plain, nginx };
  return [
    await measureCase('kept in memory', { aim: MIN_RATIOS.memory, path: inMemory, paths: [inMemory] }, sides),
    await measureCase('kept on the disk', { aim: MIN_RATIOS.disk, path: '/', paths: onDisk }, sides),
  ];
}

interface Sides {
  service: ServerUnderTest;
  plain: ServerUnderTest;
  nginx: ServerUnderTest | null;
}

async function measureCase(
  name: string,
  { aim, path, paths }: { aim: number; path: string; paths: readonly string[] },
  { service, plain, nginx }: Sides,
): Promise<SuiteRow> {
  const headers = {};
  const costs: Record<'ours' | 'plain' | 'nginx', CallCost[]> = { ours: [], plain: [], nginx: [] };
  await measureCall(service, { path, paths, headers }, WARM_UP_MS);
  await measureCall(plain, { path: '/picture', headers }, WARM_UP_MS);
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    costs.plain.push(await measureCall(plain, { path: '/picture', headers }, ROUND_MS));
    costs.ours.push(await measureCall(service, { path, paths, headers }, ROUND_MS));
    if (nginx !== null) costs.nginx.push(await measureCall(nginx, { path: '/picture', headers }, ROUND_MS));
  }
  const speeds = (side: CallCost[]) => side.map(({ perSecond }) => perSecond);
  const cpu = (side: CallCost[]) => round(median(side.map(({ cpuMsEach }) => cpuMsEach)), 3);
  return {
    case: name,
    'service/s': round(median(speeds(costs.ours)), 0),
    'bare/s': round(median(speeds(costs.plain)), 0),
    ratio: round(median(ratios(speeds(costs.ours), speeds(costs.plain)))),
    aim,
    'CPU ms': cpu(costs.ours),
    'bare CPU ms': cpu(costs.plain),
    ...(nginx !== null && {
      'nginx/s': round(median(speeds(costs.nginx)), 0),
      'beside nginx': round(median(ratios(speeds(costs.ours), speeds(costs.nginx)))),
    }),
  };
}

async function measureNew(): Promise<SuiteRow[]> {
  await using server = await startBenchServer({ IMAGE_WAIT_MS: '60000', TRANSFORM_TIMEOUT_MS: '60000' });
  using bare = fork(join(import.meta.dirname, '../bare-sharp.ts'), {
    env: { ...process.env, UV_THREADPOOL_SIZE: '2' },
  });
  const input = await photograph();
  const { address } = await openSigner(server, input);
  const next = distinctAddresses(address);
  const bareCase = { input: input.toString('base64'), size: 512, format: 'webp', quality: 80 } as const;
  await makeFor(server, next, WARM_UP_MS);
  await makeBare(bare, bareCase, WARM_UP_MS);
  const ours: CallCost[] = [];
  const plain: CallCost[] = [];
  const equalMs: number[] = [];
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    plain.push(await makeBare(bare, bareCase, ROUND_MS));
    ours.push(await makeFor(server, next, ROUND_MS));
    equalMs.push(await timeEqualCalls(server, next()));
  }
  const speeds = (side: CallCost[]) => side.map(({ perSecond }) => perSecond);
  const cpu = (side: CallCost[]) => round(median(side.map(({ cpuMsEach }) => cpuMsEach)), 1);
  const bareSpeed = median(speeds(plain));
  const equalSpeeds = equalMs.map((ms) => (EQUAL_REQUESTS * 1_000) / ms);
  return [
    {
      case: 'distinct',
      'service/s': round(median(speeds(ours)), 1),
      'bare/s': round(bareSpeed, 1),
      ratio: round(median(ratios(speeds(ours), speeds(plain)))),
      aim: MIN_RATIOS.distinct,
      'CPU ms': cpu(ours),
      'bare CPU ms': cpu(plain),
    },
    {
      case: `${EQUAL_REQUESTS} equal at once`,
      'service/s': round(median(equalSpeeds), 0),
      'bare/s': round(bareSpeed, 1),
      ratio: round(median(equalSpeeds) / bareSpeed, 1),
      aim: MIN_RATIOS.equal,
    },
  ];
}

/**
 * Returns addresses that were never requested before. On average, their pictures cost as much as one of 512 px at
 * quality 80.
 */
function distinctAddresses(address: AddressSigner['address']): () => string {
  const widths = Array.from({ length: 101 }, (_, index) => 462 + index);
  const qualities = Array.from({ length: 21 }, (_, index) => 70 + index);
  const all = widths.flatMap((width) => qualities.map((quality) => ({ width, quality, at: Math.random() })));
  all.sort((one, other) => one.at - other.at);
  return () => {
    const { width = 0, quality } = all.pop() ?? {};
    if (width === 0) throw new Error('There are no more addresses: set a smaller BENCH_ROUND_MS.');
    return address(`resize:width=${width},format=webp,quality=${quality}`, 'webp');
  };
}

/** Makes distinct pictures for a time. */
async function makeFor(server: BenchServer, next: () => string, durationMs: number): Promise<CallCost> {
  const usedMs = cpuMs(server.pid);
  const startedMs = performance.now();
  let made = 0;
  const worker = async () => {
    while (performance.now() - startedMs < durationMs) {
      await read(server, next());
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, worker));
  const perSecond = (made * 1_000) / (performance.now() - startedMs);
  return { perSecond, cpuMsEach: (cpuMs(server.pid) - usedMs) / made };
}

async function makeBare(bare: ChildProcess, bareCase: BareCase, durationMs: number): Promise<CallCost> {
  const usedMs = cpuMs(bare.pid ?? 0);
  bare.send({ bareCase, inFlight: CALLS_IN_FLIGHT, durationMs } satisfies BareRequest);
  const [{ perSecond, durationsMs }] = (await once(bare, 'message')) as [BareResult];
  return { perSecond, cpuMsEach: (cpuMs(bare.pid ?? 0) - usedMs) / durationsMs.length };
}

/** The milliseconds that a hundred equal, concurrent calls for a new picture take. */
async function timeEqualCalls(server: BenchServer, path: string): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: EQUAL_REQUESTS }, () => read(server, path)));
  return performance.now() - startedMs;
}

async function read({ url }: { url: string }, path: string): Promise<Buffer> {
  const answer = await fetch(`${url}${path}`);
  if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}.`);
  return Buffer.from(await answer.arrayBuffer());
}

async function openSigner(server: BenchServer, picture: Buffer): Promise<AddressSigner> {
  const api = openApi(server);
  const { id, secret } = await api.post('/signing-keys', { name: 'bench' });
  const asset = await api.post('/assets/upload', { type: 'image/jpeg', bytes: picture });
  return {
    address(what, extension) {
      const path = `${what}/${asset.id}.${extension}`;
      const digest = createHmac('sha256', String(secret)).update(path).digest('base64url');
      return `/d/${id}/${digest.slice(0, 32)}/${path}`;
    },
  };
}

/** A photograph whose PNG has about 60 kB. */
async function smallPhotograph(): Promise<Buffer> {
  return sharp(await photograph())
    .resize({ width: 200 })
    .jpeg({ quality: 95 })
    .toBuffer();
}
