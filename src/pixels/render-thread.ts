import { Worker } from 'node:worker_threads';
import type { RenderAnswer, RenderCall, RenderNotice, RenderThreadOptions } from '../../workers/protocol.ts';

/** What the operator reads about renders; pino's logger is one. */
export interface RenderLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

type Result = RenderAnswer['result'];

/** A thread past its time is given this long to say so itself, before it is taken for hung. */
const GRACE_MS = 3_000;

const ENTRY = new URL('../../workers/render/thread.ts', import.meta.url);

/**
 * One render thread, started at its first call and again after it was lost. It is a plain Worker: the thread that hangs
 * is the one that is ended, and a thread that is to leave is told so, so that it takes its browser along.
 */
export interface RenderThread {
  /** Calls under way. */
  readonly busy: number;
  /**
   * Never hangs: a thread that has not answered 3 s after the deadline is ended, with every call in it.
   * @throws Error when the thread was lost
   */
  call(task: RenderCall['task'], deadlineMs: number): Promise<Result>;
  /** Ends the browser, then the thread. */
  stop(): Promise<void>;
}

interface Pending {
  resolve(result: Result): void;
  reject(error: Error): void;
}

export function createRenderThread(options: RenderThreadOptions, log: RenderLog): RenderThread {
  const pending = new Map<number, Pending>();
  let worker: Worker | undefined;
  let lastId = 0;

  function start(): Worker {
    const started = new Worker(ENTRY, { workerData: options });
    started.on('message', (message: RenderAnswer | RenderNotice) => {
      if (message.kind === 'notice') log[message.level](message.message);
      else pending.get(message.id)?.resolve(message.result);
    });
    started.on('error', (error) => log.error(`A render thread failed: ${error.message}`));
    started.on('exit', () => {
      worker = undefined;
      for (const { reject } of pending.values()) reject(new Error('The render thread ended.'));
    });
    return started;
  }

  async function call(task: RenderCall['task'], deadlineMs: number): Promise<Result> {
    worker ??= start();
    const thread = worker;
    lastId += 1;
    const id = lastId;
    const hung = setTimeout(() => thread.terminate(), Math.max(0, deadlineMs - Date.now()) + GRACE_MS);
    try {
      return await new Promise<Result>((resolve, reject) => {
        pending.set(id, { resolve, reject });
        thread.postMessage({ id, task } satisfies RenderCall);
      });
    } finally {
      clearTimeout(hung);
      pending.delete(id);
    }
  }

  return {
    get busy() {
      return pending.size;
    },
    call,
    async stop() {
      if (worker === undefined) return;
      await call({ kind: 'stop' }, Date.now()).catch(() => {});
      await worker?.terminate();
    },
  };
}
