import { createHash } from 'node:crypto';
import type {
  Compared,
  CompareTask,
  Described,
  DescribeTask,
  Failure,
  ImageFacts,
  ImageResult,
  ImageTask,
  Pass,
  Transformed,
  TransformTask,
} from '../../../workers/protocol.ts';
import type { DrawingSize } from '../../../workers/vector/protocol.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { Capacity } from '../../platform/concurrency/capacity.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import type { Log } from '../../platform/tracing/log.ts';
import { present } from '../../platform/values/present.ts';
import { type Alternatives, alternativesTo } from './alternatives.ts';
import { assertSameSize, assertWithinBounds } from './bounds.ts';
import type { pixelsSettings } from './config.ts';
import { type Deadline, deadlineOf } from './deadline.ts';
import { estimatedBytes } from './estimates/memory.ts';
import { deadlineExceeded, refusalOf, tookTooLong, tookTooLongBefore } from './failures.ts';
import type { Header } from './header/header.ts';
import { hintOf, readingsOf } from './header/readings.ts';
import { LATE_SECONDS, LateWork } from './late-work.ts';
import type { Outcome, Pool } from './pools/pool.ts';
import { openPools, type PoolReport } from './pools/pools.ts';
import type { AnswerOf } from './pools/threads.ts';
import { WorkerTime } from './pools/worker-time.ts';
import { SelfTest } from './self-test.ts';
import type { IncomingCall, WorkClass } from './slots.ts';
import { type Opened, openedFrom, type Source, storedSource } from './source.ts';
import { isStored, type StoredFile } from './stored-file.ts';
import { createRasterizer, drawingSizeOf, MEASURED_SIZE, NATURAL_SIZE } from './vector.ts';

interface PixelCall {
  /**
   * The file. Bytes that own their memory are transferred to a thread, so the caller must not use them afterwards. A
   * file in a store is read when the call has its slot.
   */
  bytes: Uint8Array | StoredFile;
  /** The header, where it was already read from these bytes. */
  header?: Header | null;
  /** The account of the call; accounts take turns. */
  accountId: string;
  /** Jobs yield to calls, wait without a limit, and are never refused for want of capacity. Absent: a call. */
  work?: WorkClass;
  /** The call as `expect` let it in, before its body was received. */
  incoming?: IncomingCall;
  /**
   * Whether this is an item of a large job, which yields the cores to other work. It costs some milliseconds more, and
   * the start of a child process.
   */
  inBatch?: boolean;
  /** Epoch milliseconds after which the caller gets deadline_exceeded. That of a job moves by its wait for a slot. */
  deadlineMs: number;
  /** Aborts when the client goes away; the result then rejects with its reason. */
  signal?: AbortSignal;
  /** Maps a parameter of the pass, such as `steps[0].params.width`, to the field of the call. */
  paramOf?: (passParam: string) => string;
  /** The body of a job that does the same as the call, without its assetIds where the file is no asset. */
  asJob?: Record<string, unknown>;
}

export interface TransformCall extends PixelCall {
  pass: Pass;
  /** Files of the second assets that steps read, by asset id. */
  layers?: Record<string, Uint8Array>;
  /** Whether to measure the facts of the result, too. They are present where the same task can read them. */
  describes?: boolean;
}

interface CompareCall extends PixelCall {
  /** The file of the other image. */
  other: Uint8Array | StoredFile;
}

/** A running call. */
export interface Work<T> {
  /**
   * Rejects with ApiError: unsupported_format, invalid_param, or provider_unavailable with details.reason `capacity`,
   * `deadline_exceeded` or `worker_unreachable` and a Retry-After.
   */
  result: Promise<T>;
  /**
   * Resolves when no worker runs for the call any more, which after a deadline is later than the result. Never rejects.
   */
  ended: Promise<void>;
}

/** Time from the call to its worker, with the wait for a rasterizer. */
interface Queued {
  queueMs: number;
}

export type PixelResult = Transformed & Queued;
type PixelFacts = Described & Queued;
interface PixelComparison extends Compared, Queued {
  /** Whether one of the two has several frames or pages: only the first ones were compared. */
  comparesFirstFrames: boolean;
}

interface PixelStats {
  /** Passes that may run at once. */
  threads: number;
  busy: number;
  queued: number;
  /** Mean wait of the last calls, in milliseconds. */
  waitMs: number;
  /** Estimated memory of the running calls, and its limit. */
  reservedBytes: number;
  budgetBytes: number;
}

/** The only access to the image threads. */
export interface Pixels {
  /** Runs one pass over one file. */
  transform(call: TransformCall): Work<PixelResult>;
  /** Reads the facts and the metadata of an image. */
  describe(call: PixelCall): Work<PixelFacts>;
  /** Compares an image with another one of its size. */
  compare(call: CompareCall): Work<PixelComparison>;
  /**
   * Lets in a call whose body is still to be received.
   * @param bytes size of the body, where it is known.
   * @throws provider_unavailable (capacity) where the queue takes no more.
   */
  expect(accountId: string, bytes: number): IncomingCall;
  /** The pool of quick passes. */
  stats(): PixelStats;
  /** The pool of passes that take longer than a moment: its processes are called threads here. */
  slowStats(): PixelStats;
  /** The pool of passes that may take seconds, and of accounts past their budget. */
  heavyStats(): PixelStats;
  /** The pool of items of large jobs, in processes as well. */
  batchStats(): PixelStats;
  /**
   * Runs a tiny transform. A call that was answered in the last seconds counts as well, so that a busy process does not
   * wait for its own queue. Rejects when the transform fails.
   */
  selfTest(): Promise<void>;
  /** Waits for the calls under way, then stops threads and rasterizer. */
  close(): Promise<void>;
}

export interface PixelsOptions {
  settings: SettingsOf<typeof pixelsSettings>;
  /** The pools are resized when it changes, without a failed call. */
  capacity: Capacity;
  log: Log;
  clock?: Clock;
  /** Called when work has ended in a pool. */
  onReport?: (report: PoolReport) => void;
  /** The modules that the threads and the processes run. */
  threadFile?: URL;
  processFile?: URL;
  /** CPU milliseconds of the threads; absent: as the system reports them. */
  workersCpuMs?: () => number;
  /** CPU milliseconds of a child process by its id; absent: as the system reports them. */
  processCpuMs?: (pid: number) => number | null;
}

/** The deadline of a call, and the native work that was begun for it. */
interface CallContext {
  deadline: Deadline;
  follow(native: Promise<unknown>): void;
  /** Called when a slot is free and the work begins. */
  working(work: BegunWork): void;
  /** The refusal at the deadline: for want of a slot, or because the work took too long. */
  late(): ApiError;
}

/** Work that is under way. */
interface BegunWork {
  /** A text that the same work over other files has in common. */
  name(): string;
  pixels: number;
  alternatives(): Alternatives;
}

export function createPixels(options: PixelsOptions): Pixels {
  const { settings, capacity, log, clock = systemClock } = options;
  const onLost = (error: Error) => log.warn({ err: error }, 'An image worker was lost');
  const lateWork = new LateWork(clock);
  const budgetMs = () => settings.IMAGE_ACCOUNT_SECONDS * 1_000 * capacity.imageThreads();
  const workerTime = new WorkerTime({ clock, budgetMs });
  const shared = { clock, workerTime, onLost, processCpuMs: options.processCpuMs };
  const pools = openPools({ ...options, ...shared });
  const rasterizer = createRasterizer({
    ...shared,
    lateWork,
    timeoutMs: settings.VECTOR_TIMEOUT_MS,
    memoryMegabytes: settings.VECTOR_MEMORY_MEGABYTES,
    limits: () => ({ calls: capacity.imageQueue() }),
  });

  /** Runs a call under its deadline, and knows when the last native work for it has ended. */
  function begin<T>(call: PixelCall, run: (context: CallContext) => Promise<T>): Work<T> {
    const { deadlineMs, work, signal: client } = call;
    const calledMs = clock.elapsedMs();
    let begunWork: (BegunWork & { sinceMs: number }) | undefined;
    const working = (begun: BegunWork) => {
      begunWork = { ...begun, sinceMs: clock.elapsedMs() };
    };
    const late = () => {
      if (begunWork === undefined) return deadlineExceeded(pools.quick.retryAfterSeconds());
      const { sinceMs, alternatives } = begunWork;
      // The wait of a job does not count.
      const waitedMs = work === 'job' ? 0 : sinceMs - calledMs;
      if (clock.elapsedMs() - sinceMs <= waitedMs) return deadlineExceeded(pools.quick.retryAfterSeconds());
      return tookTooLong(LATE_SECONDS, alternatives());
    };
    const deadline = deadlineOf({ deadlineMs, work, client, clock, late });
    const begun: Promise<unknown>[] = [];
    const follow = (native: Promise<unknown>) => begun.push(native);
    const result = run({ deadline, follow, working, late }).finally(deadline.end);
    const settled = result.then(ignore, ignore);
    const ended = settled.then(() => Promise.allSettled(begun)).then(ignore);
    return { result, ended };
  }

  /** The input of a thread: the file, or the pixels of a drawing. A stored drawing is read at once. */
  async function readSource(
    call: PixelCall,
    { pass, size }: { pass: Pass | null; size: DrawingSize },
    { deadline }: CallContext,
  ): Promise<Source> {
    const { accountId, work, bytes: file } = call;
    if (isStored(file) && file.facts.format !== 'svg') return storedSource(file, pass);
    const bytes = isStored(file) ? await file.read() : file;
    const opened = openedFrom(bytes, call.header, pass);
    const { header } = opened;
    if (header.format !== 'svg') return { header, open: () => opened, heldBytes: bytes.length, queueMs: 0 };
    const drawn = await rasterizer.draw({ bytes, size }, { accountId, work, deadline });
    const { width, height, naturalWidth, naturalHeight, channels, pixels: input, queueMs } = drawn;
    const pixels = {
      file: { input, raw: { width, height, channels } },
      header: { ...header, width, height, pixels: width * height },
    };
    const drawing = { bytes, width: naturalWidth, height: naturalHeight };
    return { header: pixels.header, open: () => pixels, heldBytes: input.length, queueMs, drawing };
  }

  /**
   * Runs a task in the pool that its estimated duration and its account assign it to.
   * @throws the refusal of the call where the worker reports a failure, or where the same work has just taken too long.
   */
  async function runTask<T extends ImageTask>(
    makeTask: (opened: Opened, deadlineMs: number) => T | Promise<T>,
    { accountId, work, incoming, inBatch = false, paramOf, asJob }: PixelCall,
    { source, pass, kind }: { source: Source; pass: Pass | null; kind: T['kind'] },
    context: CallContext,
  ): Promise<AnswerOf<T> & Queued> {
    const { header, heldBytes, prepare } = source;
    const isCall = work !== 'job';
    const begun: BegunWork = {
      name: () => `${kind} ${header.format} ${JSON.stringify(pass)}`,
      pixels: header.pixels,
      alternatives: () => alternativesTo(header, pass, { paramOf, asJob }),
    };
    const waitSeconds = lateWork.waitSeconds(accountId, begun.name, begun.pixels);
    const wasLate = waitSeconds > 0;
    if (wasLate && isCall) throw tookTooLongBefore(waitSeconds, begun.alternatives());
    const asked = { kind, header, pass, accountId, isCall, inBatch, wasLate };
    const { name, reason, pool, took } = pools.choose(asked);
    const bytes = estimatedBytes(header, pass);
    const askedMs = clock.nowMs();
    const time = { cpuMs: 0, allowedMs: Number.POSITIVE_INFINITY };
    const recordLate = () => lateWork.record(accountId, begun.name(), begun.pixels, time);
    const measured = (cpuMs: number, outcome: Outcome) => {
      time.cpuMs = cpuMs;
      took(cpuMs, outcome);
      if (outcome === 'abandoned') recordLate();
    };
    const taskAt = async (deadlineMs: number) => {
      context.working(begun);
      // The wait of a call is a part of its time, that of a job is not.
      time.allowedMs = deadlineMs - (isCall ? askedMs : clock.nowMs());
      return makeTask(await source.open(), deadlineMs);
    };
    const slotRequest = { accountId, work, incoming, bytes, heldBytes, prepare };
    const { result, queueMs } = await pool.run<T>({
      makeTask: taskAt,
      slotRequest,
      took: measured,
      ...context,
    });
    selfTest.answered();
    log.debug?.({ pool: name, reason, estimatedBytes: bytes, queueMs, inBatch }, 'A pass ran in the pool');
    if (!isFailure(result)) return { ...result, queueMs: queueMs + source.queueMs };
    // A thread may notice the deadline before the clock here does: it is the same refusal.
    if (result.details?.reason !== 'deadline_exceeded') throw refusalOf(result, paramOf);
    recordLate();
    throw context.late();
  }

  async function transform(call: TransformCall, context: CallContext): Promise<PixelResult> {
    const { pass, layers, describes = false } = call;
    const source = await readSource(call, { pass, size: drawingSizeOf(pass) }, context);
    const file = { header: source.header, fileBytes: call.bytes.length };
    assertWithinBounds(file, pass, call.paramOf);
    const makeTask = ({ file, header }: Opened, deadlineMs: number): TransformTask => ({
      kind: 'transform',
      ...file,
      ...hintOf(header),
      ...readingsOf(header),
      ...present({ layers }),
      ...(describes && { describes }),
      pass,
      threads: pools.threadsFor(header, pass),
      deadlineMs,
    });
    return runTask(makeTask, call, { source, pass, kind: 'transform' }, context);
  }

  async function compare(call: CompareCall, context: CallContext): Promise<PixelComparison> {
    const reading = { pass: null, size: NATURAL_SIZE };
    const one = await readSource(call, reading, context);
    const other = await readSource({ ...call, bytes: call.other, header: null }, reading, context);
    assertSameSize(one.header, other.header, call.paramOf);
    const makeTask = async ({ file }: Opened, deadlineMs: number): Promise<CompareTask> => {
      const { input, raw } = (await other.open()).file;
      return { kind: 'compare', deadlineMs, ...file, other: input, ...present({ otherRaw: raw }) };
    };
    // Both are decoded in memory at once. Their waits for the rasterizer are not counted.
    const header = { ...one.header, pixels: one.header.pixels + 2 * other.header.pixels };
    const source = { ...one, header, heldBytes: one.heldBytes + other.heldBytes, queueMs: 0 };
    const compared = await runTask(makeTask, call, { source, pass: null, kind: 'compare' }, context);
    return { ...compared, comparesFirstFrames: one.header.frames > 1 || other.header.frames > 1 };
  }

  async function describe(call: PixelCall, context: CallContext): Promise<PixelFacts> {
    const source = await readSource(call, { pass: null, size: MEASURED_SIZE }, context);
    const makeTask = ({ file, header }: Opened, deadlineMs: number): DescribeTask => ({
      kind: 'describe',
      ...file,
      ...readingsOf(header),
      deadlineMs,
    });
    const described = await runTask(makeTask, call, { source, pass: null, kind: 'describe' }, context);
    const ofDrawing = source.drawing && drawingFacts(source.drawing);
    return { ...described, image: { ...described.image, ...ofDrawing } };
  }

  const selfTest = new SelfTest(clock, (call) => begin(call, (context) => transform(call, context)).result);

  /** Begins work of an account. */
  function serving<C extends PixelCall, T>(run: (call: C, context: CallContext) => Promise<T>) {
    return (call: C): Work<T> => {
      workerTime.arrived(call.accountId);
      return begin(call, (context) => run(call, context));
    };
  }

  return {
    transform: serving(transform),
    describe: serving(describe),
    compare: serving(compare),
    expect: (accountId, heldBytes) => pools.quick.expect({ accountId, heldBytes }),
    stats: () => statsOf(pools.quick),
    slowStats: () => statsOf(pools.slow),
    heavyStats: () => statsOf(pools.heavy),
    batchStats: () => statsOf(pools.batch),
    selfTest: () => selfTest.run(),
    async close() {
      await Promise.all([pools.close(), rasterizer.close()]);
    },
  };
}

function ignore(): void {}

function isFailure(result: ImageResult): result is Failure {
  return result.kind === 'failure';
}

/** Facts of the file of a drawing that its pixels do not hold. */
function drawingFacts({ bytes, width, height }: NonNullable<Source['drawing']>): Partial<ImageFacts> {
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', width, height, bytes: bytes.length, sha1 };
}

function statsOf(pool: Pool): PixelStats {
  const { slots, busy, waiting, meanWaitMs, reservedBytes, budgetBytes } = pool.stats();
  return { threads: slots, busy, queued: waiting, waitMs: meanWaitMs, reservedBytes, budgetBytes };
}
