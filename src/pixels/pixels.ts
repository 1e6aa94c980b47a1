import { createHash } from 'node:crypto';
import type { SettingsOf } from '../../config/setting.ts';
import type {
  Described,
  DescribeTask,
  Failure,
  ImageFacts,
  ImageTask,
  InputHeader,
  Pass,
  RawPixels,
  Transformed,
  TransformTask,
} from '../../workers/protocol.ts';
import type { ApiError } from '../http/errors.ts';
import { type Admission, createAdmission, type SeatRequest, type WorkClass } from './admission.ts';
import { type Clock, systemClock } from './clock.ts';
import type { pixelsSettings } from './config.ts';
import { drawingSizeOf } from './drawing-size.ts';
import { deadlineExceeded, refusalOf, workerUnreachable } from './failures.ts';
import type { Header } from './header/header.ts';
import { estimatedBytes, memoryBudgetBytes } from './memory.ts';
import { ownedBytes } from './owned.ts';
import { type Patience, patienceUntil, unlessAborted } from './patience.ts';
import { createPool, type ResultOf } from './pool.ts';
import { readable } from './readable.ts';
import { createRasterizer } from './vector.ts';

export interface PixelCall {
  /** The file. Handed over: transferred to a thread when it owns its memory, and not to be touched again. */
  bytes: Uint8Array;
  /** Whose call it is; accounts take turns. */
  accountId: string;
  /** Jobs give way to calls, wait without end, and are never refused for want of room. Absent: a call. */
  work?: WorkClass;
  /** Epoch milliseconds after which the caller gets deadline_exceeded. A job's moves by the time that it waits. */
  deadlineMs: number;
  /** Aborts when the client goes away; the result then rejects with its reason. */
  signal?: AbortSignal;
}

export interface TransformCall extends PixelCall {
  pass: Pass;
  /** Files of the second assets that steps read, by asset id. */
  layers?: Record<string, Uint8Array>;
  /** Names a pass-relative parameter, such as `steps[0].params.width`, in the caller's words. */
  paramOf?: (passParam: string) => string;
}

/** A call under way. */
export interface Work<T> {
  /**
   * Rejects with ApiError: unsupported_format, invalid_param, or provider_unavailable with details.reason `capacity`,
   * `deadline_exceeded` or `worker_unreachable` and a Retry-After.
   */
  result: Promise<T>;
  /** Resolves when no thread works for the call any more: at a deadline that is later than the result. Never rejects. */
  ended: Promise<void>;
}

/** Time from the call to its thread, waiting for a rasterizer included. */
interface Queued {
  queueMs: number;
}

export type PixelResult = Transformed & Queued;
export type PixelFacts = Described & Queued;

export interface PixelStats {
  threads: number;
  busy: number;
  queued: number;
  /** Mean wait of the last calls, in milliseconds. */
  waitMs: number;
  /** Estimated memory of the calls at work, and what it may be. */
  reservedBytes: number;
  budgetBytes: number;
}

/** The one door to the image threads. */
export interface Pixels {
  /** Runs one pass over one file. */
  transform(call: TransformCall): Work<PixelResult>;
  /** Reads what an image is and says. */
  describe(call: PixelCall): Work<PixelFacts>;
  stats(): PixelStats;
  /**
   * A tiny transform that really runs; the answer to a call of the last seconds is the same proof, so that a busy process
   * does not wait for its own queue. Rejects when it does not run.
   */
  selfTest(): Promise<void>;
  /** Waits for the calls under way, then stops threads and rasterizer. */
  close(): Promise<void>;
}

export interface PixelsOptions {
  settings: SettingsOf<typeof pixelsSettings>;
  /** API processes that share the machine. */
  processes: number;
  log: { warn(context: object, message: string): void };
  clock?: Clock;
  /** The module that the threads run. */
  threadFile?: URL;
}

/** What a thread gets to read, from whatever file it was. */
interface Source {
  file: { input: Uint8Array<ArrayBuffer>; raw?: RawPixels };
  /** Of that, not of the drawing it was. */
  header: Header;
  /** Time waited for the rasterizer. */
  queueMs: number;
}

/** What goes with a call: how long it is wanted, and where it says which native work was begun for it. */
interface Ending extends Patience {
  follow(native: Promise<unknown>): void;
}

const IMAGE_THREAD = new URL('../../workers/image/thread.ts', import.meta.url);

export function createPixels(options: PixelsOptions): Pixels {
  const { settings, processes, log, clock = systemClock, threadFile = IMAGE_THREAD } = options;
  const threads = settings.IMAGE_THREADS;
  const admission = createAdmission({
    seats: threads,
    budgetBytes: memoryBudgetBytes(settings.IMAGE_MEMORY_MEGABYTES, processes),
    queueLimit: settings.IMAGE_QUEUE,
    clock,
  });
  const onLost = (error: Error) => log.warn({ err: error }, 'An image worker was lost');
  const pool = createPool({ threads, threadFile, onLost });
  const rasterizer = createRasterizer({
    timeoutMs: settings.VECTOR_TIMEOUT_MS,
    memoryMegabytes: settings.VECTOR_MEMORY_MEGABYTES,
    queueLimit: settings.IMAGE_QUEUE,
    clock,
    onLost,
  });

  /** Runs a call under its patience, and knows when the last native work for it has ended. */
  function begin<T>(call: PixelCall, run: (ending: Ending) => Promise<T>): Work<T> {
    const { deadlineMs, work, signal: client } = call;
    const late = () => deadlineExceeded(admission.retryAfterSeconds());
    const patience = patienceUntil({ deadlineMs, work, client, clock, late });
    const begun: Promise<unknown>[] = [];
    const follow = (native: Promise<unknown>) => begun.push(native);
    const result = run({ ...patience, follow }).finally(patience.end);
    const settled = result.then(ignore, ignore);
    const ended = settled.then(() => Promise.allSettled(begun)).then(ignore);
    return { result, ended };
  }

  /** A file as a thread reads it: itself, or the pixels of a drawing. */
  async function sourceOf(call: PixelCall, pass: Pass | null, patience: Patience): Promise<Source> {
    const { accountId, work, bytes } = call;
    const header = readable(bytes);
    if (header.format !== 'svg') return { file: { input: ownedBytes(bytes) }, header, queueMs: 0 };
    const drawing = await rasterizer.draw({ bytes, ...drawingSizeOf(pass) }, { accountId, work, patience });
    const { width, height, channels, pixels, queueMs } = drawing;
    return {
      file: { input: pixels, raw: { width, height, channels } },
      header: { ...header, width, height, pixels: width * height },
      queueMs,
    };
  }

  /** Waits for a seat, then for the thread or the call's ending. The seat is given back when the thread has ended. */
  async function runSeated<T extends ImageTask>(
    taskUntil: (deadlineMs: number) => T,
    seating: Omit<SeatRequest, 'signal'>,
    { signal, deadlineMs, waiting, follow }: Ending,
  ): Promise<{ result: ResultOf<T>; queueMs: number }> {
    const { release, queueMs } = await waiting(admission.acquire({ ...seating, signal }));
    if (signal.aborted) {
      release();
      throw signal.reason;
    }
    const native = pool.run(taskUntil(deadlineMs())).finally(release);
    follow(native);
    const reached = native.catch((cause: Error) => {
      onLost(cause);
      throw workerUnreachable(cause);
    });
    const result = await unlessAborted(reached, signal);
    lastAnswerMs = clock.nowMs();
    return { result, queueMs };
  }

  /** A thread may notice the deadline before the clock here does: it is the same refusal. */
  function refused(failure: Failure, paramOf: (passParam: string) => string): ApiError {
    const isLate = failure.details?.reason === 'deadline_exceeded';
    return isLate ? deadlineExceeded(admission.retryAfterSeconds()) : refusalOf(failure, paramOf);
  }

  async function transform(call: TransformCall, ending: Ending): Promise<PixelResult> {
    const { accountId, work, pass, layers, paramOf = (name) => name } = call;
    const source = await sourceOf(call, pass, ending);
    const { file, header } = source;
    const taskUntil = (deadlineMs: number): TransformTask => ({
      kind: 'transform',
      ...file,
      ...hintOf(header),
      ...(layers !== undefined && { layers }),
      pass,
      deadlineMs,
    });
    const seating = { accountId, work, bytes: estimatedBytes(header, pass) };
    const { result, queueMs } = await runSeated(taskUntil, seating, ending);
    if (result.kind === 'failure') throw refused(result, paramOf);
    return { ...result, queueMs: queueMs + source.queueMs };
  }

  async function describe(call: PixelCall, ending: Ending): Promise<PixelFacts> {
    const { accountId, work, bytes } = call;
    const source = await sourceOf(call, null, ending);
    const { file, header } = source;
    const drawn = header.format === 'svg' ? drawingFacts(bytes) : {};
    const taskUntil = (deadlineMs: number): DescribeTask => ({ kind: 'describe', ...file, deadlineMs });
    const seating = { accountId, work, bytes: estimatedBytes(header, null) };
    const { result, queueMs } = await runSeated(taskUntil, seating, ending);
    if (result.kind === 'failure') throw refused(result, (name) => name);
    return { ...result, image: { ...result.image, ...drawn }, queueMs: queueMs + source.queueMs };
  }

  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  let testing: Promise<void> | null = null;
  function testOnce(): Promise<void> {
    const call = tinyCall(clock.nowMs());
    const { result } = begin(call, (ending) => transform(call, ending));
    return result.then(ignore).finally(() => {
      testing = null;
    });
  }

  return {
    transform: (call) => begin(call, (ending) => transform(call, ending)),
    describe: (call) => begin(call, (ending) => describe(call, ending)),
    stats: () => statsOf(admission),
    async selfTest() {
      if (clock.nowMs() - lastAnswerMs < PROOF_MS) return;
      testing ??= testOnce();
      return testing;
    },
    async close() {
      await Promise.all([admission.idle(), rasterizer.close()]);
      await pool.close();
    },
  };
}

function ignore(): void {}

/** What saves the thread a reading of its own: the header of a still picture. */
function hintOf(header: Header): { header?: InputHeader } {
  const { format, width, height, orientation, hasAlpha, channels, bitDepth, animated } = header;
  if (animated || (format !== 'jpeg' && format !== 'png' && format !== 'webp')) return {};
  const isGrey = channels - Number(hasAlpha) === 1;
  return { header: { format, width, height, orientation, hasAlpha, isGrey, bitDepth } };
}

/** What the pixels of a drawing cannot tell about its file. */
function drawingFacts(bytes: Uint8Array): Partial<ImageFacts> {
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', bytes: bytes.length, sha1 };
}

function statsOf(admission: Admission): PixelStats {
  const { seats, busy, waiting, meanWaitMs, reservedBytes, budgetBytes } = admission.stats();
  return { threads: seats, busy, queued: waiting, waitMs: meanWaitMs, reservedBytes, budgetBytes };
}

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TINY_DEADLINE_MS = 10_000;
/** How long an answer proves that the threads work. */
const PROOF_MS = 5_000;

function tinyCall(nowMs: number): TransformCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: nowMs + TINY_DEADLINE_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}
