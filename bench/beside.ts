import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { type Api, openApi } from './api.ts';
import { photograph } from './load/pictures.ts';
import { type BenchServer, openAccount, startBenchServer } from './server.ts';
import { percentile, round, type SuiteResult, type SuiteRow, timed } from './suite.ts';

/** Number of items of the batch. */
const ITEMS = Number(process.env.BENCH_ITEMS ?? 1_500);
/** Duration of the idle measurement of each kind, and of the warm-up of threads and compiler before it. */
const IDLE_MS = 10_000;
const WARM_UP_MS = 5_000;
const CONCURRENT_UPLOADS = 8;
const POLL_MS = 250;
/** The largest multiple of the idle 95th percentile that is accepted during the batch. */
const MAX_SLOWDOWN = { call: 2.5, job: 5 } as const;

const CALL_INTERVAL_MS = 50;
/**
 * Interval between jobs. Two jobs of an account run at once, so jobs at a shorter interval would wait for each other,
 * however fast the service is.
 */
const JOB_INTERVAL_MS = 200;

/** A request that the other account sends repeatedly. */
interface Probe {
  name: string;
  kind: keyof typeof MAX_SLOWDOWN;
  /** Interval between two requests, whether or not the previous one is answered. */
  everyMs: number;
  /** @throws Error when it is refused, or is not completed. */
  once(): Promise<void>;
}

/** Measures small calls and jobs of one account during a large job of another account. */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer();
  const picture = await sharp(await photograph())
    .resize(1024, 768, { fit: 'cover' })
    .jpeg({ quality: 85 })
    .toBuffer();
  const probes = await prepareProbes(server, picture);
  const api = openApi(server);
  const assetIds = await uploadAll(api, picture);
  for (const one of probes) await repeatProbe(one, isWithin(WARM_UP_MS));
  const idle: number[][] = [];
  for (const one of probes) idle.push(await repeatProbe(one, isWithin(IDLE_MS)));

  const batch = await beginBatch(api, assetIds);
  // The probes share 95 % of the items. The others are left for the start of the batch, and for requests that are still
  // running at the end of a share.
  const share = Math.floor((0.95 * ITEMS) / (probes.length + 1));
  const alone = await batch.during(share, (isOn) => waitWhile(isOn));
  const rows: SuiteRow[] = [];
  for (const [index, one] of probes.entries()) {
    const { result, perSecond } = await batch.during(share, (isOn) => repeatProbe(one, isOn));
    rows.push(rowOf(one, idle[index] ?? [], result, { meanwhile: perSecond, alone: alone.perSecond }));
  }
  console.table(rows);
  const method = `A resize of ${ITEMS} different pictures of 1024 × 768 to 512 px as one job. What another account asks for meanwhile, calls every ${CALL_INTERVAL_MS} ms and jobs every ${JOB_INTERVAL_MS} ms, answered or not, each kind during an equal share of the items, compared with what it takes while nothing else is done (${IDLE_MS / 1_000} s of each kind). Milliseconds as the client sees them, on the machine that the service runs on. Items a second of the batch, meanwhile and with nobody asking. The ratio of p95 is to be below ${MAX_SLOWDOWN.call} for calls and ${MAX_SLOWDOWN.job} for jobs.`;
  return { method, rows, missed: missesOf(rows, probes) };
}

function rowOf(
  { name }: Probe,
  idle: readonly number[],
  busy: readonly number[],
  perSecond: { meanwhile: number; alone: number },
): SuiteRow {
  const [idleP50, idleP95] = [percentile(idle, 0.5), percentile(idle, 0.95)];
  const [p50, p95] = [percentile(busy, 0.5), percentile(busy, 0.95)];
  return {
    asked: name,
    'idle p50': round(idleP50, 1),
    'idle p95': round(idleP95, 1),
    p50: round(p50, 1),
    p95: round(p95, 1),
    'ratio p50': round(p50 / idleP50),
    'ratio p95': round(p95 / idleP95),
    times: busy.length,
    'items/s': round(perSecond.meanwhile, 1),
    'items/s alone': round(perSecond.alone, 1),
  };
}

function missesOf(rows: readonly SuiteRow[], probes: readonly Probe[]): string[] {
  return probes.flatMap(({ name, kind }, index) => {
    const ratio = rows[index]?.['ratio p95'];
    return Number(ratio) < MAX_SLOWDOWN[kind]
      ? []
      : [`${name}: p95 is ${ratio} times idle (aim: below ${MAX_SLOWDOWN[kind]}).`];
  });
}

async function prepareProbes(server: BenchServer, picture: Buffer): Promise<Probe[]> {
  const key = openAccount(server, { email: 'other@example.com', plan: 'scale', credits: 0 });
  const api = openApi({ url: server.url, key });
  const { id } = await api.post('/assets/upload', { type: 'image/jpeg', bytes: picture });
  const large = await sharp(picture).resize(1152, 868).jpeg({ quality: 85 }).toBuffer();
  const small = await sharp(picture).resize(200, 150).jpeg({ quality: 85 }).toBuffer();
  const transform = (query: string, body: Buffer) => async () => {
    const answer = await api.send(`/images/transform?${query}`, { type: 'image/jpeg', bytes: body });
    await answer.bytes();
    if (!answer.ok) throw new Error(`A transform was answered ${answer.status}.`);
  };
  const call = { kind: 'call', everyMs: CALL_INTERVAL_MS } as const;
  const job = { op: 'resize', parameters: { width: 512 }, assetIds: [id] };
  return [
    { ...call, name: 'call, 1 MP to 512 px', once: transform('op=resize&width=512', large) },
    { ...call, name: 'call, 200 px to 64 px', once: transform('op=resize&width=64', small) },
    {
      name: 'waited job of one item',
      kind: 'job',
      everyMs: JOB_INTERVAL_MS,
      async once() {
        const { status } = await api.post('/jobs?wait=30', job);
        if (status !== 'COMPLETED') throw new Error(`A waited job was ${status}.`);
      },
    },
  ];
}

/** @returns the duration of each request, in milliseconds. */
async function repeatProbe({ once, everyMs }: Probe, isOn: () => boolean): Promise<number[]> {
  const times: Promise<number>[] = [];
  while (isOn()) {
    times.push(timed(once));
    await sleep(everyMs);
  }
  return Promise.all(times);
}

async function waitWhile(isOn: () => boolean): Promise<void> {
  while (isOn()) await sleep(POLL_MS);
}

function isWithin(durationMs: number): () => boolean {
  const endsAt = performance.now() + durationMs;
  return () => performance.now() < endsAt;
}

/** Every picture differs in a comment, so that each is its own asset. */
async function uploadAll(api: Api, picture: Buffer): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const worker = async () => {
    while (begun < ITEMS) {
      begun += 1;
      const bytes = withComment(picture, begun);
      ids.push(String((await api.post('/assets/upload', { type: 'image/jpeg', bytes })).id));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, worker));
  return ids;
}

/** A JPEG with a number in a comment (COM) after its first marker. */
function withComment(jpeg: Buffer, number: number): Buffer {
  const comment = Buffer.from([0xff, 0xfe, 0, 6, 0, 0, 0, 0]);
  comment.writeUInt32BE(number, 4);
  return Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]);
}

/** A job that runs while something else is measured. */
interface BackgroundJob {
  /** Repeats a step until a number of further items are completed. */
  during<T>(
    items: number,
    work: (isOn: () => boolean) => Promise<T>,
  ): Promise<{ result: T; perSecond: number }>;
}

async function beginBatch(api: Api, assetIds: string[]): Promise<BackgroundJob> {
  const { id } = await api.post('/jobs', { op: 'resize', parameters: { width: 512 }, assetIds });
  const completed = async () => Number((await api.get(`/jobs/${id}`)).completedItems);
  return {
    async during(items, work) {
      const [before, startedMs] = [await completed(), performance.now()];
      let done = before;
      const working = work(() => done < before + items);
      while (done < before + items) {
        await sleep(POLL_MS);
        done = await completed();
      }
      const perSecond = ((done - before) * 1_000) / (performance.now() - startedMs);
      return { result: await working, perSecond };
    },
  };
}
