import type { Pass } from '../../../../workers/protocol.ts';
import type { Capacity } from '../../../platform/capacity/capacity.ts';
import type { Clock } from '../../../platform/clock/clock.ts';
import type { SettingsOf } from '../../../platform/settings/setting.ts';
import { imageMemoryBudgets } from '../budgets.ts';
import type { pixelsSettings } from '../config.ts';
import { divisibleMs, estimatedMs } from '../estimates/duration.ts';
import { encodeOf } from '../estimates/following.ts';
import type { Header } from '../header/header.ts';
import { createPace } from './pace.ts';
import { createProcessPool, createThreadPool, type Pool } from './pool.ts';

interface Pools {
  /** Passes that take a moment. */
  quick: Pool;
  /** Passes that may take longer. */
  heavy: Pool;
  /** Items of large jobs that take a moment. */
  batch: Pool;
  /** The pool of a pass (null is a description), and the receiver of its duration. */
  choose(
    header: Header,
    pass: Pass | null,
    inBatch: boolean,
  ): { name: 'quick' | 'heavy' | 'batch'; pool: Pool; took: (tookMs: number, succeeded: boolean) => void };
  /** Threads of libvips for a pass that begins now: two where it is alone in this process and gains by the second. */
  threadsFor(header: Header, pass: Pass): number;
  close(): Promise<void>;
}

interface PoolsOptions {
  settings: SettingsOf<typeof pixelsSettings>;
  capacity: Capacity;
  clock: Clock;
  onLost: (error: Error) => void;
  threadFile?: URL;
  processFile?: URL;
}

/** No thread is busy for longer than about this with a pass that nobody may want any more. */
const HEAVY_FROM_MS = 2_000;
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
 * Nothing stops a thread inside libvips: a pass that may take longer than 2 s runs in a process that can be killed, so
 * that no account's pass holds up the calls of the others. Items of a large job run in a process because libuv's
 * threads are shared by all that a process does, so only a process of its own can have a priority of its own.
 */
export function openPools(options: PoolsOptions): Pools {
  const { settings, capacity, threadFile = IMAGE_THREAD, processFile = IMAGE_PROCESS } = options;
  const sizesNow = () => {
    const budgets = imageMemoryBudgets(settings.IMAGE_MEMORY_MEGABYTES, capacity.processes());
    const slots = capacity.imageThreads();
    return {
      quick: { slots, budgetBytes: budgets.quickBytes },
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
  const shared = { ...options, limits };
  const memoryMegabytes = settings.IMAGE_PROCESS_MEMORY_MEGABYTES;
  const inProcesses = { ...shared, file: processFile, memoryMegabytes };
  const pools = {
    quick:
      settings.IMAGE_ISOLATION === 'process'
        ? createProcessPool({ ...inProcesses, ...sizes.quick, niceness: 0 })
        : createThreadPool({ ...shared, ...sizes.quick, threadFile }),
    heavy: createProcessPool({ ...inProcesses, ...sizes.heavy, niceness: HEAVY_NICENESS }),
    batch: createProcessPool({ ...inProcesses, ...sizes.batch, niceness: BATCH_NICENESS }),
  };
  const { quick, heavy, batch } = pools;
  const pace = createPace();
  capacity.onChange(() => {
    sizes = sizesNow();
    quick.resize(sizes.quick);
    batch.resize(sizes.batch);
    heavy.resize(sizes.heavy);
  });

  /** Whether the calling pass is the only one that has a slot, and none waits. */
  function isAlone(): boolean {
    let passes = 0;
    for (const pool of [quick, heavy, batch]) {
      const { busy, waiting, jobsWaiting } = pool.stats();
      passes += busy + waiting + jobsWaiting;
    }
    return passes === 1;
  }

  return {
    ...pools,
    choose(header, pass, inBatch) {
      const kind = kindOf(header, pass);
      const estimateMs = estimatedMs(header, pass);
      const isHeavy = pace.corrected(kind, estimateMs) > HEAVY_FROM_MS;
      const usual = inBatch ? 'batch' : 'quick';
      const name = isHeavy ? 'heavy' : usual;
      return {
        name,
        pool: pools[name],
        took(tookMs, succeeded) {
          // A refusal comes early and is no measure of the pace.
          if (succeeded || tookMs > estimateMs) pace.record(kind, estimateMs, tookMs);
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
      await Promise.all([quick.close(), heavy.close(), batch.close()]);
    },
  };
}

/** Passes with the same encoder have about the same ratio of time to estimate. */
function kindOf(header: Header, pass: Pass | null): string {
  if (pass === null) return 'description';
  const { format, lossless } = encodeOf(header, pass);
  return lossless ? `${format}, lossless` : format;
}
