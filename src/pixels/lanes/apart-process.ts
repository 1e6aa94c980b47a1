import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ApartAnswer } from '../../../workers/protocol.ts';

/** A process ended before its answer. */
export class ProcessDeath extends Error {
  override readonly name = 'ProcessDeath';
  /** Whether the task is at fault: the memory limit and native crashes abort a process from inside. */
  readonly byTask: boolean;
  constructor(ending: Ending) {
    super(`A process apart ended by ${ending.killedBy ?? `code ${ending.code}`}`);
    this.byTask = ending.code === UNCAUGHT_EXCEPTION || OWN_DEATHS.includes(ending.killedBy);
  }
}

export interface ApartProcessOptions {
  file: URL;
  /** What it may write to. */
  memoryMegabytes: number;
  /** 0 as everybody, 19 the lowest priority. */
  niceness: number;
}

export interface ApartProcess {
  /**
   * Sends a task and reads its answer. One at a time.
   * @throws ProcessDeath
   */
  ask<Task, Verdict>(task: Task): Promise<{ verdict: Verdict; data: Uint8Array<ArrayBuffer> }>;
  /** Ends it at once; resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
}

interface Ending {
  code: number | null;
  killedBy: NodeJS.Signals | null;
}

/** Index of the pipe on which bytes come; see workers/apart.ts. */
const DATA_PIPE = 4;
const UNCAUGHT_EXCEPTION = 1;
const OWN_DEATHS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGSEGV', 'SIGBUS', 'SIGILL'];
/** All that the process may know of the environment: no credential of a store, no secret of the operator. */
const ENVIRONMENT = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  'FONTCONFIG_FILE',
  'FONTCONFIG_PATH',
  'XDG_CACHE_HOME',
  'LD_PRELOAD',
  'MALLOC_ARENA_MAX',
  'MALLOC_CONF',
  // Halves the time that a process takes to start, which on a busy host is seconds of a call's ten.
  'NODE_COMPILE_CACHE',
];

/**
 * Starts a process for work that nothing stops but a kill. The limits are laid on by a shell before Node starts, so that
 * no thread of the process is without them; RLIMIT_DATA counts what is really written to, where an address space limit
 * would count all that V8 reserves.
 */
export function startApartProcess({ file, memoryMegabytes, niceness }: ApartProcessOptions): ApartProcess {
  const limited = `ulimit -d ${memoryMegabytes * 1024}; exec nice -n ${niceness} "$0" "$@"`;
  const child = fork(fileURLToPath(file), {
    execPath: '/bin/sh',
    execArgv: ['-c', limited, process.execPath],
    env: Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])),
    ),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
  });
  const died = new AbortController();
  const gone = endingOf(child).then((ending) => died.abort(new ProcessDeath(ending)));
  const { signal } = died;
  return {
    gone,
    async ask<Task, Verdict>(task: Task) {
      try {
        child.send(task as object, (error) => error !== null && child.kill('SIGKILL'));
        const [answer] = (await once(child, 'message', { signal })) as [ApartAnswer<Verdict>];
        const pipe = child.stdio[DATA_PIPE] as Readable;
        return { verdict: answer.verdict, data: await readBytes(pipe, answer.sizeBytes, signal) };
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** A process that cannot even start has ended, too. */
function endingOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('exit', (code, killedBy) => resolve({ code, killedBy }));
    child.once('error', () => resolve({ code: null, killedBy: null }));
  });
}

/** Copied into their place as they come. */
async function readBytes(
  pipe: Readable,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(sizeBytes);
  let filled = 0;
  const take = (chunk: Uint8Array) => {
    bytes.set(chunk, filled);
    filled += chunk.length;
  };
  pipe.on('data', take);
  pipe.resume();
  try {
    while (filled < bytes.length) await once(pipe, 'data', { signal });
    return bytes;
  } finally {
    pipe.pause();
    pipe.off('data', take);
  }
}
