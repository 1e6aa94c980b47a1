import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type {
  Described,
  Failure,
  ImageResult,
  ImageTask,
  Transformed,
  TransformTask,
} from '../../workers/protocol.ts';

/** What a task is answered with. */
export type ResultOf<T extends ImageTask> = (T extends TransformTask ? Transformed : Described) | Failure;

/** Threads that run one image task each. */
export interface Pool {
  /**
   * Settles when the thread has really ended with the task: nothing stops a thread inside libvips.
   * The task's input is transferred. Rejects when its thread died.
   */
  run<T extends ImageTask>(task: T): Promise<ResultOf<T>>;
  close(): Promise<void>;
}

/**
 * The caller never runs more tasks at once than there are threads: whoever waits does so in admission, where accounts
 * take turns and clients may leave. A dead thread is replaced.
 */
export function createPool(options: {
  threads: number;
  threadFile: URL;
  onLost: (error: Error) => void;
}): Pool {
  const { threads, threadFile, onLost } = options;
  let isClosed = false;
  let piscina = start();

  function start(): Piscina<ImageTask, ImageResult> {
    const started = new Piscina<ImageTask, ImageResult>({
      filename: fileURLToPath(threadFile),
      minThreads: threads,
      maxThreads: threads,
      recordTiming: false,
    });
    started.on('error', onLost);
    started.on('workerDestroy', () => setImmediate(renewIfEmpty, started));
    return started;
  }

  /**
   * Piscina gives up on a pool whose thread dies while it starts, and would keep its queued tasks for ever. They are
   * rejected here, and the next task finds a new pool.
   */
  function renewIfEmpty(started: Piscina): void {
    if (started !== piscina || started.threads.length > 0 || isClosed) return;
    piscina = start();
    void started.destroy();
  }

  return {
    run<T extends ImageTask>(task: T) {
      return piscina.run(task, { transferList: [task.input.buffer] }) as Promise<ResultOf<T>>;
    },
    close() {
      isClosed = true;
      return piscina.destroy();
    },
  };
}
