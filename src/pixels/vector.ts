import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  LIMIT_PIXELS,
  type Rasterized,
  type RasterizeResult,
  type RasterizeTask,
} from '../../workers/protocol.ts';
import { createAdmission, type WorkClass } from './admission.ts';
import type { Clock } from './clock.ts';
import { deadlineExceeded, refusalOf, unsupportedFormat, workerUnreachable } from './failures.ts';
import { type Patience, patienceUntil } from './patience.ts';

export interface Drawing extends Rasterized {
  /** RGBA, row by row, owning the whole of its memory. */
  pixels: Uint8Array<ArrayBuffer>;
  queueMs: number;
}

export interface DrawingRequest extends Pick<RasterizeTask, 'density' | 'atLeast'> {
  bytes: Uint8Array;
}

/** For whom it is drawn. */
export interface DrawingCaller {
  accountId: string;
  work?: WorkClass | undefined;
  patience: Pick<Patience, 'signal' | 'waiting'>;
}

/** Draws SVG in a process of its own, one drawing at a time, accounts in turn. */
export interface Rasterizer {
  /**
   * @throws unsupported_format when it is no drawing or too large; provider_unavailable (capacity, deadline_exceeded,
   * worker_unreachable); the signal's reason when it aborts.
   */
  draw(request: DrawingRequest, caller: DrawingCaller): Promise<Drawing>;
  /** Waits for the drawings under way, then ends the process. */
  close(): Promise<void>;
}

export interface RasterizerOptions {
  /** Time that one drawing may take. */
  timeoutMs: number;
  memoryMegabytes: number;
  queueLimit: number;
  clock: Clock;
  /** Told when the process ends that nobody ended. */
  onLost: (error: Error) => void;
  processFile?: URL;
}

const VECTOR_PROCESS = new URL('../../workers/vector/process.ts', import.meta.url);
/** Index of the pipe on which the pixels come. */
const PIXEL_PIPE = 4;
/** A process that held a larger drawing than this is replaced: what it has not given back yet would be the next one's. */
const LARGE_DRAWING_BYTES = 64 * 1_048_576;
/** Deaths that the drawing caused: the memory limit and native crashes abort the process from inside. */
const OWN_DEATHS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGSEGV', 'SIGBUS', 'SIGILL'];
const UNCAUGHT_EXCEPTION = 1;
/** All that the process may know of the environment. */
const ENVIRONMENT = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  'FONTCONFIG_FILE',
  'FONTCONFIG_PATH',
  'XDG_CACHE_HOME',
  'LD_PRELOAD',
  'MALLOC_ARENA_MAX',
];

/**
 * An SVG of 1 KB can burn a core for ever, and a thread inside librsvg cannot be stopped. So it burns in a process of
 * the lowest priority and of bounded memory, which is killed at the drawing's deadline and started again when the next
 * drawing comes. Raster images never wait for it.
 */
export function createRasterizer(options: RasterizerOptions): Rasterizer {
  const { timeoutMs, memoryMegabytes, queueLimit, clock, onLost, processFile = VECTOR_PROCESS } = options;
  const admission = createAdmission({ seats: 1, budgetBytes: 1, queueLimit, clock });
  let current: ChildProcess | null = null;

  function running(): ChildProcess {
    if (current === null) {
      const started = startProcess(processFile, memoryMegabytes);
      started.once('error', onLost);
      started.once('exit', (code, killedBy) => {
        if (current !== started) return;
        current = null;
        onLost(new Error(`The rasterizer ended by ${killedBy ?? `code ${code}`}`));
      });
      current = started;
    }
    return current;
  }

  /** Ends a process; the next drawing starts another. */
  function retire(child: ChildProcess): void {
    if (current === child) current = null;
    child.kill('SIGKILL');
  }

  async function drawNow(task: RasterizeTask, signal: AbortSignal): Promise<Omit<Drawing, 'queueMs'>> {
    const child = running();
    const kill = () => retire(child);
    signal.addEventListener('abort', kill, { once: true });
    try {
      const drawing = await exchange(child, task);
      if (drawing.pixels.length > LARGE_DRAWING_BYTES) retire(child);
      return drawing;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  return {
    async draw({ bytes, ...size }, { accountId, work, patience: { signal, waiting } }) {
      const seat = await waiting(admission.acquire({ accountId, work, bytes: 0, signal }));
      const late = () => deadlineExceeded(admission.retryAfterSeconds());
      const patience = patienceUntil({ deadlineMs: clock.nowMs() + timeoutMs, client: signal, clock, late });
      try {
        patience.signal.throwIfAborted();
        const drawing = await drawNow({ input: bytes, ...size, limitPixels: LIMIT_PIXELS }, patience.signal);
        return { ...drawing, queueMs: seat.queueMs };
      } finally {
        patience.end();
        seat.release();
      }
    },
    async close() {
      await admission.idle();
      if (current !== null) retire(current);
    },
  };
}

/**
 * The limits are laid on by a shell before Node starts, so that no thread of the process is without them; RLIMIT_DATA
 * counts what is really written to, where an address space limit would count all that V8 reserves.
 */
function startProcess(processFile: URL, memoryMegabytes: number): ChildProcess {
  const limited = `ulimit -d ${memoryMegabytes * 1024}; exec nice -n 19 "$0" "$@"`;
  return fork(fileURLToPath(processFile), {
    execPath: '/bin/sh',
    execArgv: ['-c', limited, process.execPath],
    env: Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])),
    ),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
  });
}

/** Sends a task and reads its answer: the verdict as a message, the pixels on their pipe. */
async function exchange(child: ChildProcess, task: RasterizeTask): Promise<Omit<Drawing, 'queueMs'>> {
  const died = new AbortController();
  const onExit = (code: number | null, killedBy: NodeJS.Signals | null) =>
    died.abort(deathOf(code, killedBy));
  child.once('exit', onExit);
  try {
    child.send(task, (error) => error !== null && died.abort(workerUnreachable(error)));
    const [verdict] = (await once(child, 'message', { signal: died.signal })) as [RasterizeResult];
    if (verdict.kind === 'failure') throw refusalOf(verdict, (name) => name);
    const pixels = await readPixels(child.stdio[PIXEL_PIPE] as Readable, verdict, died.signal);
    return { ...verdict, pixels };
  } catch (error) {
    throw died.signal.aborted ? died.signal.reason : error;
  } finally {
    child.off('exit', onExit);
  }
}

function deathOf(code: number | null, killedBy: NodeJS.Signals | null): Error {
  return code === UNCAUGHT_EXCEPTION || OWN_DEATHS.includes(killedBy)
    ? unsupportedFormat(
        'The drawing needs more memory than a drawing may take, or broke its reader; simplify it.',
      )
    : workerUnreachable(new Error(`The rasterizer ended by ${killedBy ?? `code ${code}`}`));
}

async function readPixels(
  pipe: Readable,
  size: Rasterized,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const pixels = new Uint8Array(size.width * size.height * size.channels);
  let filled = 0;
  const take = (chunk: Uint8Array) => {
    pixels.set(chunk, filled);
    filled += chunk.length;
  };
  pipe.on('data', take);
  pipe.resume();
  try {
    while (filled < pixels.length) await once(pipe, 'data', { signal });
    return pixels;
  } finally {
    pipe.pause();
    pipe.off('data', take);
  }
}
