import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { RenderAnswer, RenderCall, RenderNotice, RenderThreadOptions } from '../../workers/protocol.ts';

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

const ENTRY = fileURLToPath(new URL('../../workers/render/thread.ts', import.meta.url));

/** A call as it crosses to the thread. A message on `client` says that nobody waits for its answer any more. */
type Watched = RenderCall & { client?: MessagePort };

/** The thread ended with the call in it. */
export class LostThreadError extends Error {
  override readonly name = 'LostThreadError';
}

/** What goes with a call, for as long as it is under way. */
export interface CallTies {
  /** Aborts when nobody wants the answer any more: the thread then ends the page, and answers. */
  client?: AbortSignal | undefined;
  /** Called once, when no earlier call is under way in the thread: from then on its time is spent on this one. */
  onTurn?: (() => void) | undefined;
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
  /** Calls under way, in the order that the thread takes them. */
  const line: CallTies[] = [];

  async function call(task: RenderCall, deadlineMs: number, ties: CallTies = {}): Promise<RenderAnswer> {
    const hung = setTimeout(() => pool.destroy(), Math.max(0, deadlineMs - Date.now()) + GRACE_MS);
    line.push(ties);
    if (line[0] === ties) ties.onTurn?.();
    try {
      return await send(task, ties.client);
    } catch (error) {
      log.error(`A render thread was lost: ${String(error)}`);
      throw new LostThreadError('A render thread was lost.', { cause: error });
    } finally {
      clearTimeout(hung);
      leave(ties);
    }
  }

  /** A channel goes along that is closed with the call: a signal that is transferred keeps its own for ever. */
  async function send(task: RenderCall, client: AbortSignal | undefined): Promise<RenderAnswer> {
    if (client === undefined) return pool.run(task);
    const { port1: teller, port2: told } = new MessageChannel();
    const tell = () => teller.postMessage('left');
    client.addEventListener('abort', tell, { once: true });
    if (client.aborted) tell();
    try {
      return await pool.run({ ...task, client: told }, { transferList: [told] });
    } finally {
      client.removeEventListener('abort', tell);
      teller.close();
    }
  }

  /** A page is encoded while the next is drawn, so `onTurn` of the next one comes a little late, never too early. */
  function leave(ties: CallTies): void {
    const wasFirst = line[0] === ties;
    line.splice(line.indexOf(ties), 1);
    if (wasFirst) line[0]?.onTurn?.();
  }

  async function end(): Promise<void> {
    if (pool.threads.length > 0) await call({ kind: 'stop' }, Date.now()).catch(() => {});
    await pool.destroy();
  }

  return {
    get busy() {
      return line.length;
    },
    call,
    async rest() {
      if (line.length === 0) await end();
    },
    stop: end,
  };
}
