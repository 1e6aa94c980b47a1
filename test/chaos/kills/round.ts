import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { dropDatabase, randomDatabase } from '../../../bench/services/mongodb.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { BOOTSTRAP_CREDITS } from '../../../src/product/accounts/bootstrap.ts';
import { randomFrom } from '../../product/jobs/chain-runs.ts';
import { LOOPBACK, startReceiver } from '../../product/webhooks/receiver.ts';
import { retryingClient } from './client.ts';
import { FROZEN_MS, type RealHost, startRealHost } from './hosts.ts';
import { promisesBrokenOutside } from './promises.ts';
import { startWorkload } from './work.ts';

/**
 * A fault to inject: an API process is killed, or a whole host; Redis is flushed; a host is stopped past its leases.
 */
export type Fault = 'process' | 'host' | 'flush' | 'freeze';

/** The servers that hosts share. */
export interface Servers {
  redisUrl: string;
  mongodbUrl: string;
}

export interface KillRound {
  seed: number;
  /** One host with embedded stores when they are left out. */
  cluster?: Servers | undefined;
  faults: Fault[];
  /** Whether clients wait until their calls are answered before the faults: only jobs are then in progress. */
  isCalm?: boolean;
  /** Whether templates are drawn too, which takes a browser in every process. */
  renders?: boolean;
  /** How far the clock of the second host is ahead of the first one's, or behind. */
  shiftMs?: number;
}

const CLIENTS = 3;
const BEFORE_MS = 2_000;
const BETWEEN_MS = 3_000;
const EVENTS = ['job.completed', 'job.failed', 'job.item.completed', 'job.item.failed'];

/**
 * Real services with clients and a receiver of webhooks, and faults at random moments: kill -9, FLUSHALL, SIGSTOP.
 * @returns every promise that was broken, as it is seen from outside.
 */
export async function killRound({
  seed,
  cluster,
  faults,
  isCalm = false,
  renders = false,
  shiftMs = 0,
}: KillRound): Promise<string[]> {
  const random = randomFrom(seed);
  const ends: Array<() => unknown> = [];
  const scope: Pick<Test, 'teardown'> = { teardown: (end) => void ends.push(end as () => unknown) };
  try {
    const settings = await settingsOf(scope, cluster);
    const hosts = [await startRealHost(scope, settings)];
    if (cluster !== undefined) hosts.push(await startRealHost(scope, { ...settings, ...shifted(shiftMs) }));
    const client = retryingClient(() => urlOf(hosts, random), hosts[0]?.key() ?? '');
    const receiver = await startReceiver(scope);
    await client('/webhook-endpoints', { json: { url: receiver.url, events: EVENTS } });
    const workload = await startWorkload(client, random, { renders });

    const over = new AbortController();
    const calls = Array.from({ length: CLIENTS }, () => workload.run(over.signal));
    const allCalled = async () => {
      over.abort();
      await Promise.all(calls);
    };
    await pause(BEFORE_MS);
    if (isCalm) await allCalled();
    for (const fault of faults) {
      await inject(fault, hosts, { random, redisUrl: cluster?.redisUrl });
      await pause(random(BETWEEN_MS));
    }
    await allCalled();
    return await promisesBrokenOutside({ client, workload, receiver, granted: BOOTSTRAP_CREDITS });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** One directory, or one database, for all hosts of a round. */
async function settingsOf({ teardown }: Pick<Test, 'teardown'>, cluster: KillRound['cluster']) {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-kills-'));
  teardown(() => rm(directory, { recursive: true, force: true }));
  // A stopped process is not restarted: its leases have to end.
  const settings = { ...LOOPBACK, DATA_DIR: directory, HANG_TIMEOUT_MS: '600000', LOG_LEVEL: 'warn' };
  if (cluster === undefined) return { ...settings, PROCESSES: '2' };
  const database = randomDatabase(cluster.mongodbUrl);
  teardown(() => dropDatabase(database));
  const redis = { REDIS_URL: cluster.redisUrl, REDIS_PREFIX: `kills-${randomText(6)}` };
  const stores = { TEST_STORES: '', MONGODB_URL: database, ...redis };
  return { ...settings, ...stores, PROCESSES: '1' };
}

/** Settings of a host whose clock is wrong in all processes and threads: threads skip what --import preloads. */
function shifted(shiftMs: number): Record<string, string> {
  if (shiftMs === 0) return {};
  const preloaded = join(import.meta.dirname, 'shifted-clock.ts');
  return { NODE_OPTIONS: `--require=${preloaded}`, CLOCK_SHIFT_MS: String(shiftMs) };
}

function urlOf(hosts: readonly RealHost[], random: (below: number) => number): string | null {
  const urls = hosts.flatMap((host) => host.url() ?? []);
  return urls[random(Math.max(1, urls.length))] ?? null;
}

async function inject(
  fault: Fault,
  hosts: readonly RealHost[],
  { random, redisUrl = '' }: { random: (below: number) => number; redisUrl?: string | undefined },
): Promise<void> {
  const host = hosts[random(hosts.length)] as RealHost;
  const faults: Record<Fault, () => Promise<unknown>> = {
    process: () => host.killProcess(random(8)),
    async host() {
      await host.kill();
      await pause(random(1_000));
      await host.restart();
    },
    async freeze() {
      await host.freeze();
      await pause(FROZEN_MS);
      await host.thaw();
    },
    async flush() {
      const redis = new Redis(redisUrl);
      await redis.flushall();
      redis.disconnect();
    },
  };
  await faults[fault]();
}
