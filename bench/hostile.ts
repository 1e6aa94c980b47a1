import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { openApi } from './api.ts';
import {
  type AttackCall,
  cycleThrough,
  largeBodies,
  largestJobs,
  manyParts,
  manyPictures,
  trickyPages,
} from './hostile-bodies.ts';
import { photograph } from './load/pictures.ts';
import { type BenchServer, openAccount, startBenchServer } from './server.ts';
import { percentile, round, type SuiteResult, type SuiteRow } from './suite.ts';
import { type LongestTurn, TURN_METRICS } from './turn-meter.ts';

const ATTACK_MS = Number(process.env.BENCH_ATTACK_MS ?? 60_000);
const IDLE_MS = 10_000;
/** Runs only the attacks whose name contains this text. */
const SELECTED_ATTACKS = process.env.BENCH_ATTACKS ?? '';
/** Limits for the p99 of another account: this multiple of its idle p99, or this duration, whichever is larger. */
const MAX_SLOWDOWN = 3;
const MAX_P99_MS = 250;
/** Limit for the CPU time of the longest turn of an event loop. */
const MAX_TURN_MS = 50;
const CALLS_IN_FLIGHT = 4;
const CALL_PAUSE_MS = 25;

interface Attack {
  name: string;
  /** The call that the other account repeats during the attack, one at a time. */
  victim: AttackCall;
  /** Repeats the attack until the signal aborts. */
  run(key: string, server: BenchServer, signal: AbortSignal): Promise<unknown>;
}

interface VictimTimes {
  timesMs: number[];
  refused: number;
}

/** Measures the calls of one account during attacks by a free account. */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer({
    SYNC_CALLS_PER_ACCOUNT: '4',
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'turn-meter.ts')}`,
  });
  using bare = await startBare();
  const rows: SuiteRow[] = [];
  const missed: string[] = [];
  for (const attack of await attacks()) {
    if (!attack.name.includes(SELECTED_ATTACKS)) continue;
    const row = await measure(attack, server, bare);
    rows.push(row);
    console.log(row);
    if (row.aim !== 'met') missed.push(`${attack.name}: ${row.aim}`);
  }
  console.table(rows);
  const method = `Each attack for ${ATTACK_MS / 1000} s by a free account with ${CALLS_IN_FLIGHT} calls in flight, on the machine that the clients run on. Times of another account's calls in milliseconds, one after the other, before the attack and during it; their p99 may be ${MAX_SLOWDOWN} times the idle one or ${MAX_P99_MS} ms, nothing of theirs may be refused, and /readyz has to answer 200. The turn is the longest one of an event loop of the API processes, garbage collection and waiting for a core included; beside it is that of a bare Fastify that is called as often meanwhile, whose turns are long by the load of the machine alone. The aim of ${MAX_TURN_MS} ms is for the CPU time of a turn, which the load does not stretch.`;
  return { method, rows, missed };
}

async function measure(
  { name, victim, run: attack }: Attack,
  server: BenchServer,
  bare: BareServer,
): Promise<SuiteRow> {
  await repeatCall(victim, server, 2_000);
  const idle = await repeatCall(victim, server, IDLE_MS);
  await longestTurn(server);
  await bare.longestTurn();
  const key = freeAccount(server);
  const ending = new AbortController();
  const attacking = attack(key, server, ending.signal);
  const [attacked, readiness] = await Promise.all([
    repeatCall(victim, server, ATTACK_MS),
    repeatCall(null, server, ATTACK_MS),
    bare.callFor(ATTACK_MS),
  ]);
  const [turn, bareTurn] = await Promise.all([longestTurn(server), bare.longestTurn()]);
  ending.abort();
  await attacking;
  const idleMs = percentile(idle.timesMs, 0.99);
  const p99Ms = percentile(attacked.timesMs, 0.99);
  const misses = [
    p99Ms > Math.max(MAX_SLOWDOWN * idleMs, MAX_P99_MS) && 'p99',
    attacked.refused > 0 && 'refused',
    readiness.refused > 0 && 'not ready',
    turn.cpuMs > MAX_TURN_MS && 'turn',
  ].filter((miss) => miss !== false);
  return {
    attack: name,
    'idle p50': round(percentile(idle.timesMs, 0.5), 1),
    'idle p99': round(idleMs, 1),
    p50: round(percentile(attacked.timesMs, 0.5), 1),
    p99: round(p99Ms, 1),
    most: round(Math.max(...attacked.timesMs), 1),
    'ratio p99': round(p99Ms / idleMs),
    turn: round(turn.ms, 0),
    'bare turn': round(bareTurn.ms, 0),
    'ratio turn': round(turn.ms / bareTurn.ms, 1),
    'turn CPU': round(turn.cpuMs, 0),
    calls: attacked.timesMs.length,
    refused: attacked.refused,
    'not ready': readiness.refused,
    aim: misses.length === 0 ? 'met' : `missed by ${misses.join(', ')}`,
  };
}

/** The longest turn of an event loop of the API processes since it was last asked for. */
async function longestTurn({ url }: BenchServer): Promise<LongestTurn> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  return { ms: metric(TURN_METRICS.ms), cpuMs: metric(TURN_METRICS.cpuMs) };
}

/** A bare Fastify server that runs at the same time as the service, for comparison. */
interface BareServer extends Disposable {
  /** Calls it for a duration as often as the other account calls the service. */
  callFor(durationMs: number): Promise<void>;
  /** Its longest turn since it was last asked for. */
  longestTurn(): Promise<LongestTurn>;
}

async function startBare(): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, 'bare-turns.ts'));
  const [url] = (await once(child, 'message')) as [string];
  return {
    [Symbol.dispose]: () => void child.kill(),
    async callFor(durationMs) {
      const endsAt = performance.now() + durationMs;
      while (performance.now() < endsAt) {
        await (await fetch(url)).bytes();
        await sleep(CALL_PAUSE_MS);
      }
    },
    async longestTurn() {
      const [answer] = await Promise.all([once(child, 'message'), child.send('turn')]);
      return answer[0] as LongestTurn;
    },
  };
}

/** Repeats a call for a duration, or requests /readyz if there is no call. */
async function repeatCall(
  call: AttackCall | null,
  server: BenchServer,
  durationMs: number,
): Promise<VictimTimes> {
  const api = openApi(server);
  const watched: VictimTimes = { timesMs: [], refused: 0 };
  const endsAt = performance.now() + durationMs;
  while (performance.now() < endsAt) {
    const before = performance.now();
    const answer = call === null ? await fetch(`${server.url}/readyz`) : await api.send(call.path, call.body);
    await answer.bytes();
    if (answer.ok) watched.timesMs.push(performance.now() - before);
    else watched.refused += 1;
    await sleep(call === null ? 10 * CALL_PAUSE_MS : CALL_PAUSE_MS);
  }
  return watched;
}

let accounts = 0;
function freeAccount(server: BenchServer): string {
  accounts += 1;
  return openAccount(server, { email: `attacker${accounts}@example.com`, plan: 'free', credits: 200 });
}

async function attacks(): Promise<Attack[]> {
  const photo = await photograph();
  const large = await sharp(photo).resize(7_000, 7_000, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer();
  const tiny = await sharp(photo).resize(200, 150, { fit: 'cover' }).jpeg({ quality: 85 }).toBuffer();
  const small: AttackCall = {
    path: '/images/transform?op=grayscale',
    body: { type: 'image/jpeg', bytes: tiny },
  };
  const page: AttackCall = {
    path: '/images/render',
    body: { templateId: 'builtin-template-quote', data: {} },
  };
  const passes = (query: string, picture = large): Attack['run'] =>
    repeatedAttack({ path: `/images/transform?${query}`, body: { type: 'image/jpeg', bytes: picture } });
  const medium = await sharp(photo).resize(2_000, 2_000, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer();
  return [
    { name: 'passes of a second', victim: small, run: passes('op=median&size=25', medium) },
    {
      name: '49 MP to lossless AVIF',
      victim: small,
      run: passes('op=convert&format=avif&lossless=true'),
    },
    {
      name: '49 MP, search for an AVIF',
      victim: small,
      run: passes('op=compress&minSsim=1&format=avif&effort=9'),
    },
    {
      name: 'outputs: 20 of 49 MP, and 20 layers of 49 MP',
      victim: small,
      run: repeatedAttack(await manyPictures(photo)),
    },
    { name: 'bodies of 10,000 parts', victim: small, run: repeatedAttack(await manyParts()) },
    { name: 'bodies sent byte by byte', victim: small, run: slowBodies },
    { name: 'jobs of 8 MB, cancelled', victim: small, run: (...attack) => largeJobs(tiny, ...attack) },
    { name: 'large bodies of JSON', victim: small, run: repeatedAttack(largeBodies()) },
    { name: 'answer schemas that compile slowly', victim: small, run: slowSchemas },
    { name: 'answers that double', victim: small, run: (...attack) => doublingAnswers(tiny, ...attack) },
    {
      name: 'slow items at a provider',
      victim: {
        path: '/jobs',
        body: { op: 'generate', model: 'sandbox-image-draft', prompt: 'A boat', wait: 30 },
      },
      run: slowItems,
    },
    { name: 'pages that draw for ever', victim: page, run: heavyPages },
    { name: 'pages of 256 kB with every trick', victim: page, run: repeatedAttack(trickyPages()) },
  ];
}

/**
 * Runs four loops. Each sends the call, or the next one of a series, as soon as the last one is answered, whatever the
 * answer is.
 */
function repeatedAttack(call: AttackCall | (() => AttackCall)): Attack['run'] {
  return (key, { url }, signal) => {
    const api = openApi({ url, key });
    const loop = async () => {
      while (!signal.aborted) {
        const { path, body } = call instanceof Function ? call() : call;
        const answer = await api.send(path, body, signal).catch(() => null);
        await answer?.bytes().catch(() => null);
        if (answer?.status === 429) await sleep(CALL_PAUSE_MS);
      }
    };
    return Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, loop));
  };
}

const SVG_FILTERS = Array.from(
  { length: 40 },
  (_, index) => `<feTurbulence baseFrequency="0.0${index + 1}" numOctaves="9"/><feMorphology radius="20"/>`,
).join('');
const HEAVY_PAGE = `<svg xmlns="http://www.w3.org/2000/svg" width="4096" height="4096"><filter id="f">${SVG_FILTERS}</filter><rect width="4096" height="4096" filter="url(#f)"/></svg>`;

async function heavyPages(key: string, server: BenchServer, signal: AbortSignal): Promise<void> {
  const template = { name: 'slow', html: HEAVY_PAGE, width: 4_096, height: 4_096 };
  const { id } = await openApi({ url: server.url, key }).post('/templates', template);
  await repeatedAttack({ path: '/images/render', body: { templateId: id, data: {} } })(key, server, signal);
}

/**
 * Submits jobs that are as large as they may be and are accepted, and cancels each at once, which makes room for the
 * next.
 */
async function largeJobs(
  picture: Uint8Array,
  key: string,
  { url }: BenchServer,
  signal: AbortSignal,
): Promise<void> {
  const api = openApi({ url, key });
  const { id } = await api.post('/assets/upload', { type: 'image/jpeg', bytes: picture });
  const jobs = largestJobs(String(id)).map((job) => ({
    type: 'application/json',
    bytes: Buffer.from(JSON.stringify(job)),
  }));
  const accepted = jobs.map(() => 0);
  for (let sent = 0; !signal.aborted; sent += 1) {
    const at = sent % jobs.length;
    const answer = await api.send('/jobs', jobs[at], signal).catch(() => null);
    const made = (await answer?.json().catch(() => null)) as { data?: { id?: string } } | null | undefined;
    if (made?.data?.id === undefined) continue;
    accepted[at] = (accepted[at] ?? 0) + 1;
    const cancelled = await api.send(`/jobs/${made.data.id}/cancel`, {}, signal).catch(() => null);
    await cancelled?.bytes().catch(() => null);
  }
  if (accepted.every((count) => count === 0)) throw new Error('None of the largest jobs was accepted.');
}

/** Requests the prices of jobs. Each job has another schema, which takes as long to compile as the limits allow. */
async function slowSchemas(key: string, server: BenchServer, signal: AbortSignal): Promise<void> {
  const patterns = Array.from({ length: 100 }, (_, index) => [`x{20}[a-z]${index}`, {}]);
  const branches = Array.from({ length: 240 }, (_, index) => ({
    properties: { a: { const: index }, b: { type: 'string' } },
    required: ['a', 'b'],
  }));
  let sent = 0;
  const priced = (): AttackCall => {
    const schema = { title: `${sent++}`, patternProperties: Object.fromEntries(patterns), oneOf: branches };
    const job = { op: 'analyze', model: 'sandbox-vision', imageCount: 1, parameters: { schema } };
    return { path: '/jobs?dryRun=true', body: job };
  };
  await repeatedAttack(priced)(key, server, signal);
}

/**
 * Submits jobs whose schemas require more data than is accepted, each in another way. The last two do not declare the
 * type array.
 */
async function doublingAnswers(
  picture: Uint8Array,
  key: string,
  server: BenchServer,
  signal: AbortSignal,
): Promise<void> {
  const api = openApi({ url: server.url, key });
  const { id } = await api.post('/assets/upload', { type: 'image/jpeg', bytes: picture });
  const lists = (levels: number, list: object, items: object): object =>
    levels === 0 ? items : { ...list, minItems: 100, items: lists(levels - 1, list, items) };
  const keywords = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`k${at}`, 1]));
  const calls = [
    { properties: { a: lists(6, { type: 'array' }, { type: 'string' }) } },
    { properties: { a: lists(6, {}, {}) } },
    {
      properties: { a: lists(2, {}, { $ref: '#/$defs/a' }) },
      $defs: { a: { type: 'boolean', ...keywords } },
    },
  ].map((more): AttackCall => {
    const schema = { type: 'object', required: ['a'], ...more };
    const job = { op: 'analyze', model: 'sandbox-vision', assetIds: [id], parameters: { schema } };
    return { path: '/jobs', body: job };
  });
  await repeatedAttack(cycleThrough(calls))(key, server, signal);
}

const SLOW_ITEM = '[sandbox:wait=20000] [sandbox:reject]';

/** Submits jobs of ten items that each take 20 seconds at their provider, and cost nothing. */
async function slowItems(key: string, { url }: BenchServer, signal: AbortSignal): Promise<void> {
  const api = openApi({ url, key });
  const job = { op: 'generate', model: 'sandbox-image-draft', prompt: SLOW_ITEM, count: 10 };
  while (!signal.aborted) {
    await api
      .send('/jobs', job, signal)
      .then((answer) => answer.bytes())
      .catch(() => null);
    await sleep(10 * CALL_PAUSE_MS);
  }
}

const SLOW_SENDERS = 200;

/** Sends bodies that never end: one byte per second on each of 200 connections at once. */
async function slowBodies(key: string, { url }: BenchServer, signal: AbortSignal): Promise<void> {
  const sender = async () => {
    while (!signal.aborted) await dripOnce(url, key, signal);
  };
  await Promise.all(Array.from({ length: SLOW_SENDERS }, sender));
}

async function dripOnce(url: string, key: string, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const headers = {
    authorization: `ApiKey ${key}`,
    'content-type': 'image/jpeg',
    'content-length': '1000000',
  };
  const dripping = request(`${url}/api/v1/images/transform?op=grayscale`, {
    method: 'POST',
    headers,
    signal,
  });
  dripping.on('error', () => ended.resolve()).on('close', () => ended.resolve());
  dripping.on('response', (answer) => answer.resume());
  const drip = setInterval(() => dripping.write('x'), 1_000);
  await ended.promise;
  clearInterval(drip);
  await sleep(CALL_PAUSE_MS);
}
