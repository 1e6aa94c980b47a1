import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SETTINGS } from '../config/index.ts';
import { atExit } from './stopping.ts';

export interface BenchServer extends AsyncDisposable {
  url: string;
  key: string;
  pid: number;
  /** DATA_DIR. */
  directory: string;
}

const START_TIMEOUT_MS = 300_000;
const BENCH_API_KEY = 'drk_benchbenchbenchbenchbenchbenchbenchbench';

/** Settings that connect to other machines, or that belong to the operator's own instance on this machine. */
const SERVICE_VARIABLES = [
  ...[SETTINGS.stores, SETTINGS.mail, SETTINGS.providers].flatMap((table) => Object.keys(table)),
  ...['HOST', 'PUBLIC_URL', 'METRICS_PORT', 'METRICS_TOKEN'],
];

/** The environment without those settings. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !SERVICE_VARIABLES.includes(name));
  return Object.fromEntries(entries);
}

/**
 * Starts the whole service in separate processes, with embedded stores and limits that a load test does not reach.
 * @param onLine is called with each line that the service prints.
 */
export async function startBenchServer(
  settings: Record<string, string> = {},
  main = join(import.meta.dirname, '../src/host/main.ts'),
  onLine: (line: string) => void = () => undefined,
): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-bench-'));
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The service is detached, so that a signal of the terminal reaches only the bench, which ends the service when it
    // has its figures.
    detached: true,
    env: {
      ...ownEnvironment(),
      PORT: '0',
      DATA_DIR: directory,
      // The operator's settings file is for the service, and not for a measurement.
      ENV_FILE: join(directory, 'none.env'),
      LOG_LEVEL: 'error',
      BOOTSTRAP_API_KEY: BENCH_API_KEY,
      BOOTSTRAP_PASSWORD: 'bench-password',
      REQUESTS_PER_MINUTE: '1000000',
      SYNC_CALLS_PER_ACCOUNT: '64',
      ...settings,
    },
  });
  const forget = atExit(() => {
    endProcessGroup(child);
    rmSync(directory, { recursive: true, force: true });
  });
  const url = await listeningAddress(child, onLine);
  return {
    url,
    key: BENCH_API_KEY,
    pid: child.pid ?? 0,
    directory,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await gone;
      }
      await rm(directory, { recursive: true, force: true });
      forget();
    },
  };
}

/** Ends a service with all of its processes at once. */
function endProcessGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The processes have ended by themselves.
  }
}

/** Opens another account than that of the bench. @returns its API key. */
export function openAccount(
  { directory }: BenchServer,
  { email, plan, credits }: { email: string; plan: 'free' | 'pro' | 'scale'; credits: number },
): string {
  const args = ['account', 'create', '--email', email, '--plan', plan, '--credits', String(credits)];
  const printed = execFileSync(
    process.execPath,
    [join(import.meta.dirname, '../src/host/admin.ts'), ...args, '--json'],
    { env: { ...ownEnvironment(), DATA_DIR: directory }, encoding: 'utf8' },
  );
  return (JSON.parse(printed) as { key: string }).key;
}

function listeningAddress(child: ChildProcess, onLine: (line: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('The server did not start in time.')), START_TIMEOUT_MS);
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      onLine(line);
      const [, address] = /listening on (http\S+)/.exec(line) ?? [];
      if (address === undefined) return;
      clearTimeout(late);
      resolve(address);
    });
  });
}
