import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ChildProcessTask, ProcessAnswer } from '../../../../workers/protocol.ts';
import { endFirstWithoutMemory } from '../../../../workers/transport/oom-score.ts';
import { DATA_PIPE, freeNow, readBytes } from '../../../../workers/transport/pipe.ts';

/** A process ended before its answer. */
export class ProcessDeath extends Error {
  override readonly name = 'ProcessDeath';
  /** Whether the task is at fault: the memory limit and native crashes abort a process from inside. */
  readonly byTask: boolean;
  /** CPU time of its task until it was killed, in milliseconds; null where the system does not tell. */
  readonly cpuMs: number | null;
  constructor(ending: ProcessEnd, cpuMs: number | null) {
    super(`A child process ended by ${ending.killedBy ?? `code ${ending.code}`}`);
    this.byTask = ending.code === UNCAUGHT_EXCEPTION || OWN_DEATHS.includes(ending.killedBy);
    this.cpuMs = cpuMs;
  }
}

export interface ChildProcessOptions {
  file: URL;
  /** Memory that it may write to. */
  memoryMegabytes: number;
  /** 0 is the usual priority, 19 the lowest. */
  niceness: number;
  /** CPU milliseconds of a process by its id, null where they are not known; absent: as the system reports them. */
  processCpuMs?: ((pid: number) => number | null) | undefined;
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
  ): Promise<{ reply: Reply; data: Uint8Array<ArrayBuffer>; cpuMs: number }>;
  /** Ends it at once; resolves when it is gone. */
  kill(): Promise<void>;
}

interface ProcessEnd {
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
export function startTaskProcess({
  file,
  memoryMegabytes,
  niceness,
  processCpuMs = cpuMsOf,
}: ChildProcessOptions): TaskProcess {
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
  if (child.pid !== undefined) endFirstWithoutMemory(child.pid);
  const pipe = child.stdio[DATA_PIPE] as Duplex;
  // A write to a process that died fails here; the death itself is reported by its exit.
  pipe.on('error', () => {});
  /** CPU time of the process when its task began, and of the task when the process was killed. */
  let begunAtMs: number | null = null;
  let killedAfterMs: number | null = null;
  const usedMs = () => (child.pid === undefined ? null : processCpuMs(child.pid));
  const died = new AbortController();
  const gone = waitForEnding(child).then((ending) => died.abort(new ProcessDeath(ending, killedAfterMs)));
  const { signal } = died;
  return {
    gone,
    async ask<Task extends { input: Uint8Array }, Reply>({ input, ...task }: Task) {
      begunAtMs = usedMs();
      try {
        const message: ChildProcessTask<Task> = { task, sizeBytes: input.length };
        child.send(message, (error) => error !== null && child.kill('SIGKILL'));
        pipe.write(input, (error) => (error ? undefined : freeNow(input)));
        const [answer] = (await once(child, 'message', { signal })) as [ProcessAnswer<Reply>];
        const { reply, sizeBytes, cpuMs } = answer;
        return { reply, data: await readBytes(pipe, sizeBytes, signal), cpuMs };
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    },
    async kill() {
      const nowMs = usedMs();
      if (begunAtMs !== null && nowMs !== null) killedAfterMs = nowMs - begunAtMs;
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** A process that cannot even start has ended, too. */
function waitForEnding(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, killedBy) => resolve({ code, killedBy }));
    child.once('error', () => resolve({ code: null, killedBy: null }));
  });
}

const TICK_MS = 10;

/**
 * CPU milliseconds of a process since its start; null without /proc, or when it has ended. The name of the program
 * stands in brackets, so fields begin after the last bracket.
 */
function cpuMsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}
