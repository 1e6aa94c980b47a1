// needs: server, alone, waits
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import { until } from '../../support/whole-service.ts';
import { openPlanted } from './planted.ts';

/** The primary, which keeps the stores, is stopped and continued in turn. */
const [STOPPED_MS, RUNNING_MS] = [40, 2];
const [JOBS, ITEMS] = [3, 4_000];

const { service, state, act, named, load } = await openPlanted(t, {});
const small = new Uint8Array(
  await sharp({ create: { width: 60, height: 60, channels: 3, background: '#37c' } })
    .jpeg()
    .toBuffer(),
);

/** The mean p99 of the last three samples, in milliseconds. */
async function latestP99(): Promise<number> {
  let known: number[] = [];
  await until(async () => {
    const [host] = (await state())?.hosts ?? [];
    known = host?.history.series.p99?.filter((ms) => ms !== null).slice(-3) ?? [];
    return known.length > 0;
  });
  return known.reduce((sum, ms) => sum + ms, 0) / known.length;
}

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
  'a store that a flood of items fills is found, and lessened by the setting that the page names',
  async (t) => {
    const cancel = await flood();
    const release = boundStores();
    const stop = load(3, '/assets/upload', small);
    try {
      const { sentence, fix } =
        (await named(/the stores, \d+ ms of the mean answer\. Work in the back/)) ?? {};
      t.match(
        sentence,
        /Work in the background takes \d+ % of their time, and \d+ items of jobs are in hand/,
      );
      t.match(fix, { setting: 'JOB_ITEMS' });
      const slowMs = await latestP99();
      await act('/settings', { ...fix });
      const most = Number(fix?.value);
      await until(async () => {
        await pause(1_000);
        const [host] = (await state())?.hosts ?? [];
        return host?.settings.JOB_ITEMS === most && (host.history.series.items?.at(-1) ?? most + 1) <= most;
      });
      // How quick calls are is told and not judged: others may use this machine.
      t.comment(`p99 ${slowMs} ms -> ${await latestP99()} ms`);
    } finally {
      await Promise.all([release(), stop()]);
      await cancel();
    }
  },
);
