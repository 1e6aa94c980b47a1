import { createHash } from 'node:crypto';
import type { SettingsOf } from '../../config/setting.ts';
import type {
  Described,
  ImageFacts,
  ImageResult,
  ImageTask,
  Pass,
  RawPixels,
  Transformed,
} from '../../workers/protocol.ts';
import { type Admission, createAdmission } from './admission.ts';
import { type Clock, systemClock } from './clock.ts';
import type { pixelsSettings } from './config.ts';
import { drawingSizeOf } from './drawing-size.ts';
import { deadlineExceeded, refusalOf, workerUnreachable } from './failures.ts';
import type { Header } from './header/header.ts';
import { estimatedBytes, memoryBudgetBytes } from './memory.ts';
import { ownedBytes } from './owned.ts';
import { patienceUntil, unlessAborted } from './patience.ts';
import { createPool } from './pool.ts';
import { readable } from './readable.ts';
import { createRasterizer } from './vector.ts';

export interface PixelCall {
  /** The file. Handed over: transferred to a thread when it owns its memory, and not to be touched again. */
  bytes: Uint8Array;
  /** Whose call it is; accounts take turns. */
  accountId: string;
  /** Epoch milliseconds after which the caller gets deadline_exceeded. */
  deadlineMs: number;
  /** Aborts when the client goes away; the result then rejects with its reason. */
  signal?: AbortSignal;
}

export interface TransformCall extends PixelCall {
  pass: Pass;
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
  /** A tiny transform that really runs. Rejects when it does not. */
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
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixels;
  queueMs: number;
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

  /** Runs the steps of a call under its patience, and knows when the last native work for it has ended. */
  function begin<T>(call: PixelCall, steps: (signal: AbortSignal, native: Native) => Promise<T>): Work<T> {
    const { deadlineMs, signal: client } = call;
    const late = () => deadlineExceeded(admission.retryAfterSeconds());
    const patience = patienceUntil({ deadlineMs, client, clock, late });
    const working: Promise<unknown>[] = [];
    const result = steps(patience.signal, (work) => working.push(work)).finally(patience.end);
    const ended = result
      .then(ignore, ignore)
      .then(() => Promise.allSettled(working))
      .then(ignore);
    return { result, ended };
  }

  /** A file as a thread reads it: itself, or the pixels of a drawing. */
  async function sourceOf(
    call: PixelCall,
    header: Header,
    pass: Pass | null,
    signal: AbortSignal,
  ): Promise<Source> {
    if (header.format !== 'svg') return { input: ownedBytes(call.bytes), queueMs: 0 };
    const { accountId, bytes } = call;
    const drawing = await rasterizer.draw({ bytes, ...drawingSizeOf(pass) }, { accountId, signal });
    const { width, height, channels, queueMs } = drawing;
    return { input: drawing.pixels, raw: { width, height, channels }, queueMs };
  }

  /** Waits for a seat, then for the thread or the end of patience. The seat is given back when the thread has ended. */
  async function runSeated(
    task: ImageTask,
    place: { accountId: string; estimateBytes: number },
    signal: AbortSignal,
    native: Native,
  ): Promise<{ result: ImageResult; queueMs: number }> {
    const seat = await admission.acquire({ accountId: place.accountId, bytes: place.estimateBytes, signal });
    if (signal.aborted) {
      seat.release();
      throw signal.reason;
    }
    const work = pool.run(task).finally(seat.release);
    native(work);
    const reached = work.catch((cause: unknown) => {
      throw workerUnreachable(cause);
    });
    return { result: await unlessAborted(reached, signal), queueMs: seat.queueMs };
  }

  async function transform(call: TransformCall, signal: AbortSignal, native: Native): Promise<PixelResult> {
    const { accountId, deadlineMs, pass, paramOf = (name) => name } = call;
    const header = readable(call.bytes);
    const source = await sourceOf(call, header, pass, signal);
    const estimateBytes = estimatedBytes(asRead(header, source), pass);
    const task: ImageTask = { kind: 'transform', ...inputOf(source), pass, deadlineMs };
    const { result, queueMs } = await runSeated(task, { accountId, estimateBytes }, signal, native);
    if (result.kind === 'failure') throw refusalOf(result, paramOf);
    return { ...(result as Transformed), queueMs: queueMs + source.queueMs };
  }

  async function describe(call: PixelCall, signal: AbortSignal, native: Native): Promise<PixelFacts> {
    const { accountId, deadlineMs } = call;
    const header = readable(call.bytes);
    const facts = header.format === 'svg' ? drawingFacts(call.bytes) : {};
    const source = await sourceOf(call, header, null, signal);
    const estimateBytes = estimatedBytes(asRead(header, source), null);
    const task: ImageTask = { kind: 'describe', ...inputOf(source), deadlineMs };
    const { result, queueMs } = await runSeated(task, { accountId, estimateBytes }, signal, native);
    if (result.kind === 'failure') throw refusalOf(result, (name) => name);
    const described = result as Described;
    return { ...described, image: { ...described.image, ...facts }, queueMs: queueMs + source.queueMs };
  }

  let testing: Promise<void> | null = null;

  return {
    transform: (call) => begin(call, (signal, native) => transform(call, signal, native)),
    describe: (call) => begin(call, (signal, native) => describe(call, signal, native)),
    stats: () => statsOf(admission),
    selfTest() {
      testing ??= begin(tinyCall(clock), (signal, native) => transform(tinyCall(clock), signal, native))
        .result.then(ignore)
        .finally(() => {
          testing = null;
        });
      return testing;
    },
    async close() {
      await Promise.all([admission.idle(), rasterizer.close()]);
      await pool.close();
    },
  };
}

/** Tells the call about work that a thread does for it. */
type Native = (work: Promise<unknown>) => void;

function ignore(): void {}

/** The header of what the thread reads: of a drawing, its pixels. */
function asRead(header: Header, { raw }: Source): Header {
  return raw === undefined
    ? header
    : { ...header, width: raw.width, height: raw.height, pixels: raw.width * raw.height };
}

function inputOf({ input, raw }: Source): { input: Uint8Array<ArrayBuffer>; raw?: RawPixels } {
  return raw === undefined ? { input } : { input, raw };
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

function tinyCall(clock: Clock): TransformCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: clock.nowMs() + TINY_DEADLINE_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}
