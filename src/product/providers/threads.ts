import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

/** A thread that is started for its first task and stopped after an idle time. */
interface Thread<T, R> {
  /** Rejects with the signal's reason when it aborts; a task that is already running then continues to its end. */
  run(task: T, signal: AbortSignal): Promise<R>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

/**
 * A thread for one module.
 * @param heapMegabytes its memory limit. A thread that exceeds it is ended together with its task.
 */
export function lazyThread<T, R>(module: URL, heapMegabytes?: number): Thread<T, R> {
  let pool: Piscina<T, R> | undefined;
  const start = () =>
    new Piscina<T, R>({
      filename: fileURLToPath(module),
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      // An idle thread keeps its event loop, because a reader has worker threads of its own.
      atomics: 'disabled',
      recordTiming: false,
      ...(heapMegabytes !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } }),
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
