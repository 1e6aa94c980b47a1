import type { Clock } from '../../../platform/clock.ts';
import { MEGABYTE_BYTES } from '../../../platform/values/units.ts';
import { workerUnreachableError } from '../failures.ts';
import type { FinishedTask, PoolWorkers } from './pool.ts';
import { ProcessDeathError, type TaskFiles, TaskProcess, type TaskProcessOptions } from './task-process.ts';

interface ChildProcessesOptions<Reply, Result> extends TaskProcessOptions {
  clock: Clock;
  /** Called when a process ends by itself. */
  onLost: (error: Error) => void;
  /** The result of a task that ended its own process, because the same task would do so again. */
  deathResult: Result;
  /** Joins the reply of a process and its bytes. The bytes own their whole memory. */
  resultOf: (reply: Reply, data: Uint8Array<ArrayBuffer>) => Result;
}

/**
 * A process is replaced after a task that took more memory, because memory that it has not freed would count against
 * the next task.
 */
const LARGE_BYTES = 256 * MEGABYTE_BYTES;
/** A process is also replaced after a larger result. */
const LARGE_RESULT_BYTES = 64 * MEGABYTE_BYTES;
/** How long a process may be idle before it is ended. */
const IDLE_MS = 60_000;

/**
 * Child processes with a clean environment and bounded memory, for work that only a kill can stop. They are killed at
 * the deadline. Each runs one task at a time, and one is started when none is idle.
 */
export class ChildProcesses<Task extends TaskFiles, Reply, Result> implements PoolWorkers<Task, Result> {
  readonly #options: ChildProcessesOptions<Reply, Result>;
  /** Idle processes, each with the function that cancels its end. */
  readonly #idle = new Map<TaskProcess, () => void>();

  constructor(options: ChildProcessesOptions<Reply, Result>) {
    this.#options = options;
  }

  async run(task: Task, signal: AbortSignal, bytes: number): Promise<FinishedTask<Result>> {
    const { clock, resultOf } = this.#options;
    const process = this.#take();
    const begunMs = clock.elapsedMs();
    const kill = () => void process.kill();
    signal.addEventListener('abort', kill, { once: true });
    try {
      const { reply, data, cpuMs } = await process.ask<Task, Reply>(task);
      const isLarge = bytes > LARGE_BYTES || data.length > LARGE_RESULT_BYTES;
      if (isLarge || signal.aborted) await process.kill();
      else this.#putBack(process);
      return { busyMs: cpuMs, result: resultOf(reply, data) };
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
    await Promise.all([...this.#idle.keys()].map((process) => process.kill()));
  }

  #take(): TaskProcess {
    const [first] = this.#idle;
    if (first === undefined) return this.#start();
    const [process, cancelEnd] = first;
    cancelEnd();
    this.#idle.delete(process);
    return process;
  }

  #start(): TaskProcess {
    const started = new TaskProcess(this.#options);
    void started.gone.then(() => {
      this.#idle.get(started)?.();
      this.#idle.delete(started);
    });
    return started;
  }

  #putBack(process: TaskProcess): void {
    const end = () => {
      this.#idle.delete(process);
      void process.kill();
    };
    this.#idle.set(process, this.#options.clock.after(IDLE_MS, end));
  }
}
