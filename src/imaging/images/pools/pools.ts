import type { ImagePass, ImageTask, ImageTaskResult } from '../../../../workers/protocol.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import type { PoolMeter } from '../../../platform/metrics/work.ts';
import type { SettingsOf } from '../../../platform/setting.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import { imageMemoryBudgets, type imagesSettings } from '../config.ts';
import type { CallDeadline } from '../deadline.ts';
import { estimatedDivisibleMs, estimatedMemoryBytes, estimatedMs } from '../estimates/costs.ts';
import { type LayerHeaders, resolvedEncodeOf } from '../estimates/prediction.ts';
import {
  type CallAlternatives,
  isLateError,
  type LatePart,
  longWorkFullError,
  poolFullError,
} from '../failures.ts';
import type { ImageHeader } from '../header/facts.ts';
import type { AdmissionStats, IncomingCall } from '../slots.ts';
import { ChildProcesses, type TaskProcessOptions } from './child-processes.ts';
import { type LateWork, lateWorkError } from './late-work.ts';
import { type PoolCall, type StartedWork, WorkerPool, type WorkOutcome } from './pool.ts';
import { ImageThreads } from './threads.ts';
import { type AccountWorkerTime, EstimateCorrection } from './work-history.ts';

/**
 * `quick` runs passes that take a moment. `slow` runs longer passes, which yield the CPU to quick ones. `heavy` runs
 * passes that may take seconds, and those of accounts past their budget. `batch` runs items of large jobs that take at
 * most as long as slow passes.
 */
export type ImagePoolName = 'quick' | 'slow' | 'heavy' | 'batch';

/**
 * The reason why work gets the lowest priority: its estimate is long, its account has used up its budget of worker
 * time, or the same work of the account has just exceeded its deadline.
 */
type LowPriorityReason = 'estimate' | 'budget' | 'deadline';

/** A call to the image pools: its passes, the headers from which its time is estimated, and its deadline. */
export interface PassCall extends Omit<PoolCall, 'bytes'> {
  kind: ImageTask['kind'];
  header: ImageHeader;
  /** The passes; none for a description and a comparison. */
  passes: readonly ImagePass[];
  /** Estimated CPU milliseconds of measurements, which are added to those of the passes. */
  measuringMs?: number;
  /** The second pictures that the passes read. */
  layers?: LayerHeaders;
  /** Whether it is an item of a large job. */
  inBatch: boolean;
  deadline: CallDeadline;
  /** What to send instead if the work takes too long. */
  alternatives(): CallAlternatives;
}

/** The pool that was chosen for a call, and the reasons. */
interface PoolChoice {
  name: ImagePoolName;
  /** The reason for the pool `heavy`; undefined for every other pool. */
  reason: LowPriorityReason | undefined;
  /** Identifies work with about the same ratio of real time to estimate; see `workKindOf`. */
  workKind: string;
  estimateMs: number;
}

export interface ImagePoolsOptions {
  settings: SettingsOf<typeof imagesSettings>;
  /** An operator may change it while the service runs. The pools are then resized, and no call fails. */
  capacity: Capacity;
  clock: Clock;
  log: EventLog;
  workerTime: AccountWorkerTime;
  lateWork: LateWork;
  onLost: (error: Error) => void;
  /** Measures work that has ended. In the metrics, the pool of quick passes is named `image`. */
  meter?: Pick<PoolMeter, 'recordPoolWorkEnd'> | undefined;
  threadFile?: URL | undefined;
  processFile?: URL | undefined;
  workersCpuMs?: (() => number) | undefined;
  processCpuMs?: TaskProcessOptions['processCpuMs'];
}

type ImagePool = WorkerPool<ImageTask, ImageTaskResult>;

/**
 * A pass whose estimate is at least this long is slow. A quick pass of another account waits at most about this long
 * for a free thread.
 */
const MIN_SLOW_MS = 300;
/**
 * A pass whose estimate is at least this long is heavy. A slow pass of another account waits at most about this long.
 */
const MIN_HEAVY_MS = 2_000;
/**
 * The niceness of slow passes. At this priority, a pass gets a third of a core for which quick passes compete, and all
 * of an idle core.
 */
const SLOW_NICENESS = 3;
/**
 * The niceness of heavy passes. At this priority, a pass gets a tenth of a core for which others compete, and all of an
 * idle core. With a smaller share, it would starve on a busy host.
 */
const HEAVY_NICENESS = 10;
/**
 * The niceness of the items of large jobs. At this priority, an item gets a quarter of a core for which others compete,
 * so that a batch always advances, and all of an idle core. Equal priority would delay calls: the threads of a call are
 * scheduled some six times within its few milliseconds, and would each time wait for the end of a batch's time slice.
 */
const BATCH_NICENESS = 5;
/**
 * If the divisible steps of a pass take at least this many CPU milliseconds, a second thread shortens the pass. At 2
 * megapixels, rotate and modulate then take 0.7 of the time, sharpen 0.6, median 0.5. For less work, starting the
 * thread costs more than it saves.
 */
const MIN_TWO_THREADS_MS = 20;
/** The bodies of waiting calls may take the quick budget divided by this number. */
const WAITING_BODIES_DIVISOR = 4;
const IMAGE_THREAD_FILE = new URL('../../../../workers/image/perform.ts', import.meta.url);
const IMAGE_PROCESS_FILE = new URL('../../../../workers/image/process.ts', import.meta.url);

/** The message for a pass that crashed its child process. */
const PROCESS_DIED_MESSAGE =
  'The image needs more memory for this than a pass may take, or broke its decoder; send a smaller one.';

/**
 * The pools for image work. A thread inside libvips cannot be stopped. It cannot have a separate priority either,
 * because the whole process shares libuv's threads. Therefore a pass that takes longer than a moment runs in a process
 * that can be killed and has a lower priority, so that no account's pass holds up the calls of others. A call never
 * waits for an item of a job: a thread, and the pool `heavy`, run both at the same time, if there is memory for both.
 */
export class ImagePools {
  readonly #options: ImagePoolsOptions;
  readonly #pools: Record<ImagePoolName, ImagePool>;
  readonly #estimateCorrection = new EstimateCorrection();
  #poolSizes: Record<ImagePoolName, { slots: number; budgetBytes: number }>;

  constructor(options: ImagePoolsOptions) {
    this.#options = options;
    this.#poolSizes = this.#computeSizes();
    const isIsolated = options.settings.IMAGE_ISOLATION === 'process';
    this.#pools = {
      quick: isIsolated ? this.#createProcessPool('quick', 0) : this.#createThreadPool(),
      slow: this.#createProcessPool('slow', SLOW_NICENESS),
      heavy: this.#createProcessPool('heavy', HEAVY_NICENESS),
      batch: this.#createProcessPool('batch', BATCH_NICENESS),
    };
    options.capacity.onChange(() => this.#resize());
  }

  /**
   * Starts the work of a call in the pool that suits its estimated duration and its account. Resolves when the work has
   * its slot. Measurements of the work are recorded before its result settles.
   * @throws what `WorkerPool.start` throws; deadline_exceeded if the same work has just taken too long.
   */
  async start(
    call: PassCall,
    makeTask: (deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<StartedWork<ImageTaskResult>> {
    const { header, passes, layers, accountId, work, deadline } = call;
    const { clock, lateWork } = this.#options;
    const retryAfterSeconds = lateWork.secondsUntilAllowed(
      accountId,
      () => lateWorkNameOf(call),
      header.pixels,
    );
    const wasLate = retryAfterSeconds > 0;
    if (wasLate && work !== 'job') {
      call.incoming?.end();
      throw lateWork.refusal(accountId, retryAfterSeconds, call.alternatives());
    }
    const choice = this.#choosePool(call, wasLate);
    const calledMs = clock.nowMs();
    const sized = { ...call, bytes: estimatedMemoryBytes(header, passes, layers) };
    const run = await this.#startIn(choice.name, sized, makeTask);
    const { admission } = this.#pools[choice.name];
    deadline.startWork((time, { alternatives, doableShare }: LatePart = call) =>
      lateWorkError(time, admission.retryAfterSeconds(), (wasStarved) =>
        alternatives({ doableShare, wasStarved }),
      ),
    );
    // The wait of a call counts towards its time, the wait of a job does not.
    const allowedMs = deadline.deadlineMs() - (work === 'job' ? clock.nowMs() : calledMs);
    const ended = this.#recordOutcome(call, choice, run, allowedMs);
    return { ...run, ended, result: run.result.finally(() => ended) };
  }

  /**
   * The number of libvips threads for a pass that begins now: two if the pass is alone in this process and gains from a
   * second one.
   */
  threadsFor(header: ImageHeader, passes: readonly ImagePass[]): number {
    const { capacity } = this.#options;
    const granted = capacity.processes() * capacity.imageThreads();
    // AVIF never gets a second thread, because the bytes that its encoder writes depend on the number of threads.
    const writesAvif = passes.some((pass) => resolvedEncodeOf(header, pass).format === 'avif');
    const gainsFromSecondThread =
      !writesAvif && passes.some((pass) => estimatedDivisibleMs(header, pass) >= MIN_TWO_THREADS_MS);
    return granted > 1 && gainsFromSecondThread && this.#hasOnlyOneTask() ? 2 : 1;
  }

  /** Admits a call before its body is received. It counts in the quick pool, because most calls are quick. */
  admitIncoming(accountId: string, heldBytes: number): IncomingCall {
    return this.#pools.quick.admission.admitIncoming({ accountId, heldBytes });
  }

  /** Seconds after which a call that was refused before its pool was chosen may be sent again. */
  retryAfterSeconds(): number {
    return this.#pools.quick.admission.retryAfterSeconds();
  }

  stats(): Record<ImagePoolName, AdmissionStats> {
    const { quick, slow, heavy, batch } = this.#pools;
    return {
      quick: quick.admission.stats(),
      slow: slow.admission.stats(),
      heavy: heavy.admission.stats(),
      batch: batch.admission.stats(),
    };
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }

  /**
   * Starts work in a pool of processes. A call whose deadline passes before it has a slot is refused for lack of
   * capacity.
   */
  async #startIn(
    name: ImagePoolName,
    call: PoolCall,
    makeTask: (deadlineMs: number) => ImageTask | Promise<ImageTask>,
  ): Promise<StartedWork<ImageTaskResult>> {
    const pool = this.#pools[name];
    try {
      return await pool.start(call, makeTask);
    } catch (error) {
      const isInProcess = name !== 'quick' || this.#options.settings.IMAGE_ISOLATION === 'process';
      if (!isInProcess || !isLateError(error)) throw error;
      throw (name === 'heavy' ? longWorkFullError : poolFullError)(pool.admission.retryAfterSeconds());
    }
  }

  #choosePool(call: PassCall, wasLate: boolean): PoolChoice {
    const estimateMs = estimatedMs(call.header, call.passes, call.layers) + (call.measuringMs ?? 0);
    const workKind = workKindOf(call);
    const expectedMs = this.#estimateCorrection.correctEstimate(workKind, estimateMs);
    const reason = this.#lowPriorityReasonOf(call, expectedMs, wasLate);
    const byTime = expectedMs > MIN_SLOW_MS ? 'slow' : 'quick';
    const usual = call.inBatch ? 'batch' : byTime;
    return { name: reason === undefined ? usual : 'heavy', reason, workKind, estimateMs };
  }

  #lowPriorityReasonOf(
    { accountId, work }: PassCall,
    expectedMs: number,
    wasLate: boolean,
  ): LowPriorityReason | undefined {
    if (expectedMs > MIN_HEAVY_MS) return 'estimate';
    if (wasLate) return 'deadline';
    return work !== 'job' && this.#options.workerTime.mustYield(accountId) ? 'budget' : undefined;
  }

  /**
   * Records ended work of any pool: the ratio of its real time to its estimate, the time of its account, and whether it
   * was late.
   */
  async #recordOutcome(
    call: PassCall,
    choice: PoolChoice,
    started: StartedWork<ImageTaskResult>,
    allowedMs: number,
  ): Promise<WorkOutcome> {
    const { accountId, header, inBatch, work } = call;
    const { name: pool, reason, workKind, estimateMs } = choice;
    const { log, meter, workerTime, lateWork } = this.#options;
    const outcome = await started.ended;
    const cpuMs = await started.busyMs;
    if (cpuMs === null) return outcome;
    // Refused or abandoned work ended early, so its time is recorded only if it exceeded the estimate.
    if (outcome === 'done' || cpuMs > estimateMs)
      this.#estimateCorrection.record(workKind, estimateMs, cpuMs);
    if (work !== 'job') workerTime.recordCpuTime(accountId, cpuMs);
    if (outcome === 'abandoned')
      lateWork.record(accountId, lateWorkNameOf(call), header.pixels, { cpuMs, allowedMs });
    meter?.recordPoolWorkEnd({ pool: pool === 'quick' ? 'image' : pool, reason, cpuMs, outcome });
    const message = 'A pass ran in the pool';
    log.debug?.({ pool, reason, outcome, cpuMs, queueMs: started.queueMs, inBatch }, message);
    return outcome;
  }

  /** Whether no pool runs or queues other work than the pass for which the threads are counted. */
  #hasOnlyOneTask(): boolean {
    let passes = 0;
    for (const { busy, waiting, jobsWaiting } of Object.values(this.stats()))
      passes += busy + waiting + jobsWaiting;
    return passes === 1;
  }

  #createThreadPool(): ImagePool {
    const { threadFile = IMAGE_THREAD_FILE } = this.#options;
    const { quick } = this.#poolSizes;
    const threads = new ImageThreads({ ...this.#options, threads: quick.slots, threadFile });
    return new WorkerPool({ ...this.#admissionOptionsOf('quick'), callsBesideJobs: true }, threads);
  }

  #createProcessPool(name: ImagePoolName, niceness: number): ImagePool {
    const { processFile: file = IMAGE_PROCESS_FILE, settings, clock, onLost, processCpuMs } = this.#options;
    const processes = new ChildProcesses<ImageTask, ImageTaskResult>({
      ...{ file, niceness, clock, onLost, processCpuMs },
      memoryMegabytes: settings.IMAGE_PROCESS_MEMORY_MEGABYTES,
      deathResult: { kind: 'failure', code: 'unsupported_format', message: PROCESS_DIED_MESSAGE },
      isStillWorking: (result) => 'leavesWork' in result,
    });
    // An item of a job may take a minute in this pool. No call can wait so long, so calls run in addition to the items.
    return new WorkerPool(
      { ...this.#admissionOptionsOf(name), callsBesideJobs: name === 'heavy' },
      processes,
    );
  }

  #admissionOptionsOf(name: ImagePoolName) {
    const { capacity, clock, workerTime } = this.#options;
    const limits = () => ({
      calls: capacity.imageQueue(),
      heldBytes: this.#poolSizes.quick.budgetBytes / WAITING_BODIES_DIVISOR,
      waitMs: capacity.imageWaitMs(),
    });
    return { ...this.#poolSizes[name], limits, clock, mustYield: workerTime.mustYield };
  }

  #computeSizes(): Record<ImagePoolName, { slots: number; budgetBytes: number }> {
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
    this.#poolSizes = this.#computeSizes();
    for (const name of POOL_NAMES) this.#pools[name].resize(this.#poolSizes[name]);
  }
}

const POOL_NAMES: readonly ImagePoolName[] = ['quick', 'slow', 'heavy', 'batch'];

/** A text that is the same for the same work on other files. */
function lateWorkNameOf({ kind, header, passes }: PassCall): string {
  return `${kind} ${header.format} ${JSON.stringify(passes)}`;
}

/** A key that is equal for the same passes over files of the same format. */
function workKindOf({ kind, header, passes, measuringMs = 0 }: PassCall): string {
  const [pass, ...others] = passes;
  if (pass === undefined || others.length > 0)
    return `${kind}${measuringMs > 0 ? ' scored' : ''} ${header.format}`;
  const { format, lossless, target } = resolvedEncodeOf(header, pass);
  const steps = pass.steps.map(({ operation }) => operation);
  const encodingWords = [...(lossless ? ['lossless'] : []), ...(target ? ['search'] : [])];
  return [header.format, ...steps, ...encodingWords, format].join(' ');
}
