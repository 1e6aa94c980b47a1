import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import autocannon from 'autocannon';
import sharp from 'sharp';
import { openApi } from './api.ts';
import type { BareCase, BareRequest, BareResult } from './bare-sharp.ts';
import { cpuMs } from './cpu.ts';
import { photograph } from './load/pictures.ts';
import { type BenchServer, startBenchServer } from './server.ts';
import { median, percentile, round, type SuiteResult, type SuiteRow } from './suite.ts';

interface TransformMeasurement extends BareResult {
  /** CPU milliseconds of the server, or of bare sharp, per call. */
  cpuMsEach: number;
}

interface TransformCase extends Omit<BareCase, 'input'> {
  name: string;
  type: string;
  input: Buffer;
  /** Whether the input was uploaded before and the call names it, which measures a call without its upload. */
  stored?: boolean;
}

/** The body that a call of a case sends. */
interface SentBody {
  type: string;
  body: Buffer | string;
}

const CALLS_IN_FLIGHT = [1, 4, 16];
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000);
const QUALITY = 80;
/**
 * Duration of small calls before the first figure. A service runs for days, so compiling and cleaning up after its
 * start is not part of a call.
 */
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_MS ?? 30_000);
const WARM_UP_CASE = '200 px JPEG to 64 px JPEG';
const LARGE_CASE = '12 MP JPEG to 512 px WebP';
/** Warm-up of each case, on both sides. */
const CASE_WARM_UP_MS = 500;

/** Compares transforms over HTTP with bare sharp, in turn, in one run. */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer({ IMAGE_WAIT_MS: '60000' });
  using bare = fork(join(import.meta.dirname, 'bare-sharp.ts'), {
    env: { ...process.env, UV_THREADPOOL_SIZE: '2' },
  });
  const rows: SuiteRow[] = [];
  const report = (row: SuiteRow) => {
    rows.push(row);
    console.log(
      Object.entries(row)
        .map(([name, value]) => `${name} ${value}`)
        .join('  '),
    );
  };
  const all = await prepareCases();
  await warmUp(all, server);
  for (const benchCase of all) {
    const sent = await prepareBody(benchCase, server);
    for (const inFlight of CALLS_IN_FLIGHT) report(await measure(benchCase, sent, inFlight, server, bare));
  }
  for (const { input } of all.filter(({ name }) => name === LARGE_CASE)) {
    for (const format of ['jpeg', 'webp'])
      report(await outputsRow(server, input, { format, rounds: ROUNDS }));
  }
  console.table(rows);
  const method = `Median of ${ROUNDS} rounds of ${ROUND_MS} ms each, HTTP and bare sharp (one process, two threads, nothing around it) in turn. Times are milliseconds as the client sees them; ratio CPU is bare sharp's CPU of a call over the whole service's. The last rows compare one call with several outputs with a call for each.`;
  return { method, rows };
}

async function warmUp(all: readonly TransformCase[], server: BenchServer): Promise<void> {
  const small = all.find(({ name }) => name === WARM_UP_CASE);
  if (small !== undefined) await runOverHttp(small, await prepareBody(small, server), 4, server, WARM_UP_MS);
}

async function prepareBody({ stored, type, input }: TransformCase, server: BenchServer): Promise<SentBody> {
  if (!stored) return { type, body: input };
  const { id } = await openApi(server).post('/assets/upload', { type, bytes: input });
  return { type: 'application/json', body: JSON.stringify({ assetId: id }) };
}

async function measure(
  benchCase: TransformCase,
  sent: SentBody,
  inFlight: number,
  server: BenchServer,
  bare: ChildProcess,
): Promise<SuiteRow> {
  const http: TransformMeasurement[] = [];
  const plain: TransformMeasurement[] = [];
  await runBare(benchCase, inFlight, bare, CASE_WARM_UP_MS);
  await runOverHttp(benchCase, sent, inFlight, server, CASE_WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(await withCpu(bare.pid ?? 0, () => runBare(benchCase, inFlight, bare, ROUND_MS)));
    http.push(await withCpu(server.pid, () => runOverHttp(benchCase, sent, inFlight, server, ROUND_MS)));
  }
  const perSecond = (answers: BareResult[]) => median(answers.map((answer) => answer.perSecond));
  const times = (answers: BareResult[], share: number) =>
    median(answers.map(({ durationsMs }) => percentile(durationsMs, share)));
  const ratios = http.map((answer, index) => answer.perSecond / (plain[index]?.perSecond ?? Number.NaN));
  const cpuRatios = http.map(({ cpuMsEach }, index) => (plain[index]?.cpuMsEach ?? Number.NaN) / cpuMsEach);
  return {
    case: benchCase.name,
    inFlight,
    'HTTP/s': round(perSecond(http), 1),
    'bare/s': round(perSecond(plain), 1),
    ratio: round(median(ratios)),
    p50: round(times(http, 0.5)),
    p99: round(times(http, 0.99)),
    'bare p50': round(times(plain, 0.5)),
    'added p50': round(times(http, 0.5) - times(plain, 0.5)),
    'CPU ms': round(median(http.map(({ cpuMsEach }) => cpuMsEach))),
    'bare CPU ms': round(median(plain.map(({ cpuMsEach }) => cpuMsEach))),
    'ratio CPU': round(median(cpuRatios)),
  };
}

async function withCpu(pid: number, run: () => Promise<BareResult>): Promise<TransformMeasurement> {
  const before = cpuMs(pid);
  const answer = await run();
  return { ...answer, cpuMsEach: (cpuMs(pid) - before) / answer.durationsMs.length };
}

function runBare(
  { input, size, format, quality }: TransformCase,
  inFlight: number,
  bare: ChildProcess,
  durationMs: number,
): Promise<BareResult> {
  const bareCase = { input: input.toString('base64'), size, format, quality };
  return new Promise((resolve) => {
    bare.once('message', (answer: BareResult) => resolve(answer));
    bare.send({ bareCase, inFlight, durationMs } satisfies BareRequest);
  });
}

async function runOverHttp(
  { size, format, quality }: TransformCase,
  sent: SentBody,
  inFlight: number,
  server: BenchServer,
  durationMs: number,
): Promise<BareResult> {
  const durationsMs: number[] = [];
  const started = performance.now();
  const ended = Promise.withResolvers<void>();
  const options = {
    url: `${server.url}/api/v1/images/transform?op=resize&width=${size}&format=${format}&quality=${quality}`,
    method: 'POST' as const,
    headers: { authorization: `ApiKey ${server.key}`, 'content-type': sent.type },
    body: sent.body,
    connections: inFlight,
    // autocannon takes whole seconds only, so the run is stopped explicitly at its end.
    duration: 3_600,
  };
  const shot = autocannon(options, () => ended.resolve());
  shot.on('response', (_client, status, _bytes, responseTime) => {
    if (status !== 200) ended.reject(new Error(`A transform answered ${status}.`));
    durationsMs.push(responseTime);
  });
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  const perSecond = (durationsMs.length * 1000) / (performance.now() - started);
  shot.stop();
  await ended.promise;
  return { perSecond, durationsMs: [...durationsMs] };
}

/** A 12 MP camera photograph, a 1 MP PNG and a 200 px JPEG, made from one picture so that any machine has them. */
async function prepareCases(): Promise<TransformCase[]> {
  const photo = await photograph();
  const twelveMegapixels = sharp(photo).resize(4000, 3000, { fit: 'cover' }).jpeg({ quality: 90 });
  const large = await twelveMegapixels.toBuffer();
  const camera = await twelveMegapixels.clone().keepExif().toBuffer();
  const png = await sharp(photo).resize(1152, 868, { fit: 'cover' }).png().toBuffer();
  const tiny = await sharp(photo).resize(200, 150, { fit: 'cover' }).jpeg({ quality: 85 }).toBuffer();
  const base = { quality: QUALITY, type: 'image/jpeg' };
  return [
    { ...base, name: LARGE_CASE, input: large, size: 512, format: 'webp' },
    { ...base, name: '12 MP JPEG of a camera, to 512 px WebP', input: camera, size: 512, format: 'webp' },
    { ...base, name: '12 MP, stored, to 512 px WebP', input: large, size: 512, format: 'webp', stored: true },
    { ...base, name: '12 MP JPEG to 512 px JPEG', input: large, size: 512, format: 'jpeg' },
    { ...base, name: '1 MP PNG to 256 px WebP', input: png, size: 256, format: 'webp', type: 'image/png' },
    { ...base, name: WARM_UP_CASE, input: tiny, size: 64, format: 'jpeg' },
    { ...base, name: '200 px, stored, to 64 px JPEG', input: tiny, size: 64, format: 'jpeg', stored: true },
  ];
}

/** The widths of the pictures of one call with several outputs, in pixels. */
const WIDTHS = [1_600, 800, 320];
const CALLS = 8;

/** Compares one call that makes three sizes of a photograph with three calls, in turn and one at a time. */
async function outputsRow(
  server: BenchServer,
  jpeg: Uint8Array,
  { format, rounds }: { format: string; rounds: number },
): Promise<SuiteRow> {
  const outputs = WIDTHS.map((width) => ({ name: `w${width}`, op: 'resize', parameters: { width, format } }));
  const together = async () => {
    const form = new FormData();
    form.set('outputs', JSON.stringify(outputs));
    form.set('file', new Blob([new Uint8Array(jpeg)], { type: 'image/jpeg' }), 'photo.jpg');
    const headers = { authorization: `ApiKey ${server.key}` };
    await readBody(
      await fetch(`${server.url}/api/v1/images/transform`, { method: 'POST', headers, body: form }),
    );
  };
  const apart = async () => {
    for (const width of WIDTHS) {
      const query = `op=resize&width=${width}&format=${format}`;
      const body = { type: 'image/jpeg', bytes: jpeg };
      await readBody(await openApi(server).send(`/images/transform?${query}`, body));
    }
  };
  const [one, three]: [SpentMs[], SpentMs[]] = [[], []];
  await measureSpent(server, together);
  await measureSpent(server, apart);
  for (let number = 0; number < rounds; number += 1) {
    three.push(await measureSpent(server, apart));
    one.push(await measureSpent(server, together));
  }
  const times = (of: SpentMs[], part: keyof SpentMs) => median(of.map((each) => each[part]));
  return {
    case: `12 MP JPEG to three sizes as ${format}: one call beside three`,
    inFlight: 1,
    p50: round(times(one, 'wallMs')),
    'three p50': round(times(three, 'wallMs')),
    'CPU ms': round(times(one, 'cpuMs')),
    'three CPU ms': round(times(three, 'cpuMs')),
    'ratio CPU of three': round(times(one, 'cpuMs') / times(three, 'cpuMs')),
  };
}

interface SpentMs {
  wallMs: number;
  /** CPU time of the service. */
  cpuMs: number;
}

/** The mean time of some calls. */
async function measureSpent({ pid }: BenchServer, call: () => Promise<void>): Promise<SpentMs> {
  const [cpuBeforeMs, beforeMs] = [cpuMs(pid), performance.now()];
  for (let number = 0; number < CALLS; number += 1) await call();
  return { wallMs: (performance.now() - beforeMs) / CALLS, cpuMs: (cpuMs(pid) - cpuBeforeMs) / CALLS };
}

async function readBody(answer: Response): Promise<void> {
  await answer.bytes();
  if (!answer.ok) throw new Error(`A transform answered ${answer.status}.`);
}
