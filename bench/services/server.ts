import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const START_ATTEMPTS = 3;
const READY_POLLS = 200;
const READY_POLL_MS = 50;

/** A server that tests talk to. */
export interface TestServer {
  url: string;
  stop(): Promise<void>;
}

/** A server in a separate process, which can be killed, frozen and restarted on the same port and directory. */
export interface OwnServer extends TestServer {
  port: number;
  /** SIGKILL. What the server has not written is lost. */
  kill(): Promise<void>;
  /** Starts it again after a kill. @throws Error if it does not become ready. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open, but nothing is answered. `thaw` sends SIGCONT. */
  freeze(): void;
  thaw(): void;
}

interface ServerSpec {
  command: string;
  args: (port: number, directory: string) => string[];
  env?: Record<string, string>;
  url: (port: number) => string;
  /** Whether it answers now. */
  isReady: (port: number) => Promise<boolean>;
}

/** Starts a server on a free port of loopback, in an empty directory that is removed with it. */
export async function startServer(spec: ServerSpec): Promise<OwnServer> {
  for (let attempt = 1; ; attempt++) {
    const directory = await mkdtemp(join(tmpdir(), 'darkroom-server-'));
    const port = await freePort();
    let child = spawnServer(spec, port, directory);
    const killChild = () => child.kill('SIGKILL');
    process.once('exit', killChild);
    const stop = async () => {
      process.off('exit', killChild);
      await end(child);
      await rm(directory, { recursive: true, force: true });
    };
    const isReady = () => becomesReady(child, () => spec.isReady(port));
    const server: OwnServer = {
      ...{ url: spec.url(port), port, stop },
      kill: () => end(child),
      async restart() {
        child = spawnServer(spec, port, directory);
        if (!(await isReady())) throw new Error(`${spec.command} did not start again.`);
      },
      freeze: () => void child.kill('SIGSTOP'),
      thaw: () => void child.kill('SIGCONT'),
    };
    if (await isReady()) return server;
    await stop();
    // Another program may have taken the port in between.
    if (attempt === START_ATTEMPTS) throw new Error(`${spec.command} did not start.`);
  }
}

function spawnServer({ command, args, env }: ServerSpec, port: number, directory: string): ChildProcess {
  return spawn(command, args(port, directory), { stdio: 'ignore', env: { ...process.env, ...env } });
}

async function becomesReady(child: ChildProcess, isReady: () => Promise<boolean>): Promise<boolean> {
  let failed = false;
  child.once('error', () => {
    failed = true;
  });
  for (let poll = 0; poll < READY_POLLS && !failed && child.exitCode === null; poll++) {
    if (await isReady()) return true;
    await pause(READY_POLL_MS);
  }
  return false;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** A port on loopback that was free just now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port was given.');
  return address.port;
}

/** The path of a program on the PATH, null when there is none. */
export async function findProgram(name: string): Promise<string | null> {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name);
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) return path;
  }
  return null;
}

/** The folder for what tests build or download. It is kept between runs. */
export const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url));

/**
 * A folder of the cache, built if it does not exist. It appears completely or not at all. Processes that build it at
 * the same time each build a copy, and the first one is kept.
 */
export async function cachedFolder(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const folder = `${CACHE}/${name}`;
  if (existsSync(folder)) return folder;
  const building = `${CACHE}/.building-${randomUUID()}`;
  await mkdir(building, { recursive: true });
  try {
    await build(building);
    await rename(building, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
