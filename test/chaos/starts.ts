import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LOOPBACK } from '../product/webhooks/receiver.ts';
import { startWholeService, until, type WholeService } from '../support/whole-service.ts';
import { type Client, retryingClient } from './kills/client.ts';
import { upload } from './kills/work.ts';
import { type Scope, startClusterStores } from './outages/stores.ts';

export interface StartsRound {
  /** Starts of the second host. */
  starts: number;
  /** Rolling replaces of it, spread over its starts. */
  replaces: number;
}

const BETWEEN_JOBS_MS = 20;
/** Output of a process that ended by itself, or of its primary about it. */
const CRASH = /ReferenceError|TypeError|unhandled|uncaughtException|ended by itself|exited with|hangs/i;

/**
 * A host that starts and stops, and replaces its processes, while another host on the same stores submits jobs: each
 * job wakes every process of both, those that have only begun to start as well.
 * @returns every line about a crash; null if the stores cannot run here.
 */
export async function startsRound({ starts, replaces }: StartsRound): Promise<string[] | null> {
  const ends: Array<() => unknown> = [];
  const scope: Scope = { teardown: (end) => void ends.push(end as () => unknown) };
  try {
    const stores = await startClusterStores(scope);
    if (stores === null) return null;
    const settings = { ...LOOPBACK, ...stores.settings, PROCESSES: '2', LOG_LEVEL: 'info' };
    const steady = await startWholeService(scope, settings);
    const client = retryingClient(() => steady.url, steady.key);
    const over = new AbortController();
    const submitted = submitUntil(client, over.signal);
    const crashes: string[] = [];
    const every = Math.max(1, Math.floor(starts / Math.max(1, replaces)));
    for (let start = 0; start < starts; start += 1) {
      const host = await startWholeService(scope, settings);
      const isReplaced = start % every === 0 && start / every < replaces;
      if (isReplaced) await replaceAll(host);
      host.signal('SIGTERM');
      const code = await host.ended;
      if (code !== 0) crashes.push(`start ${start} ended with exit code ${code}`);
      crashes.push(...crashLines(host).map((line) => `start ${start}: ${line}`));
    }
    over.abort();
    console.log(`${starts} starts, ${replaces} rolling replaces, during ${await submitted} jobs`);
    return [...crashes, ...crashLines(steady).map((line) => `the steady host: ${line}`)];
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** Sends SIGHUP, and waits until other processes have replaced all. */
async function replaceAll(host: WholeService): Promise<void> {
  const before = new Set(await host.children());
  host.signal('SIGHUP');
  await until(async () => {
    const now = await host.children();
    return now.length === before.size && now.every((pid) => !before.has(pid));
  });
}

/** Small jobs, one after another, until it is over. @returns how many. */
async function submitUntil(client: Client, over: AbortSignal): Promise<number> {
  const assetId = await upload(client, 1);
  let jobs = 0;
  for (; !over.aborted; jobs += 1) {
    const json = { op: 'flip', assetIds: [assetId, assetId] };
    await client('/jobs', { json, idempotencyKey: randomUUID(), mayStayOpen: true });
    await pause(BETWEEN_JOBS_MS);
  }
  return jobs;
}

function crashLines(host: WholeService): string[] {
  return host
    .printed()
    .split('\n')
    .filter((line) => CRASH.test(line));
}
