import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type {
  RenderAnswer,
  RenderCall,
  RenderNotice,
  RenderThreadOptions,
} from '../../../workers/render/protocol.ts';

/** What the operator reads about renders; pino's logger is one. */
export interface RenderLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** What a thread tells beside its answers. */
export interface RenderThreadEvents {
  log: RenderLog;
  /** Its browser turned out to have no sandbox. */
  onUnsandboxed: () => void;
}

/** A thread past its time is given this long to say so itself, before it is taken for hung. */
const GRACE_MS = 3_000;

/** A busy host takes a while to end a browser; a thread that is ended first leaves its browser behind. */
const STOP_MS = 10_000;

const ENTRY = fileURLToPath(new URL('../../../workers/render/thread.ts', import.meta.url));

/**
 * A call as it crosses to the thread. A message on `client` says that nobody waits for its answer any more; the thread
 * says on it that the drawing begins.
 */
type Watched = RenderCall & { client?: MessagePort };

/** The thread ended with the call in it. */
export class LostThreadError extends Error {
  override readonly name = 'LostThreadError';
}

/** What goes with a call, for as long as it is under way. */
export interface CallTies {
  /** Aborts when nobody wants the answer any more: the thread then ends the page, and answers. */
  client?: AbortSignal | undefined;
  /** Called when the page has a browser to itself, once more when a second one draws it. Only with `client`. */
  onDrawing?: (() => void) | undefined;
}

/**
 * One render thread, started at its first call and again after it was lost. It is a pool of its own, because Piscina can
 * only destroy whole pools; `stop` asks the thread to leave, so that it closes its browser first.
 */
export interface RenderThread {
  /** Calls under way. */
  readonly busy: number;
  /**
   * Never hangs: a thread that has not answered 3 s after the deadline is ended, with every call in it.
   * @throws LostThreadError
   */
  call(task: RenderCall, deadlineMs: number, ties?: CallTies): Promise<RenderAnswer>;
  /** Ends the browser, then the thread, when no call is under way; the next call starts them again. */
  rest(): Promise<void>;
  /** Ends the browser, then the thread. */
  stop(): Promise<void>;
}

export function createRenderThread(
  options: RenderThreadOptions,
  { log, onUnsandboxed }: RenderThreadEvents,
): RenderThread {
  const pool = new Piscina<Watched, RenderAnswer>({
    filename: ENTRY,
    workerData: options,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    // How many calls there are at once is the caller's to say.
    concurrentTasksPerWorker: Number.POSITIVE_INFINITY,
    // A thread that sleeps on an atomic between its calls would not hear its browser.
    atomics: 'disabled',
    recordTiming: false,
  });
  pool.on('message', ({ level, message, unsandboxed }: RenderNotice) => {
    log[level](message);
    if (unsandboxed) onUnsandboxed();
  });
  pool.on('error', (error: Error) => {
    log.error(`A render thread failed: ${error.message}`);
    // Calls that wait for a thread that does not start would wait for ever.
    void pool.destroy();
  });
  let busy = 0;

  async function call(task: RenderCall, deadlineMs: number, ties: CallTies = {}): Promise<RenderAnswer> {
    const hung = setTimeout(() => pool.destroy(), Math.max(0, deadlineMs - Date.now()) + GRACE_MS);
    busy += 1;
    try {
      return await send(task, ties);
    } catch (error) {
      log.error(`A render thread was lost: ${String(error)}`);
      throw new LostThreadError('A render thread was lost.', { cause: error });
    } finally {
      clearTimeout(hung);
      busy -= 1;
    }
  }

  /** A channel goes along that is closed with the call: a signal that is transferred keeps its own for ever. */
  async function send(task: RenderCall, { client, onDrawing }: CallTies): Promise<RenderAnswer> {
    if (client === undefined) return pool.run(task);
    const { port1: teller, port2: told } = new MessageChannel();
    const tell = () => teller.postMessage('left');
    if (onDrawing !== undefined) teller.on('message', onDrawing);
    client.addEventListener('abort', tell, { once: true });
    if (client.aborted) tell();
    try {
      return await pool.run({ ...task, client: told }, { transferList: [told] });
    } finally {
      client.removeEventListener('abort', tell);
      teller.close();
    }
  }

  async function end(): Promise<void> {
    if (pool.threads.length > 0) await call({ kind: 'stop' }, Date.now() + STOP_MS).catch(() => {});
    await pool.destroy();
  }

  return {
    get busy() {
      return busy;
    },
    call,
    async rest() {
      if (busy === 0) await end();
    },
    stop: end,
  };
}
