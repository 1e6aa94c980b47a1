import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ChildProcessTask, ProcessAnswer, RasterInput } from '../../../../workers/protocol.ts';
import { endFirstWithoutMemory } from '../../../../workers/transport/oom-score.ts';
import { DATA_PIPE, freeNow, readBytes } from '../../../../workers/transport/pipe.ts';

/** A process ended before its answer. */
export class ProcessDeath extends Error {
  override readonly name = 'ProcessDeath';
  /** Whether the task is at fault: the memory limit and native crashes abort a process from inside. */
  readonly byTask: boolean;
  /** CPU time of its task until it was killed, in milliseconds; null if the system does not tell. */
  readonly cpuMs: number | null;
  constructor(ending: ProcessEnd, cpuMs: number | null) {
    super(`A child process ended by ${ending.killedBy ?? `code ${ending.code}`}`);
    this.byTask = ending.code === UNCAUGHT_EXCEPTION || OWN_DEATHS.includes(ending.killedBy);
    this.cpuMs = cpuMs;
  }
}

export interface TaskProcessOptions {
  file: URL;
  /** Memory that it may write to. */
  memoryMegabytes: number;
  /** 0 is the usual priority, 19 the lowest. */
  niceness: number;
  /** CPU milliseconds of a process by its id, null if they are not known; absent: as the system reports them. */
  processCpuMs?: ((pid: number) => number | null) | undefined;
}

/** The bytes of a task, which are sent apart from the rest of it. */
export interface TaskFiles {
  input: Uint8Array;
  layers?: Readonly<Record<string, RasterInput>>;
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
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'LD_PRELOAD',
  'MALLOC_ARENA_MAX',
  'MALLOC_CONF',
  // Halves the time that a process takes to start, which on a busy host is seconds of a call's ten.
  'NODE_COMPILE_CACHE',
];

/** A process for work that nothing stops but a kill. */
export class TaskProcess {
  readonly #processCpuMs: (pid: number) => number | null;
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  readonly #died = new AbortController();
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  /** CPU time of the process when its task began, and of the task when the process was killed. */
  #begunAtMs: number | null = null;
  #killedAfterMs: number | null = null;

  constructor(options: TaskProcessOptions) {
    this.#processCpuMs = options.processCpuMs ?? cpuMsOf;
    this.#child = forkLimited(options);
    if (this.#child.pid !== undefined) endFirstWithoutMemory(this.#child.pid);
    this.#pipe = this.#child.stdio[DATA_PIPE] as Duplex;
    // A write to a process that died fails here; the death itself is reported by its exit.
    this.#pipe.on('error', () => {});
    this.gone = waitForEnding(this.#child).then((ending) =>
      this.#died.abort(new ProcessDeath(ending, this.#killedAfterMs)),
    );
  }

  /**
   * Sends a task and reads its answer. One at a time. The task's input and its second pictures are handed over, and
   * freed once they are written.
   * @throws ProcessDeath
   */
  async ask<Task extends TaskFiles, Reply>({ input, layers = {}, ...task }: Task) {
    const { signal } = this.#died;
    this.#begunAtMs = this.#usedMs();
    try {
      const message: ChildProcessTask<Task> = { task, sizeBytes: input.length, layers: sizesOf(layers) };
      this.#child.send(message, (error) => error !== null && this.#child.kill('SIGKILL'));
      for (const file of [input, ...Object.values(layers).map((layer) => layer.input)])
        this.#pipe.write(file, (error) => (error ? undefined : freeNow(file)));
      const [answer] = (await once(this.#child, 'message', { signal })) as [ProcessAnswer<Reply>];
      const { reply, sizeBytes, cpuMs } = answer;
      return { reply, data: await readBytes(this.#pipe, sizeBytes, signal), cpuMs };
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }

  /** Ends it at once; resolves when it is gone. */
  async kill(): Promise<void> {
    const nowMs = this.#usedMs();
    if (this.#begunAtMs !== null && nowMs !== null) this.#killedAfterMs = nowMs - this.#begunAtMs;
    this.#child.kill('SIGKILL');
    await this.gone;
  }

  #usedMs(): number | null {
    return this.#child.pid === undefined ? null : this.#processCpuMs(this.#child.pid);
  }
}

function sizesOf(layers: Readonly<Record<string, RasterInput>>): ChildProcessTask<unknown>['layers'] {
  return Object.entries(layers).map(([id, { input, ...raster }]) => ({
    id,
    sizeBytes: input.length,
    ...raster,
  }));
}

/**
 * A shell sets the limits before Node starts, so that they hold for every thread; RLIMIT_DATA counts the memory that is
 * written to, where a limit of the address space would count all that V8 reserves.
 */
function forkLimited({ file, memoryMegabytes, niceness }: TaskProcessOptions): ChildProcess {
  const limited = `ulimit -d ${memoryMegabytes * 1024}; exec nice -n ${niceness} "$0" "$@"`;
  return fork(fileURLToPath(file), {
    execPath: '/bin/sh',
    execArgv: ['-c', limited, process.execPath],
    env: Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])),
    ),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
  });
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
 * CPU milliseconds of a process since its start; null without /proc, or when it has ended. The name of the program is
 * in brackets, so fields begin after the last bracket.
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
