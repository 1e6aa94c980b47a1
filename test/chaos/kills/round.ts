import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { dropDatabase, randomDatabase } from '../../../bench/services/mongodb.ts';
import { askPrimary } from '../../../src/host/admin/socket.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { BOOTSTRAP_CREDITS } from '../../../src/product/accounts/bootstrap.ts';
import { randomFrom } from '../../product/jobs/chain-runs.ts';
import { LOOPBACK, type Receiver, startReceiver } from '../../product/webhooks/receiver.ts';
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

export interface KillWorldOptions {
  /** One host with embedded stores when they are left out. */
  cluster?: Servers | undefined;
  /** How far the clock of the second host is ahead of the first one's, or behind. */
  shiftMs?: number;
  /** How fast time passes on a host with embedded stores. Redis has a clock of its own. */
  speed?: number;
}

/** Hosts that outlive the rounds upon them: their start takes longer than a round. */
export interface KillWorld {
  hosts: readonly RealHost[];
  redisUrl: string | undefined;
  speed: number;
  /** The number of rounds so far. */
  rounds: number;
  /** The account of the next round. */
  account(): Promise<{ key: string; granted: number }>;
  /** Starts the receiver of webhooks of a round. It stays open, because events of the round may be delivered again. */
  startReceiver(): Promise<Receiver>;
  close(): Promise<void>;
}

export interface KillRound {
  seed: number;
  faults: Fault[];
  /** Whether clients wait until their calls are answered before the faults: only jobs are then in progress. */
  isCalm?: boolean;
  /** Whether templates are drawn too, which takes a browser in every process. */
  renders?: boolean;
}

const CLIENTS = 3;
const BEFORE_MS = 2_000;
const BETWEEN_MS = 3_000;
const CREDITS = 100_000;
const EVENTS = ['job.completed', 'job.failed', 'job.item.completed', 'job.item.failed'];

/** Starts the hosts of a world. */
export async function openKillWorld({
  cluster,
  shiftMs = 0,
  speed = 1,
}: KillWorldOptions): Promise<KillWorld> {
  const ends: Array<() => unknown> = [];
  const scope: Pick<Test, 'teardown'> = { teardown: (end) => void ends.push(end as () => unknown) };
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const settings = await settingsOf(scope, cluster);
    const hosts = [await startRealHost(scope, { ...settings, ...falseClock({ speed }) })];
    if (cluster !== undefined)
      hosts.push(await startRealHost(scope, { ...settings, ...falseClock({ shiftMs }) }));
    const world: KillWorld = {
      ...{ hosts, speed, rounds: 0, redisUrl: cluster?.redisUrl },
      async account() {
        if (world.rounds === 0) return { key: hosts[0]?.key() ?? '', granted: BOOTSTRAP_CREDITS };
        return { key: await openAccount(settings.DATA_DIR, world.rounds), granted: CREDITS };
      },
      startReceiver: () => startReceiver(scope),
      close,
    };
    return world;
  } catch (error) {
    await close();
    throw error;
  }
}

/** A round in a world of its own. */
export async function killRoundAlone(options: KillWorldOptions & KillRound): Promise<string[]> {
  const world = await openKillWorld(options);
  try {
    return await killRound(world, options);
  } finally {
    await world.close();
  }
}

/**
 * Clients call, and faults happen at random moments: kill -9, FLUSHALL, SIGSTOP.
 * @returns every promise that was broken, as it is seen from outside.
 */
export async function killRound(
  world: KillWorld,
  { seed, faults, isCalm = false, renders = false }: KillRound,
): Promise<string[]> {
  const random = randomFrom(seed);
  const { hosts, speed, redisUrl } = world;
  const { key, granted } = await world.account();
  world.rounds += 1;
  const client = retryingClient(() => urlOf(hosts, random), key);
  const receiver = await world.startReceiver();
  await client('/webhook-endpoints', { json: { url: receiver.url, events: EVENTS } });
  const workload = await startWorkload(client, random, { renders });

  const over = new AbortController();
  const calls = Array.from({ length: CLIENTS }, () => workload.run(over.signal));
  const allCalled = async () => {
    over.abort();
    await Promise.all(calls);
  };
  await pause(BEFORE_MS / speed);
  if (isCalm) await allCalled();
  for (const fault of faults) {
    await inject(fault, hosts, { random, redisUrl });
    await pause(random(BETWEEN_MS) / speed);
  }
  await allCalled();
  return promisesBrokenOutside({ client, workload, receiver, granted });
}

/** Opens an account through the primary. @returns its API key. */
async function openAccount(directory: string, number: number): Promise<string> {
  const terms = ['--email', `round${number}@example.com`, '--plan', 'scale', '--credits', String(CREDITS)];
  const quiet = { by: 'chaos', folder: '.', onProgress: () => {} };
  const opened = await askPrimary(directory, ['account', 'create', ...terms], quiet);
  if (opened === null) throw new Error('The primary does not listen.');
  return (opened.data as { key: string }).key;
}

/** One directory, or one database, for all hosts of a world. */
async function settingsOf({ teardown }: Pick<Test, 'teardown'>, cluster: KillWorldOptions['cluster']) {
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

/** Settings of a host whose clock is false in all processes and threads: threads skip what --import preloads. */
function falseClock({
  shiftMs = 0,
  speed = 1,
}: {
  shiftMs?: number;
  speed?: number;
}): Record<string, string> {
  if (shiftMs === 0 && speed === 1) return {};
  const preloaded = join(import.meta.dirname, 'false-clock.ts');
  return {
    NODE_OPTIONS: `--require=${preloaded}`,
    CLOCK_SHIFT_MS: String(shiftMs),
    CLOCK_SPEED: String(speed),
    CLOCK_ORIGIN_MS: String(Date.now()),
  };
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
