import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ChildProcessTask, ProcessAnswer } from '../../../../workers/protocol.ts';
import { DATA_PIPE, freeNow, readBytes } from '../../../../workers/transport/pipe.ts';

/** A process ended before its answer. */
export class ProcessDeath extends Error {
  override readonly name = 'ProcessDeath';
  /** Whether the task is at fault: the memory limit and native crashes abort a process from inside. */
  readonly byTask: boolean;
  constructor(ending: Ending) {
    super(`A child process ended by ${ending.killedBy ?? `code ${ending.code}`}`);
    this.byTask = ending.code === UNCAUGHT_EXCEPTION || OWN_DEATHS.includes(ending.killedBy);
  }
}

export interface ChildProcessOptions {
  file: URL;
  /** Memory that it may write to. */
  memoryMegabytes: number;
  /** 0 is the usual priority, 19 the lowest. */
  niceness: number;
}

export interface TaskProcess {
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  /**
   * Sends a task and reads its answer. One at a time. The task's input is handed over, and freed once it is written.
   * @throws ProcessDeath
   */
  ask<Task extends { input: Uint8Array }, Reply>(
    task: Task,
  ): Promise<{ reply: Reply; data: Uint8Array<ArrayBuffer> }>;
  /** Ends it at once; resolves when it is gone. */
  kill(): Promise<void>;
}

interface Ending {
  code: number | null;
  killedBy: NodeJS.Signals | null;
}

const UNCAUGHT_EXCEPTION = 1;
const OWN_DEATHS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGSEGV', 'SIGBUS', 'SIGILL'];
/** The environment of the process: no credential of a store, no secret of the operator. */
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
 * Starts a process for work that nothing stops but a kill. A shell sets the limits before Node starts, so that they
 * hold for every thread; RLIMIT_DATA counts the memory that is written to, where a limit of the address space would
 * count all that V8 reserves.
 */
export function startTaskProcess({ file, memoryMegabytes, niceness }: ChildProcessOptions): TaskProcess {
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
  const pipe = child.stdio[DATA_PIPE] as Duplex;
  // A write to a process that died fails here; the death itself is reported by its exit.
  pipe.on('error', () => {});
  const died = new AbortController();
  const gone = endingOf(child).then((ending) => died.abort(new ProcessDeath(ending)));
  const { signal } = died;
  return {
    gone,
    async ask<Task extends { input: Uint8Array }, Reply>({ input, ...task }: Task) {
      try {
        const message: ChildProcessTask<Task> = { task, sizeBytes: input.length };
        child.send(message, (error) => error !== null && child.kill('SIGKILL'));
        pipe.write(input, (error) => (error ? undefined : freeNow(input)));
        const [answer] = (await once(child, 'message', { signal })) as [ProcessAnswer<Reply>];
        return { reply: answer.reply, data: await readBytes(pipe, answer.sizeBytes, signal) };
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
