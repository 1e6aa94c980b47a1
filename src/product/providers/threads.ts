import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

/** Threads that are started for their first task and stopped after an idle time. */
export interface Threads<T, R> {
  /** Rejects with the signal's reason when it aborts; a task that is already running then continues to its end. */
  run(task: T, signal: AbortSignal): Promise<R>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

/** The memory limit of one thread. A thread that exceeds it is ended together with its task. */
export interface ThreadLimits {
  heapMegabytes?: number;
}

/** A pool of at most `count` threads for one module. Threads are started when they are needed. */
export function lazyThreads<T, R>(module: URL, count: number, limits: ThreadLimits = {}): Threads<T, R> {
  let pool: Piscina<T, R> | undefined;
  const start = () =>
    new Piscina<T, R>({
      filename: fileURLToPath(module),
      minThreads: 0,
      maxThreads: count,
      idleTimeout: IDLE_MS,
      // An idle thread keeps its event loop, because the readers have worker threads of their own.
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
