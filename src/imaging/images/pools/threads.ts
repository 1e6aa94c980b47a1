import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { ImageTask, ImageTaskResult } from '../../../../workers/protocol.ts';
import { shareOncePerProcess } from '../../../../workers/transport/process-state.ts';
import type { Clock } from '../../../platform/clock.ts';
import { workerUnreachableError } from '../failures.ts';
import type { FinishedTask, PoolWorkers } from './pool.ts';

/**
 * The number of tasks that a thread runs at the same time: a call, and an item of a job. sharp works on threads of
 * libuv, so neither delays the other.
 */
const TASKS_PER_THREAD = 2;
/** The time after which a retired pool is closed although a task still runs. Such a task hangs inside libvips. */
const MAX_RETIREMENT_MS = 180_000;

interface ImageThreadsOptions {
  threads: number;
  threadFile: URL;
  clock: Clock;
  /** Called when a thread ends by itself. */
  onLost: (error: Error) => void;
  /** Returns the CPU milliseconds of the threads. By default, they are read from the system. */
  workersCpuMs?: (() => number) | undefined;
}

type ThreadPool = Piscina<ImageTask, ImageTaskResult>;

/**
 * Threads of this process that run image tasks: one each, or a call and the item of a job. They are the fastest
 * workers, but nothing stops a thread inside libvips. The first task starts them. Tasks never queue here: calls wait in
 * admission, where accounts take turns and clients may leave. A dead thread is replaced.
 */
export class ImageThreads implements PoolWorkers<ImageTask, ImageTaskResult> {
  readonly #options: ImageThreadsOptions;
  readonly #cpuMeter: PassCpuMeter;
  readonly #runningTasks = new WeakMap<ThreadPool, Set<Promise<unknown>>>();
  /** Pools of a former size. Each promise resolves when the last task of its pool has ended. */
  readonly #retirements = new Set<Promise<void>>();
  #threadCount: number;
  #pool: ThreadPool | undefined;
  #isClosed = false;

  constructor(options: ImageThreadsOptions) {
    this.#options = options;
    this.#cpuMeter = new PassCpuMeter(options.workersCpuMs);
    this.#threadCount = options.threads;
    shareOncePerProcess('closeOtherLoaders');
  }

  async run(
    task: ImageTask,
    _signal: AbortSignal,
    _bytes: number,
    onBegun: (taskCpuMs: () => number) => void,
  ): Promise<FinishedTask<ImageTaskResult>> {
    const { clock, onLost } = this.#options;
    const begunMs = clock.elapsedMs();
    const measured = this.#cpuMeter.startMeasuring();
    // The measured time also contains other threads of the process, such as the garbage collector's. It is therefore
    // limited to what the threads of this task can have used.
    const busyMs = () => Math.min(measured.cpuMs(), (clock.elapsedMs() - begunMs) * vipsThreadsOf(task));
    onBegun(busyMs);
    try {
      const result = await this.#performTask(task);
      return { busyMs: busyMs(), result };
    } catch (error) {
      onLost(error as Error);
      return { busyMs: busyMs(), error: workerUnreachableError(error) };
    } finally {
      measured.end();
    }
  }

  /** Changes the number of threads. New tasks go to new threads. The old threads end with their tasks. */
  resize(count: number): void {
    if (count === this.#threadCount || this.#isClosed) return;
    this.#threadCount = count;
    if (this.#pool === undefined) return;
    const retired: Promise<void> = this.#retireThreads(this.#pool).finally(() =>
      this.#retirements.delete(retired),
    );
    this.#retirements.add(retired);
    this.#pool = this.#startPool();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#retirements, this.#pool?.destroy()]);
  }

  /** Runs a task in a thread. Rejects when the thread died. */
  #performTask(task: ImageTask): Promise<ImageTaskResult> {
    this.#pool ??= this.#startPool();
    const layers = 'layers' in task ? Object.values(task.layers ?? {}) : [];
    const files = [task.input, ...layers.map(({ input }) => input)];
    const answer = this.#pool.run(task, { transferList: files.map(({ buffer }) => buffer) });
    const tasks = this.#runningTasks.get(this.#pool) ?? new Set();
    this.#runningTasks.set(this.#pool, tasks);
    tasks.add(answer);
    const ended = () => tasks.delete(answer);
    answer.then(ended, ended);
    return answer;
  }

  #startPool(): ThreadPool {
    const started: ThreadPool = new Piscina({
      filename: fileURLToPath(this.#options.threadFile),
      minThreads: this.#threadCount,
      maxThreads: this.#threadCount,
      concurrentTasksPerWorker: TASKS_PER_THREAD,
      recordTiming: false,
    });
    started.on('error', this.#options.onLost);
    started.on('workerDestroy', () => setImmediate(this.#replaceIfEmpty, started));
    return started;
  }

  /**
   * Replaces a pool whose thread died while it started. Piscina gives up on such a pool, and would keep its queued
   * tasks for ever. They are rejected here, and the next task makes a new pool.
   */
  readonly #replaceIfEmpty = (started: ThreadPool): void => {
    if (started !== this.#pool || started.threads.length > 0 || this.#isClosed) return;
    this.#pool = this.#startPool();
    void started.destroy();
  };

  /** Closes a pool after its tasks. Piscina's own closing would reject tasks that have not begun. */
  async #retireThreads(old: ThreadPool): Promise<void> {
    const tasks = Promise.allSettled(this.#runningTasks.get(old) ?? []);
    await Promise.race([tasks, sleep(MAX_RETIREMENT_MS, undefined, { ref: false })]);
    await old.destroy();
  }
}

/** The number of libvips threads that work on a task. */
function vipsThreadsOf(task: ImageTask): number {
  return ('threads' in task && task.threads) || 1;
}

/**
 * Measures the CPU time of passes in threads of this process. Wall time says nothing about a pass if other processes
 * take the CPU. libvips works on threads of libuv, whose time Node does not report per task. Besides its main thread,
 * the process spends CPU time on passes and little else. This time is therefore divided evenly among the passes that
 * run. The result is exact for a pass that runs alone, and passes that run together have about the right sum.
 */
export class PassCpuMeter {
  readonly #workersMs: () => number;
  #runningTasks = 0;
  /** The CPU time that each running pass got since the process started, in milliseconds. */
  #perPassMs = 0;
  #lastReadMs = 0;

  /**
   * @param workersMs returns the CPU milliseconds that the workers of this process have used so far. A call takes about
   * 2 µs.
   */
  constructor(workersMs = cpuMsOfOtherThreads) {
    this.#workersMs = workersMs;
  }

  /** Starts to measure a pass. `cpuMs` returns its CPU milliseconds so far, and `end` ends the measurement. */
  startMeasuring(): { cpuMs: () => number; end: () => void } {
    this.#distributeCpuTime();
    this.#runningTasks += 1;
    const begunMs = this.#perPassMs;
    return {
      cpuMs: () => {
        this.#distributeCpuTime();
        return this.#perPassMs - begunMs;
      },
      end: () => {
        this.#distributeCpuTime();
        this.#runningTasks -= 1;
      },
    };
  }

  #distributeCpuTime(): void {
    const nowMs = this.#workersMs();
    if (this.#runningTasks > 0) this.#perPassMs += (nowMs - this.#lastReadMs) / this.#runningTasks;
    this.#lastReadMs = nowMs;
  }
}

function cpuMsOfOtherThreads(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return (all.user + all.system - own.user - own.system) / 1_000;
}
