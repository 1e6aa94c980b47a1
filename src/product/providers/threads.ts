import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

/** Threads that are started with their first task, and stopped when nothing was asked of them for a while. */
export interface Threads<T, R> {
  /** Rejects with the signal's reason when it aborts; a task that runs already is then left to its thread's end. */
  run(task: T, signal: AbortSignal): Promise<R>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

/** The memory limit of one thread. A thread beyond it is ended, and its task with it. */
export interface ThreadLimits {
  heapMegabytes?: number;
}

/** A pool of at most `count` threads for one module, off the path of calls: none is started before it is needed. */
export function lazyThreads<T, R>(module: URL, count: number, limits: ThreadLimits = {}): Threads<T, R> {
  let pool: Piscina<T, R> | undefined;
  const start = () =>
    new Piscina<T, R>({
      filename: fileURLToPath(module),
      minThreads: 0,
      maxThreads: count,
      idleTimeout: IDLE_MS,
      // An idle thread keeps its event loop: readers have workers of their own.
      atomics: 'disabled',
      recordTiming: false,
      ...(limits.heapMegabytes !== undefined && {
        resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes },
      }),
    });
  return {
    async run(task, signal) {
      pool ??= start();
      return pool.run(task, { signal });
    },
    async close() {
      await pool?.destroy();
    },
  };
}
