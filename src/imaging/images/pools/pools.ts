import type { Branched, ImageResult, ImageTask, Pass } from '../../../../workers/protocol.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { PoolMeter } from '../../../platform/metrics/pools.ts';
import type { SettingsOf } from '../../../platform/setting.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import { imageMemoryBudgets } from '../budgets.ts';
import type { imagesSettings } from '../config.ts';
import type { Deadline } from '../deadline.ts';
import { divisibleMs, estimatedBytes, estimatedMs } from '../estimates/costs.ts';
import { encodeOf, type LayerHeaders } from '../estimates/following.ts';
import {
  type Alternatives,
  noPlaceForLongWork,
  poolIsFull,
  tookTooLong,
  tookTooLongBefore,
} from '../failures.ts';
import type { Header } from '../header/header.ts';
import type { AdmissionStats, IncomingCall } from '../slots.ts';
import { ChildProcesses } from './child-processes.ts';
import { Pool, type PoolCall, type StartedWork, type WorkEnding } from './pool.ts';
import type { TaskProcessOptions } from './task-process.ts';
import { ImageThreads } from './threads.ts';
import { LATE_SECONDS, type LateWork, Pace, type WorkerTime } from './work-history.ts';

/**
 * `quick` runs passes that take a moment. `slow` those that take longer: they yield the cores to quick ones. `heavy`
 * those that may take seconds, and those of accounts past their budget. `batch` items of large jobs that take at most
 * as long as slow passes.
 */
export type PoolName = 'quick' | 'slow' | 'heavy' | 'batch';

/**
 * Why work gets the lowest priority: it is estimated to take long, its account has used up its budget of worker time,
 * or the same work of the account has just met its deadline.
 */
type LowReason = 'estimate' | 'budget' | 'deadline';

/** A call to the pools, as one object. */
export interface PassCall extends Omit<PoolCall, 'bytes'> {
  kind: ImageTask['kind'];
  header: Header;
  /** None for a description and a comparison. */
  passes: readonly Pass[];
  /** CPU time that is not told by the passes. */
  measuringMs?: number;
  /** The headers of the second pictures that the passes read. */
  layers?: LayerHeaders;
  /** Whether it is an item of a large job. */
  inBatch: boolean;
  deadline: Deadline;
  /** What to send instead, where the work takes too long. */
  alternatives(): Alternatives;
}

/** The pool of a call, and what its choice was based on. */
interface Choice {
  name: PoolName;
  /** Present in the pool `heavy`. */
  reason: LowReason | undefined;
  /** Work of one kind has about the same ratio of time to estimate. */
  paceKind: string;
  estimateMs: number;
}

export interface PoolsOptions {
  settings: SettingsOf<typeof imagesSettings>;
  capacity: Capacity;
  clock: Clock;
  log: Log;
  workerTime: WorkerTime;
  lateWork: LateWork;
  onLost: (error: Error) => void;
  /** Counts work that has ended. In the metrics, the pool of quick passes is named `image`. */
  meter?: Pick<PoolMeter, 'ended'> | undefined;
  threadFile?: URL | undefined;
  processFile?: URL | undefined;
  workersCpuMs?: (() => number) | undefined;
  processCpuMs?: TaskProcessOptions['processCpuMs'];
}

type ImagePool = Pool<ImageTask, ImageResult>;

/** A quick pass of another account waits for about this long at most until a thread is free. */
const SLOW_FROM_MS = 300;
/** A slow pass of another account waits for about this long at most. */
const HEAVY_FROM_MS = 2_000;
/** Grants a third of a core that quick passes contend for, and all idle time. */
const SLOW_NICENESS = 3;
/** Grants a tenth of a contended core, and all idle time: less would starve the pass on a busy host. */
const HEAVY_NICENESS = 10;
/**
 * Grants a quarter of a contended core, so that a batch always advances, and all idle time. The threads of a call are
 * scheduled some six times within its few milliseconds: at equal priority, each time waits for the end of a batch's
 * time slice.
 */
const BATCH_NICENESS = 5;
/**
 * Steps from which a second thread shortens a pass: at 2 megapixels, rotate and modulate take 0.7 of the time, sharpen
 * 0.6, median 0.5. Below it, starting the thread costs more than it saves.
 */
const DIVIDED_FROM_MS = 20;
/** The bodies of waiting calls may take one part of the quick budget in so many. */
const HELD_DIVISOR = 4;
const IMAGE_THREAD = new URL('../../../../workers/image/perform.ts', import.meta.url);
const IMAGE_PROCESS = new URL('../../../../workers/image/process.ts', import.meta.url);

/** The message for a pass that ended its child process. */
const PROCESS_DIED_MESSAGE =
  'The image needs more memory for this than a pass may take, or broke its decoder; send a smaller one.';

/**
 * Nothing stops a thread inside libvips: a pass that takes longer than a moment runs in a process that can be killed,
 * and that has a priority of its own, so that no account's pass holds up the calls of the others. A thread cannot have
 * one, because libuv's threads are shared by all that a process does. A call does not wait for an item of a job in a
 * thread or in a process of long work: both run beside each other and share the cores, as far as the memory goes.
 */
export class Pools {
  readonly #options: PoolsOptions;
  readonly #pools: Record<PoolName, ImagePool>;
  readonly #pace = new Pace();
  #sizes: Record<PoolName, { slots: number; budgetBytes: number }>;

  constructor(options: PoolsOptions) {
    this.#options = options;
    this.#sizes = this.#sizesNow();
    const isIsolated = options.settings.IMAGE_ISOLATION === 'process';
    this.#pools = {
      quick: isIsolated ? this.#processPool('quick', 0) : this.#threadPool(),
      slow: this.#processPool('slow', SLOW_NICENESS),
      heavy: this.#processPool('heavy', HEAVY_NICENESS),
      batch: this.#processPool('batch', BATCH_NICENESS),
    };
    options.capacity.onChange(() => this.#resize());
  }

  /**
   * Starts the work of a call in the pool that its estimated duration and its account assign it to. Resolves when it
   * has its slot. All that is learnt of the work is recorded before its result settles.
   * @throws what Pool.start throws; deadline_exceeded where the same work has just taken too long.
   */
  async start(
    call: PassCall,
    makeTask: (deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<StartedWork<ImageResult>> {
    const { header, passes, layers, accountId, work, deadline } = call;
    const { clock, lateWork } = this.#options;
    const retryAfterSeconds = lateWork.waitSeconds(accountId, () => lateNameOf(call), header.pixels);
    const wasLate = retryAfterSeconds > 0;
    if (wasLate && work !== 'job') {
      call.incoming?.end();
      const holdMs = lateWork.holdMs(accountId);
      throw tookTooLongBefore({ retryAfterSeconds, holdMs }, call.alternatives());
    }
    const choice = this.#choose(call, wasLate);
    const askedMs = clock.nowMs();
    const run = await this.#startIn(
      choice.name,
      { ...call, bytes: estimatedBytes(header, passes, layers) },
      makeTask,
    );
    deadline.begin(() => tookTooLong(LATE_SECONDS, call.alternatives()));
    // The wait of a call is a part of its time, that of a job is not.
    const allowedMs = deadline.deadlineMs() - (work === 'job' ? clock.nowMs() : askedMs);
    const ended = this.#recorded(call, choice, run, allowedMs);
    return { ...run, ended, result: run.result.finally(() => ended) };
  }

  /** Threads of libvips for a pass that begins now: two if it is alone in this process and gains from the second. */
  threadsFor(header: Header, passes: readonly Pass[]): number {
    const { capacity } = this.#options;
    const granted = capacity.processes() * capacity.imageThreads();
    // The bytes that the AVIF encoder writes depend on its number of threads.
    const writesAvif = passes.some((pass) => encodeOf(header, pass).format === 'avif');
    const gains = !writesAvif && passes.some((pass) => divisibleMs(header, pass) >= DIVIDED_FROM_MS);
    return granted > 1 && gains && this.#isAlone() ? 2 : 1;
  }

  /** Lets in a call whose body is still to be received. Most calls are quick, so it counts in that pool. */
  expect(accountId: string, heldBytes: number): IncomingCall {
    return this.#pools.quick.expect(accountId, heldBytes);
  }

  /** Seconds after which a call may be sent again that was refused before its pool was chosen. */
  retryAfterSeconds(): number {
    return this.#pools.quick.retryAfterSeconds();
  }

  stats(): Record<PoolName, AdmissionStats> {
    const { quick, slow, heavy, batch } = this.#pools;
    return { quick: quick.stats(), slow: slow.stats(), heavy: heavy.stats(), batch: batch.stats() };
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }

  /** A call whose deadline passed before it had a slot of a process is refused for lack of capacity. */
  async #startIn(
    name: PoolName,
    call: PoolCall,
    makeTask: (deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<StartedWork<ImageResult>> {
    const pool = this.#pools[name];
    try {
      return await pool.start(call, makeTask);
    } catch (error) {
      const isInProcess = name !== 'quick' || this.#options.settings.IMAGE_ISOLATION === 'process';
      const isLate = error instanceof ApiError && error.details?.reason === 'deadline_exceeded';
      if (!isInProcess || !isLate) throw error;
      throw (name === 'heavy' ? noPlaceForLongWork : poolIsFull)(pool.retryAfterSeconds());
    }
  }

  #choose(call: PassCall, wasLate: boolean): Choice {
    const estimateMs = estimatedMs(call.header, call.passes, call.layers) + (call.measuringMs ?? 0);
    const paceKind = paceKindOf(call);
    const expectedMs = this.#pace.corrected(paceKind, estimateMs);
    const reason = this.#lowReasonOf(call, expectedMs, wasLate);
    const byTime = expectedMs > SLOW_FROM_MS ? 'slow' : 'quick';
    const usual = call.inBatch ? 'batch' : byTime;
    return { name: reason === undefined ? usual : 'heavy', reason, paceKind, estimateMs };
  }

  #lowReasonOf({ accountId, work }: PassCall, expectedMs: number, wasLate: boolean): LowReason | undefined {
    if (expectedMs > HEAVY_FROM_MS) return 'estimate';
    if (wasLate) return 'deadline';
    return work !== 'job' && this.#options.workerTime.isSpent(accountId) ? 'budget' : undefined;
  }

  /** Learns from work when it has ended, whatever its pool: its pace, its account's time, and whether it was late. */
  async #recorded(
    call: PassCall,
    choice: Choice,
    started: StartedWork<ImageResult>,
    allowedMs: number,
  ): Promise<WorkEnding> {
    const { accountId, header, inBatch, work } = call;
    const { name: pool, reason, paceKind, estimateMs } = choice;
    const { log, meter, workerTime, lateWork } = this.#options;
    const outcome = await started.ended;
    const cpuMs = await started.busyMs;
    if (cpuMs === null) return outcome;
    // Work that was refused or abandoned ended early, and is not a measure of the pace unless it was slow.
    if (outcome === 'done' || cpuMs > estimateMs) this.#pace.record(paceKind, estimateMs, cpuMs);
    if (work !== 'job') workerTime.spent(accountId, cpuMs);
    if (outcome === 'abandoned')
      lateWork.record(accountId, lateNameOf(call), header.pixels, { cpuMs, allowedMs });
    meter?.ended({ pool: pool === 'quick' ? 'image' : pool, reason, cpuMs, outcome });
    log.debug?.(
      { pool, reason, outcome, cpuMs, queueMs: started.queueMs, inBatch },
      'A pass ran in the pool',
    );
    return outcome;
  }

  /** Whether the calling pass is the only one that has a slot, and none waits. */
  #isAlone(): boolean {
    let passes = 0;
    for (const { busy, waiting, jobsWaiting } of Object.values(this.stats()))
      passes += busy + waiting + jobsWaiting;
    return passes === 1;
  }

  #threadPool(): ImagePool {
    const { threadFile = IMAGE_THREAD } = this.#options;
    const { quick } = this.#sizes;
    const threads = new ImageThreads({ ...this.#options, threads: quick.slots, threadFile });
    return new Pool({ ...this.#admissionOf('quick'), callsBesideJobs: true }, threads);
  }

  #processPool(name: PoolName, niceness: number): ImagePool {
    const { processFile: file = IMAGE_PROCESS, settings, clock, onLost, processCpuMs } = this.#options;
    const processes = new ChildProcesses<ImageTask, ImageResult, ImageResult>({
      ...{ file, niceness, clock, onLost, processCpuMs },
      memoryMegabytes: settings.IMAGE_PROCESS_MEMORY_MEGABYTES,
      deathResult: { kind: 'failure', code: 'unsupported_format', message: PROCESS_DIED_MESSAGE },
      resultOf: withBytes,
    });
    // An item of a job has a minute there, which no call can wait for.
    return new Pool({ ...this.#admissionOf(name), callsBesideJobs: name === 'heavy' }, processes);
  }

  #admissionOf(name: PoolName) {
    const { capacity, clock, workerTime } = this.#options;
    const limits = () => ({
      calls: capacity.imageQueue(),
      heldBytes: this.#sizes.quick.budgetBytes / HELD_DIVISOR,
      waitMs: capacity.imageWaitMs(),
    });
    return { ...this.#sizes[name], limits, clock, givesWay: workerTime.isSpent };
  }

  #sizesNow(): Record<PoolName, { slots: number; budgetBytes: number }> {
    const { settings, capacity } = this.#options;
    const budgets = imageMemoryBudgets(settings.IMAGE_MEMORY_MEGABYTES, capacity.processes());
    const slots = capacity.imageThreads();
    return {
      quick: { slots, budgetBytes: budgets.quickBytes },
      slow: { slots, budgetBytes: budgets.slowBytes },
      heavy: { slots: settings.IMAGE_HEAVY_SLOTS, budgetBytes: budgets.heavyBytes },
      batch: { slots, budgetBytes: budgets.batchBytes },
    };
  }

  #resize(): void {
    this.#sizes = this.#sizesNow();
    for (const name of POOL_NAMES) this.#pools[name].resize(this.#sizes[name]);
  }
}

/** The answer of a child process with the bytes that it sent separately. */
function withBytes(reply: ImageResult, data: Uint8Array<ArrayBuffer>): ImageResult {
  if (reply.kind === 'branched') return withFiles(reply, data);
  return reply.kind === 'transformed' ? { ...reply, data } : reply;
}

function withFiles({ outputs, sizes = [], ...reply }: Branched, bytes: Uint8Array<ArrayBuffer>): Branched {
  const left = sizes.values();
  let end = 0;
  const filled = outputs.map((output) => {
    if (output.kind === 'failure') return output;
    const start = end;
    end += left.next().value ?? 0;
    return { ...output, data: bytes.subarray(start, end) };
  });
  return { ...reply, outputs: filled };
}

const POOL_NAMES: readonly PoolName[] = ['quick', 'slow', 'heavy', 'batch'];

/** A text that the same work over other files has in common. */
function lateNameOf({ kind, header, passes }: PassCall): string {
  return `${kind} ${header.format} ${JSON.stringify(passes)}`;
}

/** Work with the same decoder, steps and encoder has about the same ratio of time to estimate. */
function paceKindOf({ kind, header, passes, measuringMs = 0 }: PassCall): string {
  const [pass, ...others] = passes;
  if (pass === undefined || others.length > 0)
    return `${kind}${measuringMs > 0 ? ' scored' : ''} ${header.format}`;
  const { format, lossless, target } = encodeOf(header, pass);
  const steps = pass.steps.map(({ operation }) => operation);
  const how = [...(lossless ? ['lossless'] : []), ...(target ? ['search'] : [])];
  return [header.format, ...steps, ...how, format].join(' ');
}
