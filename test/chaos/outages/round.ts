import { setTimeout as pause } from 'node:timers/promises';
import { BOOTSTRAP_CREDITS } from '../../../src/product/accounts/bootstrap.ts';
import { randomFrom } from '../../product/jobs/chain-runs.ts';
import { LOOPBACK, startReceiver } from '../../product/webhooks/receiver.ts';
import { startWholeService } from '../../support/whole-service.ts';
import { allPages, type Client, retryingClient } from '../kills/client.ts';
import { promisesBrokenOutside } from '../kills/promises.ts';
import {
  MAX_PRIMARY_STOP_SECONDS,
  makeEmbeddedStores,
  mountSmallDisk,
  type Scope,
  startClusterStores,
  type TestStores,
} from './stores.ts';
import { openSteadyWork } from './work.ts';

export interface OutageRound {
  seed: number;
  form: 'embedded' | 'cluster';
  /** Which store goes away and how, by its name in stores.ts. */
  outage: string;
  seconds: number;
  /** Items of the large job. */
  items: number;
}

/**
 * Everything that was accepted has ended this long after the store came back, and the time that the same batch took
 * before, without an outage: work that stood still during the outage is done then.
 */
const ENDED_MS = 60_000;
/** A batch that is not disturbed ends within this time, or the machine is too slow for the round. */
const UNDISTURBED_MS = 600_000;
/** A disk that is full is a try of an item, and the next comes a minute later. */
const ENDED_AFTER_FULL_MS = 2 * ENDED_MS;
const POLL_MS = 500;
/** The store goes away at a random instant within this time of the first claims. */
const AMID_MS = 2_000;
const EVENTS = ['job.completed', 'job.failed', 'job.item.completed', 'job.item.failed'];

/**
 * A real service whose store goes away for a time, amid jobs and calls.
 * @returns every promise that was broken, as it is seen from outside; null if the stores cannot run here.
 */
export async function outageRound(round: OutageRound): Promise<string[] | null> {
  const ends: Array<() => unknown> = [];
  const scope: Scope = { teardown: (end) => void ends.push(end as () => unknown) };
  try {
    return await broken(round, scope);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function broken(
  { seed, form, outage, seconds, items }: OutageRound,
  scope: Scope,
): Promise<string[] | null> {
  const random = randomFrom(seed);
  let pid = 0;
  const stores = await (form === 'cluster'
    ? startClusterStores(scope)
    : makeEmbeddedStores(scope, () => pid));
  if (stores === null || !(await canBeFull(scope, outage, stores))) return null;
  const tested = stores.outages[outage];
  if (tested === undefined) throw new Error(`There is no outage ${outage} of the ${form} form.`);
  // A process that waits for a stopped primary is not hung.
  const rest = { PROCESSES: '2', HANG_TIMEOUT_MS: '600000', LOG_LEVEL: 'warn' };
  const service = await startWholeService(scope, { ...LOOPBACK, ...rest, ...stores.settings });
  pid = service.pid;
  const client = retryingClient(() => service.url, service.key);
  const receiver = await startReceiver(scope);
  await client('/webhook-endpoints', { json: { url: receiver.url, events: EVENTS } });

  const workload = await openSteadyWork(client, random, items);
  const startMs = performance.now();
  await workload.submitBatch();
  const slow = await unendedIn(client, startMs, UNDISTURBED_MS);
  if (slow.length > 0) return slow;
  const undisturbedMs = performance.now() - startMs;
  await workload.submitBatch();
  const over = new AbortController();
  const calls = workload.run(over.signal);
  await pause(random(AMID_MS));
  await tested.begin();
  const longest = outage === 'primary-stop' ? MAX_PRIMARY_STOP_SECONDS : seconds;
  await pause(1_000 * Math.min(seconds, longest));
  await tested.end();
  const backMs = performance.now();
  over.abort();
  await calls;
  const marginMs = outage === 'objects-full' ? ENDED_AFTER_FULL_MS : ENDED_MS;
  const late = await unendedIn(client, backMs, Math.round(undisturbedMs) + marginMs);
  const tookMs = Math.round(performance.now() - backMs);
  const promises = await promisesBrokenOutside({ client, workload, receiver, granted: BOOTSTRAP_CREDITS });
  const lastEventMs = Math.round(Math.max(0, ...receiver.received.map(({ atMs }) => atMs)) - backMs);
  console.log(
    `${form} ${outage} ${seconds} s: ended ${tookMs} ms after the return, ${Math.round(undisturbedMs)} ms without an outage, last event at ${lastEventMs} ms, ` +
      `${receiver.received.length} deliveries of ${new Set(receiver.received.map(({ event }) => event.id)).size} events`,
  );
  if (process.env.OUTAGES_LOG) console.log(service.printed().slice(-20_000));
  return [...late, ...(await failuresIn(client)), ...promises];
}

async function canBeFull(scope: Scope, outage: string, { settings }: TestStores): Promise<boolean> {
  return outage !== 'objects-full' || mountSmallDisk(scope, settings.DATA_DIR ?? '');
}

/** Waits for all jobs to end, for a time from an instant of performance.now(). @returns those that did not. */
async function unendedIn(client: Client, sinceMs: number, withinMs: number): Promise<string[]> {
  for (;;) {
    const open = (await allPages(client, '/jobs')).filter(({ completedAt }) => !completedAt);
    if (open.length === 0) return [];
    if (performance.now() - sinceMs > withinMs) {
      return open.map(({ id, status, completedItems, totalItems, type }) => {
        return `${id} (${type}) is ${status} with ${completedItems} of ${totalItems} items after ${withinMs / 1_000} s`;
      });
    }
    await pause(POLL_MS);
  }
}

/** No item fails by itself here: each that did has failed for the outage. */
async function failuresIn(client: Client): Promise<string[]> {
  const jobs = (await allPages(client, '/jobs')).filter(({ status }) => status !== 'COMPLETED');
  return jobs.map(({ id, status, failedItems, errorCode, errorMessage }) => {
    return `${id} is ${status}, ${failedItems} items failed: ${errorCode} ${errorMessage}`;
  });
}
