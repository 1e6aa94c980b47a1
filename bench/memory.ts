import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEGABYTE_BYTES } from '../src/platform/values/units.ts';
import { seededRandom } from '../workers/models/random.ts';
import { type Api, openApi, type SentBytes } from './api.ts';
import { processesBelow } from './cpu.ts';
import { startBenchServer } from './server.ts';
import { mean, round, type SuiteResult, type SuiteRow } from './suite.ts';

const CALLS = Number(process.env.BENCH_CALLS ?? 5_000);
const CALLS_PER_SAMPLE = 250;
/** The number of calls after which caches, compilers and allocators have reached their steady size. */
const SETTLED_AFTER_CALLS = 0.4 * CALLS;
/** Largest growth of the primary and of each API process from then on. */
const MAX_GROWTH_MB = 10;
const MAX_MB = 400;
const CALLS_IN_FLIGHT = 4;
const SEED = 20_240_229;
const IMAGES = join(import.meta.dirname, '../../shared/images');

interface MixedCall {
  path: string;
  body: object | SentBytes;
}

/** Weight, path below /images, and the files of ../shared/images that are sent in turn. */
const CALL_MIX: readonly [weight: number, path: string, files: readonly string[]][] = [
  [20, 'transform?op=resize&width=512&format=webp', ['orientation/landscape_4.jpg', 'photos/htc-one-m8.jpg']],
  [12, 'transform?op=thumbnail&size=128', ['photos/kodak-1.png', 'photos/kodak-15.png']],
  [10, 'transform?op=blur&sigma=3&format=png', ['photos/kodak-4.png', 'modern/mandrill.tiff']],
  [8, 'transform?op=resize&width=300&format=gif', ['animated/anim-gr.gif', 'animated/anim.webp']],
  [8, 'transform?op=compress&minSsim=0.95&format=jpeg', ['orientation/landscape_3.jpg']],
  [6, 'transform?op=rotate&angle=20&format=png', ['photos/kodak-7.png', 'orientation/portrait_6.jpg']],
  [5, 'transform?op=resize&width=300&format=avif', ['orientation/landscape_1.jpg', 'photos/kodak-4.png']],
  [5, 'transform?op=trim&format=png', ['photos/kodak-20.png', 'pngsuite/PngSuite.png']],
  [10, 'metadata', ['photos/nikon-d90.jpg', 'modern/paris_exif_xmp_icc.jpg', 'photos/kodak-23.png']],
  [10, 'transform?op=resize&width=640&format=png', ['svg']],
  [6, 'render', ['page']],
];

const DRAWING = Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"><defs><linearGradient id="g"><stop stop-color="#f00"/><stop offset="1" stop-color="#00f"/></linearGradient></defs><rect width="640" height="480" fill="url(#g)"/><circle cx="300" cy="200" r="150" fill="#ff0"/></svg>`,
);
const PAGE = { templateId: 'builtin-template-quote', data: {} };
const MEDIA_TYPES: Record<string, string> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  tiff: 'image/tiff',
};

/** Sends a fixed mix of calls, and samples the memory of every process of the service during it. */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer({ TRANSFORM_TIMEOUT_MS: '60000', RENDER_TIMEOUT_MS: '60000' });
  const samples: MemorySample[] = [takeSample(0, server.pid)];
  const api = openApi(server);
  const next = seededMix();
  let begun = 0;
  let done = 0;
  const worker = async () => {
    while (begun < CALLS) {
      begun += 1;
      await send(api, next());
      done += 1;
      if (done % CALLS_PER_SAMPLE !== 0) continue;
      const latest = takeSample(done, server.pid);
      samples.push(latest);
      console.log(rowOf(latest));
    }
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, worker));
  const rows = samples.map(rowOf);
  console.table(rows);
  const settled = samples.filter(({ calls }) => calls >= SETTLED_AFTER_CALLS);
  return { method: methodOf(settled), rows, missed: missesOf(settled) };
}

/**
 * Resident megabytes of the processes, in the order of their ids, which is stable between samples while none is
 * replaced.
 */
interface MemorySample {
  calls: number;
  primary: readonly number[];
  api: readonly number[];
  children: readonly number[];
  browser: readonly number[];
}

function methodOf(settled: readonly MemorySample[]): string {
  const growth = growthOf(settled.map(totalMegabytes));
  const method = `${CALLS} calls of a fixed mix over real files, ${CALLS_IN_FLIGHT} in flight, seed ${SEED}. Resident megabytes by kind of process; browsers share most of theirs. Growth of all from call ${SETTLED_AFTER_CALLS} on: ${growth} MB (means of three samples).`;
  console.log(method);
  return method;
}

function missesOf(settled: readonly MemorySample[]): string[] {
  const processes = settled.at(-1)?.api.map((_, index) => `API process ${index + 1}`) ?? [];
  return ['primary', ...processes].flatMap((name, index) => {
    const megabytes = settled.map(({ primary, api }) => [...primary, ...api][index] ?? 0);
    const [growth, most] = [growthOf(megabytes), Math.max(...megabytes)];
    return [
      ...(growth >= MAX_GROWTH_MB
        ? [`the ${name} grew by ${growth} MB from call ${SETTLED_AFTER_CALLS} on.`]
        : []),
      ...(most >= MAX_MB ? [`the ${name} had ${most} MB.`] : []),
    ];
  });
}

/** The growth between the means of the first and of the last three samples. */
function growthOf(megabytes: readonly number[]): number {
  return round(mean(megabytes.slice(-3)) - mean(megabytes.slice(0, 3)), 1);
}

/** The same calls in the same order in every run. */
function seededMix(): () => MixedCall {
  const random = seededRandom(SEED);
  const calls = CALL_MIX.flatMap(([weight, path, files]) =>
    files.map((file) => ({ weight: weight / files.length, call: callOf(path, file) })),
  );
  const total = calls.reduce((sum, { weight }) => sum + weight, 0);
  return () => {
    let rest = random() * total;
    const chosen = calls.find(({ weight }) => {
      rest -= weight;
      return rest < 0;
    });
    return (chosen ?? calls[0] ?? { call: callOf('metadata', 'svg') }).call;
  };
}

function callOf(path: string, file: string): MixedCall {
  if (file === 'page') return { path, body: PAGE };
  if (file === 'svg') return { path, body: { type: 'image/svg+xml', bytes: DRAWING } };
  const type = MEDIA_TYPES[file.split('.').at(-1) ?? ''] ?? '';
  return { path, body: { type, bytes: readFileSync(join(IMAGES, file)) } };
}

/**
 * Sends a call. On a busy machine it may be refused with 503 and is then repeated, so that every run makes the same
 * calls.
 */
async function send(api: Api, { path, body }: MixedCall): Promise<void> {
  let answer: Response;
  do {
    answer = await api.send(`/images/${path}`, body);
    const bytes = await answer.bytes();
    if (!answer.ok && answer.status !== 503)
      throw new Error(`${path} answered ${answer.status}: ${Buffer.from(bytes)}`);
  } while (!answer.ok);
}

function takeSample(calls: number, pid: number): MemorySample {
  const processes = processesBelow(pid).map((one) => ({ ...one, kind: kindOf(one.pid, pid) }));
  const of = (kind: string) =>
    processes
      .filter((process) => process.kind === kind)
      .map(({ rssBytes }) => round(rssBytes / MEGABYTE_BYTES, 1));
  return { calls, primary: of('primary'), api: of('api'), children: of('children'), browser: of('browser') };
}

const sum = (values: readonly number[]) =>
  round(
    values.reduce((total, value) => total + value, 0),
    0,
  );

function totalMegabytes({ primary, api, children, browser }: MemorySample): number {
  return sum([...primary, ...api, ...children, ...browser]);
}

function rowOf(taken: MemorySample): SuiteRow {
  const { calls, primary, api, children, browser } = taken;
  return {
    calls,
    'all MB': totalMegabytes(taken),
    'primary MB': sum(primary),
    'API processes MB': api.join(' + '),
    'child processes MB': children.join(' + '),
    'browsers MB': sum(browser),
    processes: primary.length + api.length + children.length + browser.length,
  };
}

function kindOf(pid: number, primary: number): 'primary' | 'api' | 'children' | 'browser' {
  if (pid === primary) return 'primary';
  const command = commandOf(pid);
  if (command.includes('server.ts')) return command.includes('--spare') ? 'children' : 'api';
  return command.includes('workers/') ? 'children' : 'browser';
}

/** The command line of a process; empty when it has just ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
