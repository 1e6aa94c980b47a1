// needs: server
import { randomBytes } from 'node:crypto';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import type { OperatorState } from '../../../src/host/operator/schema.ts';
import { grantedCores } from '../../../src/host/processes/cpu-quota.ts';
import { mountDisk } from '../../support/disk.ts';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';

/**
 * Faults that an operator has to find: each is planted in a running service, and found by what its page shows. A sample
 * comes each ten seconds, so that each fault takes some twenty.
 */
t.setTimeout(600_000);
const TOKEN = 'a-token-of-an-operator-for-tests';
const DISK_MEGABYTES = 400;
const ASK_MS = 3_000;
/** The primary, which keeps the stores, is stopped and continued in turn. */
const [STOPPED_MS, RUNNING_MS] = [40, 2];
const [JOBS, ITEMS] = [3, 4_000];
/** Samples after an act, and acts at most: each one leaves a tenth of the work. */
const SAMPLES = 4;
const MAX_ACTS = 2;

const disk = mountDisk(t, DISK_MEGABYTES);
const service = await startWholeService(t, {
  ...{ PROCESSES: '1', IMAGE_THREADS: '1', SYNC_CALLS_PER_ACCOUNT: '6', OPERATOR_TOKEN: TOKEN },
  ...(disk !== null && { DATA_DIR: disk }),
});

/** The state as the page reads it; a process that hangs is asked no more after some seconds, and another one is. */
async function stateOf({ url }: WholeService): Promise<OperatorState | null> {
  const headers = { authorization: `Bearer ${TOKEN}`, connection: 'close' };
  try {
    const answer = await fetch(`${url}/operator/v1/state`, { headers, signal: AbortSignal.timeout(ASK_MS) });
    return ((await answer.json()) as { data: OperatorState }).data;
  } catch {
    return null;
  }
}

async function act(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/operator/v1${path}`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Waits until a sentence of the page matches, and returns the verdict. */
async function named(pattern: RegExp) {
  const beganMs = Date.now();
  let found: OperatorState['verdict'] | undefined;
  await until(async () => {
    const state = await stateOf(service);
    found = state?.hosts.flatMap(({ verdicts }) => verdicts).find(({ sentence }) => pattern.test(sentence));
    await pause(200);
    return found !== undefined;
  });
  t.comment(`named after ${Math.round((Date.now() - beganMs) / 1_000)} s: ${found?.sentence}`);
  return found;
}

/** The mean p99 of the last three samples, in milliseconds. */
async function latestP99(): Promise<number> {
  let known: number[] = [];
  await until(async () => {
    const [host] = (await stateOf(service))?.hosts ?? [];
    known = host?.history.series.p99?.filter((ms) => ms !== null).slice(-3) ?? [];
    return known.length > 0;
  });
  return known.reduce((sum, ms) => sum + ms, 0) / known.length;
}

/** What the page offers when so many samples have come, by which time the figures are all of after the act. */
async function mendAfter(samples: number) {
  const actedAt = Date.now();
  await until(async () => {
    await pause(1_000);
    const [host] = (await stateOf(service))?.hosts ?? [];
    return (host?.history.at.filter((at) => at > actedAt).length ?? 0) >= samples;
  });
  const [host] = (await stateOf(service))?.hosts ?? [];
  return host?.verdicts.find(({ mend }) => mend !== undefined)?.mend;
}

/** Calls with so many callers until it is stopped. */
function load(callers: number, call: string, body: Uint8Array<ArrayBuffer>) {
  let isOver = false;
  const headers = { authorization: `ApiKey ${service.key}`, 'content-type': 'image/jpeg' };
  const caller = async () => {
    while (!isOver) {
      await fetch(`${service.url}/api/v1${call}`, { method: 'POST', headers, body })
        .then((answer) => answer.arrayBuffer())
        .catch(() => pause(100));
    }
  };
  const running = Array.from({ length: callers }, caller);
  return async () => {
    isOver = true;
    await Promise.all(running);
  };
}

const noise = await sharp(randomBytes(1_500 * 1_500 * 3), {
  raw: { width: 1_500, height: 1_500, channels: 3 },
})
  .jpeg()
  .toBuffer();
const photo = new Uint8Array(noise);
const small = new Uint8Array(
  await sharp({ create: { width: 60, height: 60, channels: 3, background: '#37c' } })
    .jpeg()
    .toBuffer(),
);

t.test(
  'one image thread for several cores is found, and mended by the setting that the page names',
  { skip: grantedCores() < 2 && 'this machine has one core' },
  async (t) => {
    const stop = load(6, '/images/transform?op=resize&width=1400&format=webp', photo);
    const { mend } = (await named(/1 image thread for \d+ cores/)) ?? {};
    t.match(mend, { setting: 'IMAGE_THREADS' });
    await act('/settings', { ...mend });
    const [host] = (await stateOf(service))?.hosts ?? [];
    t.equal(host?.settings.IMAGE_THREADS, mend?.value);
    t.match(host?.history.marks.at(-1), {
      kind: 'set',
      by: /operator's interface/,
      text: /IMAGE_THREADS 1 → \d/,
    });
    await until(async () => {
      await pause(500);
      const sentences = (await stateOf(service))?.hosts.flatMap(({ verdicts }) => verdicts) ?? [];
      return sentences.length > 0 && sentences.every(({ sentence }) => !/image thread/.test(sentence));
    });
    await stop();
  },
);

t.test('an account that floods is found', async (t) => {
  const stop = load(24, '/images/transform?op=resize&width=700&format=webp', photo);
  const flood = await named(/The account acc_\w+ floods/);
  t.match(flood?.sentence, /account_concurrency/);
  await stop();
});

/**
 * The primary, which keeps the stores, has so small a part of a core that it answers a bounded number of queries. Few
 * wait for each other; many do.
 */
function boundStores() {
  let isOver = false;
  const bounding = (async () => {
    while (!isOver) {
      service.signal('SIGSTOP');
      await pause(STOPPED_MS);
      service.signal('SIGCONT');
      await pause(RUNNING_MS);
    }
  })();
  return async () => {
    isOver = true;
    await bounding;
  };
}

/** Submits jobs of many items, whose claims, results and outcomes are queries. @returns what cancels them. */
async function flood(): Promise<() => Promise<void>> {
  const call = async (path: string, type = 'application/json', body?: NonNullable<RequestInit['body']>) => {
    const headers = { authorization: `ApiKey ${service.key}`, 'content-type': type };
    const answer = await fetch(`${service.url}/api/v1${path}`, {
      ...{ method: 'POST', headers, body: body ?? null },
    });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as { data: { id: string } }).data.id;
  };
  const asset = await call('/assets/upload', 'image/jpeg', small);
  const job = JSON.stringify({ op: 'negate', assetIds: Array.from({ length: ITEMS }, () => asset) });
  const jobs: string[] = [];
  for (let count = 0; count < JOBS; count += 1) jobs.push(await call('/jobs', 'application/json', job));
  return async () => {
    for (const id of jobs) await call(`/jobs/${id}/cancel`, 'application/json', '{}');
  };
}

t.test(
  'a store that a flood of items fills is found, and calls are quick again by the setting',
  async (t) => {
    const cancel = await flood();
    const release = boundStores();
    const stop = load(3, '/assets/upload', small);
    try {
      const { sentence, mend } =
        (await named(/the stores, \d+ ms of the mean answer\. Work in the back/)) ?? {};
      t.match(
        sentence,
        /Work in the background takes \d+ % of their time, and \d+ items of jobs are in hand/,
      );
      t.match(mend, { setting: 'JOB_ITEMS' });
      const slowMs = await latestP99();
      for (let acts = 0, open = mend; acts < MAX_ACTS && open !== undefined; acts += 1) {
        await act('/settings', { ...open });
        open = await mendAfter(SAMPLES);
      }
      const quickMs = await latestP99();
      t.comment(`p99 ${slowMs} ms -> ${quickMs} ms`);
      t.ok(quickMs < 0.7 * slowMs, `${quickMs} ms after the act, ${slowMs} ms before`);
    } finally {
      await Promise.all([release(), stop()]);
      await cancel();
    }
  },
);

t.test('a process that hangs is found, and its replacement is told of', async (t) => {
  await act('/settings', { setting: 'PROCESSES', value: 2, yes: true });
  const [pid = 0] = await service.children();
  process.kill(pid, 'SIGSTOP');
  t.match(await named(/hangs: it has not answered/), { tone: 'bad' });
  await named(/hung and is replaced/);
  const [host] = (await stateOf(service))?.hosts ?? [];
  t.match(host?.restarts, { hung: 1 });
  t.match(host?.history.marks.at(-1), { kind: 'restart', text: /hung/ });
});

t.test('a full disk is found', { skip: disk === null && 'only root may mount a small disk' }, async (t) => {
  const { bavail, bsize } = statfsSync(disk ?? '');
  const left = 8 * 2 ** 20;
  writeFileSync(join(disk ?? '', 'filling'), Buffer.alloc(Math.max(0, bavail * bsize - left)));
  t.match(await named(/The disk of DATA_DIR is full/), { tone: 'bad' });
});
