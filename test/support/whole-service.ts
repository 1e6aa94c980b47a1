import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { SPARE_PROCESS_ARGUMENT } from '../../src/host/processes/spare.ts';

export const MAIN = join(import.meta.dirname, '../../src/host/main.ts');
const KEY = 'drk_wholewholewholewholewholewholewholewhole';
const POLL_MS = 50;
const POLLS = 6_000;

export interface WholeService {
  url: string;
  key: string;
  pid: number;
  directory: string;
  /** Everything that the service printed, logs included. */
  printed(): string;
  /** Pids of the API processes now. */
  children(): Promise<number[]>;
  /** Pids of the processes that wait to become one. */
  spares(): Promise<number[]>;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code. */
  ended: Promise<number | null>;
}

/** The service as an operator starts it: the primary and its processes, on a free port. Ends with the test. */
export async function startWholeService(
  t: Pick<Test, 'teardown'>,
  settings: Record<string, string> = {},
): Promise<WholeService> {
  const directory = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'darkroom-whole-')));
  const child = spawn(process.execPath, [MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...withoutStores(process.env),
      PORT: '0',
      DATA_DIR: directory,
      BOOTSTRAP_API_KEY: KEY,
      REQUESTS_PER_MINUTE: '1000000',
      // A busy machine is no overload.
      TRANSFORM_TIMEOUT_MS: '60000',
      IMAGE_WAIT_MS: '50000',
      ...settings,
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  t.teardown(async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await ended;
    if (settings.DATA_DIR === undefined) await rm(directory, { recursive: true, force: true });
  });
  await until(() => /listening on http/.test(printed) || child.exitCode !== null);
  const [, url = ''] = /listening on (http\S+)/.exec(printed) ?? [];
  if (url === '') throw new Error(`The service did not start: ${printed}`);
  const pid = child.pid ?? 0;
  return {
    url,
    key: KEY,
    pid,
    directory,
    printed: () => printed,
    children: () => childrenOf(pid),
    spares: () => childrenOf(pid, true),
    signal: (name) => void child.kill(name),
    ended,
  };
}

/** An environment of nothing but these settings, and of where programs and compiled modules are found. */
export function bareEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE, ...settings };
}

/** Waits for a condition by looking again and again, for at most five minutes: a busy machine starts slowly. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    if (await condition()) return;
    await pause(POLL_MS);
  }
  throw new Error('The condition did not become true in time.');
}

/** API processes of a primary, or its spare ones: its children that run server.ts; none if it has ended. */
export async function childrenOf(parent: number, areSpare = false): Promise<number[]> {
  const listed = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '');
  const pids = listed.split(' ').filter(Boolean).map(Number);
  const found = await Promise.all(pids.map((pid) => isApiProcess(pid, areSpare)));
  return pids.filter((_pid, index) => found[index]);
}

/** False for one that has ended: its command line is empty. */
async function isApiProcess(pid: number, isSpare: boolean): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command.includes('server.ts') && command.includes(SPARE_PROCESS_ARGUMENT) === isSpare;
}

/** Without the addresses of stores: a test that starts its own service sets them itself. */
export function withoutStores(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { MONGODB_URL, REDIS_URL, ...rest } = environment;
  return process.env.TEST_STORES === 'cluster' ? environment : rest;
}
