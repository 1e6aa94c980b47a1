import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type {
  RenderCall,
  RenderClient,
  RenderNotice,
  RenderResult,
  RenderTask,
  RenderThreadOptions,
} from '../../../workers/render/protocol.ts';
import type { Clock } from '../../platform/clock.ts';

/** The log for messages about renders. pino's logger can be used. */
export interface RenderLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** The time after the deadline for which a thread may still answer before it counts as hung. */
const ANSWER_GRACE_MS = 3_000;

/**
 * A thread may take this long to end its browser, which is slow on a busy host. If the thread is ended first, the
 * browser goes on running.
 */
const STOP_TIMEOUT_MS = 10_000;

const THREAD_FILE = fileURLToPath(new URL('../../../workers/render/thread.ts', import.meta.url));

/** The error for a call whose thread ended before its answer. */
export class LostThreadError extends Error {
  override readonly name = 'LostThreadError';
}

/** A thread that draws pages in its own browser. */
export interface RenderThread {
  /** The number of calls in progress. */
  readonly callCount: number;
  /**
   * Draws a page. The promise always settles: a thread that has not answered 3 s after the deadline is ended, together
   * with all its pages.
   * @throws LostThreadError
   */
  draw(task: RenderTask, client: RenderClient): Promise<RenderResult>;
  /** Ends the browser, then the thread. The next page starts them again. */
  stop(): Promise<void>;
}

interface BrowserThreadHooks {
  log: RenderLog;
  /** Called when the browser of the thread runs without a sandbox. */
  onUnsandboxed: () => void;
}

/**
 * A render thread with a browser. It starts at its first call, and again after it was lost. It has a Piscina pool of
 * its own, because Piscina can destroy whole pools only. `stop` sends the thread a message to end, so that it closes
 * its browser first.
 */
export class BrowserThread implements RenderThread {
  readonly #log: RenderLog;
  readonly #pool: Piscina<RenderCall, RenderResult>;
  #callCount = 0;

  constructor(options: RenderThreadOptions, { log, onUnsandboxed }: BrowserThreadHooks) {
    this.#log = log;
    this.#pool = new Piscina({
      filename: THREAD_FILE,
      workerData: options,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // There is no limit here, because the pool of renders limits the number of calls.
      concurrentTasksPerWorker: Number.POSITIVE_INFINITY,
      // With atomics, a thread sleeps between its calls and would not receive messages of its browser.
      atomics: 'disabled',
      recordTiming: false,
    });
    this.#pool.on('message', ({ level, message, unsandboxed }: RenderNotice) => {
      log[level](message);
      if (unsandboxed) onUnsandboxed();
    });
    this.#pool.on('error', (error: Error) => {
      log.error(`A render thread failed: ${error.message}`);
      // The pool is destroyed, because calls would wait for ever for a thread that does not start.
      void this.#pool.destroy();
    });
  }

  get callCount(): number {
    return this.#callCount;
  }

  /**
   * Sends the page with a message channel that is closed when the call ends. A transferred signal would keep its own
   * channel open for ever.
   */
  async draw(task: RenderTask, { clientGone, onDrawing }: RenderClient): Promise<RenderResult> {
    const { port1: port, port2: client } = new MessageChannel();
    const abandon = () => port.postMessage('abandoned');
    port.on('message', onDrawing);
    clientGone.addEventListener('abort', abandon, { once: true });
    if (clientGone.aborted) abandon();
    try {
      return await this.#send({ ...task, client }, task.deadlineMs, [client]);
    } finally {
      clientGone.removeEventListener('abort', abandon);
      port.close();
    }
  }

  async #send(call: RenderCall, deadlineMs: number, transferList: MessagePort[] = []): Promise<RenderResult> {
    const hung = setTimeout(
      () => this.#pool.destroy(),
      Math.max(0, deadlineMs - Date.now()) + ANSWER_GRACE_MS,
    );
    this.#callCount += 1;
    try {
      return await this.#pool.run(call, { transferList });
    } catch (error) {
      this.#log.error(`A render thread was lost: ${String(error)}`);
      throw new LostThreadError('A render thread was lost.', { cause: error });
    } finally {
      clearTimeout(hung);
      this.#callCount -= 1;
    }
  }

  async stop(): Promise<void> {
    if (this.#pool.threads.length > 0)
      await this.#send({ kind: 'stop' }, Date.now() + STOP_TIMEOUT_MS).catch(() => {});
    await this.#pool.destroy();
  }
}

/** A thread whose browser ends when it has drawn no page for some time, because a browser holds 150 MB. */
export class IdleEndingThread implements RenderThread {
  readonly #thread: RenderThread;
  readonly #idleMs: number;
  readonly #clock: Clock;
  #callCount = 0;
  #isWarm = false;
  #cancelIdleStop: (() => void) | undefined;
  #stopped: Promise<void> = Promise.resolve();

  constructor(thread: RenderThread, idleMs: number, clock: Clock) {
    this.#thread = thread;
    this.#idleMs = idleMs;
    this.#clock = clock;
  }

  get callCount(): number {
    return this.#callCount;
  }

  /** Whether the thread's browser has drawn a page and has not ended since. */
  get isWarm(): boolean {
    return this.#isWarm;
  }

  async draw(task: RenderTask, client: RenderClient): Promise<RenderResult> {
    this.#cancelIdleStop?.();
    this.#callCount += 1;
    try {
      await this.#stopped;
      const answer = await this.#thread.draw(task, client);
      this.#isWarm ||= answer.kind === 'rendered';
      return answer;
    } finally {
      this.#callCount -= 1;
      if (this.#callCount === 0) this.#cancelIdleStop = this.#clock.after(this.#idleMs, this.#stopIdle);
    }
  }

  async stop(): Promise<void> {
    this.#cancelIdleStop?.();
    await this.#stopped;
    await this.#thread.stop();
  }

  readonly #stopIdle = (): void => {
    this.#isWarm = false;
    this.#stopped = this.#thread.stop();
  };
}
