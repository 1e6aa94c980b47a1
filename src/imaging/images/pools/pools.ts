import type { Pass } from '../../../../workers/protocol.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import type { SettingsOf } from '../../../platform/setting.ts';
import { present } from '../../../platform/values/present.ts';
import { imageMemoryBudgets } from '../budgets.ts';
import type { pixelsSettings } from '../config.ts';
import { divisibleMs, estimatedMs } from '../estimates/duration.ts';
import { encodeOf } from '../estimates/following.ts';
import type { Header } from '../header/header.ts';
import type { ChildProcessOptions } from './child-process.ts';
import { Pace } from './pace.ts';
import { createProcessPool, createThreadPool, type Outcome, type Pool } from './pool.ts';
import type { WorkerTime } from './worker-time.ts';

export type PoolName = 'quick' | 'slow' | 'heavy' | 'batch';

/**
 * Why work gets the lowest priority: it is estimated to take long, its account has used up its budget of worker time,
 * or the same work of the account has just met its deadline.
 */
export type LowReason = 'estimate' | 'budget' | 'deadline';

/** Work that looks for a pool. */
export interface PixelWork {
  kind: 'transform' | 'describe' | 'compare';
  header: Header;
  /** Null for a description and a comparison. */
  pass: Pass | null;
  accountId: string;
  /** Whether the caller waits for it. */
  isCall: boolean;
  /** Whether it is an item of a large job. */
  inBatch: boolean;
  /** Whether the same work of the account, over no more, has just met its deadline. */
  wasLate: boolean;
}

/** The pool of some work, and the receiver of its CPU time. */
interface Choice {
  name: PoolName;
  pool: Pool;
  /** Present in the pool `heavy`. */
  reason?: LowReason;
  took(cpuMs: number, outcome: Outcome): void;
}

/** Work that has ended in a pool, for the metrics. */
export interface PoolReport {
  pool: PoolName;
  reason?: LowReason | undefined;
  cpuMs: number;
  outcome: Outcome;
}

interface Pools extends Record<PoolName, Pool> {
  /** Passes that take a moment. */
  quick: Pool;
  /** Passes that take longer than a moment. They yield the cores to quick ones. */
  slow: Pool;
  /** Passes that may take seconds, and those of accounts past their budget. */
  heavy: Pool;
  /** Items of large jobs that take at most as long as slow passes. */
  batch: Pool;
  choose(work: PixelWork): Choice;
  /** Threads of libvips for a pass that begins now: two where it is alone in this process and gains by the second. */
  threadsFor(header: Header, pass: Pass): number;
  close(): Promise<void>;
}

interface PoolsOptions {
  settings: SettingsOf<typeof pixelsSettings>;
  capacity: Capacity;
  clock: Clock;
  workerTime: WorkerTime;
  onLost: (error: Error) => void;
  processCpuMs?: ChildProcessOptions['processCpuMs'];
  /** Called when work has ended. */
  onReport?: ((report: PoolReport) => void) | undefined;
  threadFile?: URL | undefined;
  processFile?: URL | undefined;
  workersCpuMs?: (() => number) | undefined;
}

/** A quick pass of another account waits for about this long at most until a thread is free. */
const SLOW_FROM_MS = 300;
/** A slow pass of another account waits for about this long at most. */
const HEAVY_FROM_MS = 2_000;
/** Grants a third of a core that quick passes contend for, and all idle time. */
const SLOW_NICENESS = 3;
/** Grants a tenth of a contended core, and all idle time: less would starve the pass on a busy host. */
const HEAVY_NICENESS = 10;
/**
 * Grants a quarter of a core that calls contend for, so that a batch always goes on, and all idle time. The threads of
 * a call are scheduled some six times within its few milliseconds: at equal priority, each time waits for the end of a
 * batch's time slice.
 */
const BATCH_NICENESS = 5;
/**
 * Steps from which a second thread shortens a pass: at 2 megapixels, rotate and modulate take 0.7 of the time, sharpen
 * 0.6, median 0.5. Below it, starting the thread costs more than it saves.
 */
const DIVIDED_FROM_MS = 20;
/** The bodies of waiting calls may take the quick budget divided by this. */
const HELD_SHARE = 4;
const IMAGE_THREAD = new URL('../../../../workers/image/thread.ts', import.meta.url);
const IMAGE_PROCESS = new URL('../../../../workers/image/process.ts', import.meta.url);

/**
 * Nothing stops a thread inside libvips: a pass that takes longer than a moment runs in a process that can be killed,
 * and that has a priority of its own, so that no account's pass holds up the calls of the others. A thread cannot have
 * one, because libuv's threads are shared by all that a process does.
 */
export function openPools(options: PoolsOptions): Pools {
  const { settings, capacity, workerTime, onReport, threadFile = IMAGE_THREAD } = options;
  const sizesNow = () => {
    const budgets = imageMemoryBudgets(settings.IMAGE_MEMORY_MEGABYTES, capacity.processes());
    const slots = capacity.imageThreads();
    return {
      quick: { slots, budgetBytes: budgets.quickBytes },
      slow: { slots, budgetBytes: budgets.slowBytes },
      heavy: { slots: settings.IMAGE_HEAVY_SLOTS, budgetBytes: budgets.heavyBytes },
      batch: { slots, budgetBytes: budgets.batchBytes },
    };
  };
  let sizes = sizesNow();
  const limits = () => ({
    calls: capacity.imageQueue(),
    heldBytes: sizes.quick.budgetBytes / HELD_SHARE,
    waitMs: capacity.imageWaitMs(),
  });
  const shared = { ...options, limits, givesWay: workerTime.isSpent };
  const processPool = (name: PoolName, niceness: number) =>
    createProcessPool({
      ...shared,
      ...sizes[name],
      file: options.processFile ?? IMAGE_PROCESS,
      memoryMegabytes: settings.IMAGE_PROCESS_MEMORY_MEGABYTES,
      niceness,
    });
  const pools: Record<PoolName, Pool> = {
    quick:
      settings.IMAGE_ISOLATION === 'process'
        ? processPool('quick', 0)
        : createThreadPool({ ...shared, ...sizes.quick, threadFile }),
    slow: processPool('slow', SLOW_NICENESS),
    heavy: processPool('heavy', HEAVY_NICENESS),
    batch: processPool('batch', BATCH_NICENESS),
  };
  const pace = new Pace();
  capacity.onChange(() => {
    sizes = sizesNow();
    for (const name of POOL_NAMES) pools[name].resize(sizes[name]);
  });

  /** Whether the calling pass is the only one that has a slot, and none waits. */
  function isAlone(): boolean {
    let passes = 0;
    for (const pool of Object.values(pools)) {
      const { busy, waiting, jobsWaiting } = pool.stats();
      passes += busy + waiting + jobsWaiting;
    }
    return passes === 1;
  }

  function lowReasonOf({ accountId, isCall, wasLate }: PixelWork, expectedMs: number): LowReason | undefined {
    if (expectedMs > HEAVY_FROM_MS) return 'estimate';
    if (wasLate) return 'deadline';
    return isCall && workerTime.isSpent(accountId) ? 'budget' : undefined;
  }

  return {
    ...pools,
    choose(work) {
      const { header, pass, accountId, isCall, inBatch } = work;
      const kind = kindOf(work);
      const estimateMs = estimatedMs(header, pass);
      const expectedMs = pace.corrected(kind, estimateMs);
      const reason = lowReasonOf(work, expectedMs);
      const byTime = expectedMs > SLOW_FROM_MS ? 'slow' : 'quick';
      const usual = inBatch ? 'batch' : byTime;
      const name = reason === undefined ? usual : 'heavy';
      return {
        ...{ name, pool: pools[name] },
        ...present({ reason }),
        took(cpuMs, outcome) {
          // Work that was refused or abandoned ended early, and is no measure of the pace unless it was slow.
          if (outcome === 'done' || cpuMs > estimateMs) pace.record(kind, estimateMs, cpuMs);
          if (isCall) workerTime.spent(accountId, cpuMs);
          onReport?.({ pool: name, reason, cpuMs, outcome });
        },
      };
    },
    threadsFor(header, pass) {
      const granted = capacity.processes() * capacity.imageThreads();
      // The encoder of AVIF writes other bytes with each number of threads.
      const gains = encodeOf(header, pass).format !== 'avif' && divisibleMs(header, pass) >= DIVIDED_FROM_MS;
      return granted > 1 && gains && isAlone() ? 2 : 1;
    },
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
}

const POOL_NAMES: readonly PoolName[] = ['quick', 'slow', 'heavy', 'batch'];

/** Work with the same decoder, steps and encoder has about the same ratio of time to estimate. */
function kindOf({ kind, header, pass }: PixelWork): string {
  if (pass === null) return `${kind} ${header.format}`;
  const { format, lossless, target } = encodeOf(header, pass);
  const steps = pass.steps.map(({ operation }) => operation);
  const how = [...(lossless ? ['lossless'] : []), ...(target ? ['search'] : [])];
  return [header.format, ...steps, ...how, format].join(' ');
}
