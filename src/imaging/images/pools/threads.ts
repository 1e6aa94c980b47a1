import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type {
  Compared,
  CompareTask,
  Described,
  Failure,
  ImageResult,
  ImageTask,
  Transformed,
  TransformTask,
} from '../../../../workers/protocol.ts';
import { shareOnce } from '../../../../workers/transport/once.ts';

/** The answer to a task that succeeded. */
export type AnswerOf<T extends ImageTask> = T extends TransformTask
  ? Transformed
  : T extends CompareTask
    ? Compared
    : Described;
export type ResultOf<T extends ImageTask> = AnswerOf<T> | Failure;

/**
 * A call, and the item of a job beside it: sharp works on threads of libuv, so neither holds up the other.
 */
const TASKS_A_THREAD = 2;
/** Longer than any task: one that still runs then hangs inside libvips. */
const RETIRE_MS = 180_000;

/** Threads that run image tasks: one each, or a call beside the item of a job. */
interface Threads {
  /**
   * Settles when the thread has really ended with the task: nothing stops a thread inside libvips.
   * The task's input is transferred. Rejects when its thread died.
   */
  run<T extends ImageTask>(task: T): Promise<ResultOf<T>>;
  /** Changes the number of threads: new tasks go to new threads, the old ones end with the tasks that they have. */
  resize(threads: number): void;
  close(): Promise<void>;
}

/**
 * The caller never runs more tasks at once than the threads take: calls wait in admission, where accounts
 * take turns and clients may leave. A dead thread is replaced.
 */
export function createThreads(options: {
  threads: number;
  threadFile: URL;
  onLost: (error: Error) => void;
}): Threads {
  const { threadFile, onLost } = options;
  let { threads } = options;
  const running = new WeakMap<Piscina, Set<Promise<unknown>>>();
  /** Pools of another size, until their last task has ended. */
  const retiring = new Set<Promise<void>>();
  let isClosed = false;
  shareOnce('closeOtherLoaders');
  let piscina = start();

  function start(): Piscina<ImageTask, ImageResult> {
    const started = new Piscina<ImageTask, ImageResult>({
      filename: fileURLToPath(threadFile),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: TASKS_A_THREAD,
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

  /** Piscina's own closing would reject what has not begun: its tasks are waited for here. */
  async function retire(old: Piscina): Promise<void> {
    const tasks = Promise.allSettled(running.get(old) ?? []);
    await Promise.race([tasks, sleep(RETIRE_MS, undefined, { ref: false })]);
    await old.destroy();
  }

  return {
    run<T extends ImageTask>(task: T) {
      const answer = piscina.run(task, { transferList: [task.input.buffer] }) as Promise<ResultOf<T>>;
      const tasks = running.get(piscina) ?? new Set();
      running.set(piscina, tasks);
      tasks.add(answer);
      const ended = () => tasks.delete(answer);
      answer.then(ended, ended);
      return answer;
    },
    resize(count) {
      if (count === threads || isClosed) return;
      threads = count;
      const old = piscina;
      piscina = start();
      const retired: Promise<void> = retire(old).finally(() => retiring.delete(retired));
      retiring.add(retired);
    },
    async close() {
      isClosed = true;
      await Promise.all([...retiring, piscina.destroy()]);
    },
  };
}
