import { type ChildProcess, fork } from 'node:child_process';
import { on } from 'node:events';
import { readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  type ChildProcessAnswer,
  DATA_PIPE_INDEX,
  freeBytes,
  joinMessage,
  splitMessage,
  sumOfSizes,
  TASK_BEGUN,
} from '../../../../workers/transport/bytes.ts';
import { preferForOomKill } from '../../../../workers/transport/process-state.ts';
import type { Clock } from '../../../platform/clock.ts';
import { readProcessCpuMs } from '../../../platform/metrics/proc.ts';
import { MEGABYTE_BYTES } from '../../../platform/values/units.ts';
import { workerUnreachableError } from '../failures.ts';
import type { FinishedTask, PoolWorkers } from './pool.ts';

interface ChildProcessesOptions<Result> extends TaskProcessOptions {
  clock: Clock;
  /** Called when a process ends by itself. */
  onLost: (error: Error) => void;
  /**
   * The result of a task that crashed its process. The task is not tried again, because it would crash the next process
   * too.
   */
  deathResult: Result;
  /** Whether a process still works after its answer, so that it must be killed. By default, none does. */
  isStillWorking?: (result: Result) => boolean;
}

/**
 * A process is used again only after tasks of at most this memory, because memory that it has not freed would count
 * against the next task.
 */
const MAX_TASK_BYTES_FOR_REUSE = 256 * MEGABYTE_BYTES;
/** A process is used again only after results of at most this size. */
const MAX_RESULT_BYTES_FOR_REUSE = 64 * MEGABYTE_BYTES;
/** The time after which an idle process is ended. */
const IDLE_PROCESS_TIMEOUT_MS = 60_000;

/**
 * Child processes with a clean environment and bounded memory, for work that only a kill can stop. They are killed at
 * the deadline. Each runs one task at a time, and one is started when none is idle.
 */
export class ChildProcesses<Task, Result> implements PoolWorkers<Task, Result> {
  readonly #options: ChildProcessesOptions<Result>;
  /** Idle processes, each with a function that cancels the timer that would end it. */
  readonly #idleProcesses = new Map<TaskProcess, () => void>();

  constructor(options: ChildProcessesOptions<Result>) {
    this.#options = options;
  }

  async run(
    task: Task,
    signal: AbortSignal,
    bytes: number,
    onBegun: (taskCpuMs: () => number | null) => void,
  ): Promise<FinishedTask<Result>> {
    const { clock, isStillWorking } = this.#options;
    const process = this.#takeOrStartProcess();
    const begunMs = clock.elapsedMs();
    const kill = () => void process.kill();
    signal.addEventListener('abort', kill, { once: true });
    try {
      const { result, sizeBytes, cpuMs } = await process.perform<Task, Result>(task, () =>
        onBegun(process.taskCpuMs),
      );
      const isLarge = bytes > MAX_TASK_BYTES_FOR_REUSE || sizeBytes > MAX_RESULT_BYTES_FOR_REUSE;
      if (isLarge || signal.aborted || isStillWorking?.(result)) await process.kill();
      else this.#keepForReuse(process);
      return { busyMs: cpuMs, result };
    } catch (error) {
      await process.kill();
      const knownMs = error instanceof ProcessDeathError ? error.cpuMs : null;
      const busyMs = knownMs ?? clock.elapsedMs() - begunMs;
      if (signal.aborted) return { busyMs, error: signal.reason };
      this.#options.onLost(error as Error);
      if (error instanceof ProcessDeathError && error.byTask)
        return { busyMs, result: this.#options.deathResult };
      return { busyMs, error: error instanceof ProcessDeathError ? workerUnreachableError(error) : error };
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  /**
   * Does nothing: processes are started one by one when they are needed, and an idle one ends by itself after a while.
   */
  resize(): void {}

  async close(): Promise<void> {
    await Promise.all([...this.#idleProcesses.keys()].map((process) => process.kill()));
  }

  #takeOrStartProcess(): TaskProcess {
    const [first] = this.#idleProcesses;
    if (first === undefined) return this.#startProcess();
    const [process, cancelEnd] = first;
    cancelEnd();
    this.#idleProcesses.delete(process);
    return process;
  }

  #startProcess(): TaskProcess {
    const started = new TaskProcess(this.#options);
    void started.gone.then(() => {
      this.#idleProcesses.get(started)?.();
      this.#idleProcesses.delete(started);
    });
    return started;
  }

  #keepForReuse(process: TaskProcess): void {
    const end = () => {
      this.#idleProcesses.delete(process);
      void process.kill();
    };
    this.#idleProcesses.set(process, this.#options.clock.after(IDLE_PROCESS_TIMEOUT_MS, end));
  }
}

/** The error for a process that ended before its answer. */
class ProcessDeathError extends Error {
  override readonly name = 'ProcessDeathError';
  /** Whether the task crashed the process: the memory limit and native faults abort a process from inside. */
  readonly byTask: boolean;
  /** The CPU milliseconds of the task until the process was killed; null if the system does not report them. */
  readonly cpuMs: number | null;
  constructor(ending: ProcessEnd, cpuMs: number | null) {
    super(`A child process ended by ${ending.killedBy ?? `code ${ending.code}`}`);
    this.byTask = ending.code === UNCAUGHT_EXCEPTION_CODE || CRASH_SIGNALS.includes(ending.killedBy);
    this.cpuMs = cpuMs;
  }
}

export interface TaskProcessOptions {
  file: URL;
  /** The memory that the process may write to. */
  memoryMegabytes: number;
  /** The niceness of the process while it works: 0 is the usual priority, 19 the lowest. */
  niceness: number;
  /**
   * Returns the CPU milliseconds of a process by its id, or null if they are unknown. By default, they are read from
   * /proc.
   */
  processCpuMs?: ((pid: number) => number | null) | undefined;
}

interface ProcessEnd {
  code: number | null;
  killedBy: NodeJS.Signals | null;
}

const UNCAUGHT_EXCEPTION_CODE = 1;
const CRASH_SIGNALS: readonly (NodeJS.Signals | null)[] = [
  'SIGABRT',
  'SIGTRAP',
  'SIGSEGV',
  'SIGBUS',
  'SIGILL',
];
/**
 * The greatest niceness of a process until its first task begins. With less priority, a start of 0.1 s of CPU time
 * would take seconds on a busy host.
 */
const MAX_NICENESS_DURING_START = 5;
/** The environment variables that the process gets. None holds a credential of a store or a secret of the operator. */
const PASSED_ENVIRONMENT_VARIABLES = [
  'PATH',
  'HOME',
  'TMPDIR',
  'FONTCONFIG_FILE',
  'FONTCONFIG_PATH',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'LD_PRELOAD',
  'MALLOC_ARENA_MAX',
  'MALLOC_CONF',
  // The code cache halves the start time of a process. On a busy host, a start takes several of the ten seconds that a
  // call has.
  'NODE_COMPILE_CACHE',
];
/**
 * The language of the process. It is the same on every host, because a drawing can choose its text by it
 * (`systemLanguage`).
 */
const LANGUAGE_VARIABLE = { LANG: 'en_US.UTF-8' };

/** A child process for work that only a kill can stop. */
class TaskProcess {
  readonly #processCpuMs: (pid: number) => number | null;
  readonly #niceness: number;
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  readonly #died = new AbortController();
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
  /** CPU milliseconds of the process at the start of its task; null before the first task. */
  #startCpuMs: number | null = null;
  #killedTaskCpuMs: number | null = null;

  constructor(options: TaskProcessOptions) {
    this.#processCpuMs = options.processCpuMs ?? readProcessCpuMs;
    this.#niceness = options.niceness;
    this.#child = forkWithLimits(options);
    if (this.#child.pid !== undefined) preferForOomKill(this.#child.pid);
    this.#pipe = this.#child.stdio[DATA_PIPE_INDEX] as Duplex;
    // A write to a dead process fails here. The death itself is reported by its exit.
    this.#pipe.on('error', () => {});
    this.gone = waitForEnd(this.#child).then((ending) =>
      this.#died.abort(new ProcessDeathError(ending, this.#killedTaskCpuMs)),
    );
  }

  /**
   * Sends a task and reads its answer, one at a time. The bytes of the task are freed once they are written.
   * @param onBegun called when the process begins the task.
   * @throws ProcessDeathError
   */
  async perform<Task, Result>(
    task: Task,
    onBegun: () => void,
  ): Promise<{ result: Result; sizeBytes: number; cpuMs: number }> {
    const { signal } = this.#died;
    this.#startCpuMs = this.#readCpuMs();
    try {
      const { sent, files } = splitMessage(task);
      this.#child.send(sent, (error) => error !== null && this.#child.kill('SIGKILL'));
      for (const file of files) this.#pipe.write(file, (error) => (error ? undefined : freeBytes(file)));
      const answer = await this.#nextAnswer<Result>(onBegun);
      const result = await joinMessage(answer, this.#pipe, signal);
      return { result, sizeBytes: sumOfSizes(answer.sizes), cpuMs: answer.cpuMs };
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }

  /** Waits for the next answer. All messages are kept until they are read, because two of them may arrive at once. */
  async #nextAnswer<Result>(onBegun: () => void): Promise<ChildProcessAnswer<Result>> {
    for await (const [message] of on(this.#child, 'message', { signal: this.#died.signal })) {
      if (message !== TASK_BEGUN) return message;
      if (this.#child.pid !== undefined) lowerPriority(this.#child.pid, this.#niceness);
      onBegun();
    }
    throw new Error('The messages of a process end only with the process.');
  }

  /** Kills the process, and resolves when it has ended. */
  async kill(): Promise<void> {
    this.#killedTaskCpuMs = this.taskCpuMs();
    this.#child.kill('SIGKILL');
    await this.gone;
  }

  /** The CPU milliseconds of the latest task so far; null if they are unknown. */
  readonly taskCpuMs = (): number | null => {
    const nowMs = this.#readCpuMs();
    return this.#startCpuMs === null || nowMs === null ? null : nowMs - this.#startCpuMs;
  };

  #readCpuMs(): number | null {
    return this.#child.pid === undefined ? null : this.#processCpuMs(this.#child.pid);
  }
}

/**
 * Starts a process through a shell, which sets the limits before Node starts, so that they hold for every thread.
 * RLIMIT_DATA counts memory that is written to. A limit on the address space would also count what V8 only reserves.
 */
function forkWithLimits({ file, memoryMegabytes, niceness }: TaskProcessOptions): ChildProcess {
  const startNiceness = Math.min(niceness, MAX_NICENESS_DURING_START);
  const limited = `ulimit -d ${memoryMegabytes * 1024}; exec nice -n ${startNiceness} "$0" "$@"`;
  return fork(fileURLToPath(file), {
    execPath: '/bin/sh',
    execArgv: ['-c', limited, process.execPath],
    env: {
      ...Object.fromEntries(
        PASSED_ENVIRONMENT_VARIABLES.flatMap((name) =>
          name in process.env ? [[name, process.env[name]]] : [],
        ),
      ),
      ...LANGUAGE_VARIABLE,
    },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
  });
}

/**
 * Lowers the priority of all threads of a process below that of this one. Threads that they start later inherit it. It
 * does nothing for a process that has ended.
 */
function lowerPriority(pid: number, niceness: number): void {
  const lowered = Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness);
  for (const thread of readThreadIds(pid)) {
    try {
      setPriority(thread, lowered);
    } catch {}
  }
}

/** The ids of the threads of a process. On systems without /proc, only the id of the process itself. */
function readThreadIds(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}

/** Resolves when a process has ended. A process that cannot start counts as ended too. */
function waitForEnd(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, killedBy) => resolve({ code, killedBy }));
    child.once('error', () => resolve({ code: null, killedBy: null }));
  });
}
