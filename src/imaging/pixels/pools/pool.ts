import type { ImageTask } from '../../../../workers/protocol.ts';
import type { Clock } from '../../../platform/clock/clock.ts';
import {
  type Admission,
  type AdmissionStats,
  createAdmission,
  type SlotRequest,
  type WaitingLimits,
} from '../admission.ts';
import { type Deadline, unlessAborted } from '../deadline.ts';
import { capacity, workerUnreachable } from '../failures.ts';
import { createChildProcessPool, ProcessDeath, refusalOfDeath } from './child-process-pool.ts';
import { createThreads, type ResultOf } from './threads.ts';

/** A task on its way to a worker. */
interface PoolCall<T extends ImageTask> {
  /**
   * Reads the input, where it is still in a store, and makes the task. Called once a slot is there: what waits holds no
   * bytes, and a job's deadline counts its work alone.
   */
  makeTask(deadlineMs: number): Promise<T>;
  slotRequest: Omit<SlotRequest, 'signal'>;
  deadline: Deadline;
  /** Is handed the work as soon as it is begun; it settles when the work has really ended. */
  follow(native: Promise<unknown>): void;
  /** Called with the time that a worker was busy, also after the caller was answered, and whether it succeeded. */
  took(tookMs: number, succeeded: boolean): void;
}

export interface PoolResult<T extends ImageTask> {
  result: ResultOf<T>;
  queueMs: number;
}

/** A way to run image tasks: a number of slots, taken in turns, and workers behind them. */
export interface Pool {
  /** @throws ApiError provider_unavailable, unsupported_format; the deadline's reason when it ends. */
  run<T extends ImageTask>(call: PoolCall<T>): Promise<PoolResult<T>>;
  stats(): AdmissionStats;
  retryAfterSeconds(): number;
  expect: Admission['expect'];
  /** Changes the number of slots and the memory for all of them, without a failed call. */
  resize(size: { slots: number; budgetBytes: number }): void;
  close(): Promise<void>;
}

interface PoolOptions {
  slots: number;
  budgetBytes: number;
  limits: () => WaitingLimits;
  clock: Clock;
  onLost: (error: Error) => void;
}

/** Said of a pass that ended its process. */
const PROCESS_DIED_MESSAGE =
  'The image needs more memory for this than a pass may take, or broke its decoder; send a smaller one.';

/**
 * Threads of this process: the quickest way, but nothing stops what has been begun. So a call does not wait until a
 * job's item has ended: the thread works on both, and the cores are shared between them.
 */
export function createThreadPool(options: PoolOptions & { threadFile: URL }): Pool {
  const { slots, onLost, threadFile, clock } = options;
  const admission = createAdmission({ ...options, slots, callsBesideJobs: true });
  const workers = createThreads({ threads: slots, threadFile, onLost });

  function lost(cause: Error): never {
    onLost(cause);
    throw workerUnreachable(cause);
  }

  return {
    async run({ makeTask, slotRequest, deadline, follow, took }) {
      const { signal } = deadline;
      const slot = await deadline.waiting(admission.acquire({ ...slotRequest, signal }));
      if (signal.aborted) {
        slot.release();
        throw signal.reason;
      }
      const native = (async () => {
        const task = await makeTask(deadline.deadlineMs());
        signal.throwIfAborted();
        const startedMs = clock.elapsedMs();
        const result = await workers.run(task).catch(lost);
        took(clock.elapsedMs() - startedMs, result.kind !== 'failure');
        return result;
      })().finally(slot.release);
      follow(native);
      return { result: await unlessAborted(native, signal), queueMs: slot.queueMs };
    },
    stats: admission.stats,
    retryAfterSeconds: admission.retryAfterSeconds,
    expect: admission.expect,
    resize({ slots, budgetBytes }) {
      workers.resize(slots);
      admission.resize({ slots, budgetBytes });
    },
    async close() {
      await admission.idle();
      await workers.close();
    },
  };
}

/**
 * Processes that are killed when their time is over, with a clean environment and bounded memory: for what takes long,
 * or for all passes of an operator who wants a wall around the decoders.
 */
export function createProcessPool(
  options: PoolOptions & { processFile: URL; memoryMegabytes: number; niceness: number },
): Pool {
  const processes = createChildProcessPool<ImageTask, ResultOf<ImageTask>>({
    ...options,
    file: options.processFile,
  });

  /** Past its deadline before it had a slot: there was no room for it. */
  function withoutSlot(error: unknown, begun: boolean): unknown {
    const isLate = (error as { details?: { reason?: unknown } })?.details?.reason === 'deadline_exceeded';
    return isLate && !begun ? capacity(processes.retryAfterSeconds()) : error;
  }

  return {
    async run<T extends ImageTask>({ makeTask, slotRequest, deadline, follow }: PoolCall<T>) {
      let begun = false;
      const begin = async () => {
        begun = true;
        return { task: await makeTask(deadline.deadlineMs()), signal: deadline.signal };
      };
      const native = processes.run({ ...slotRequest, deadline, begin });
      follow(native);
      try {
        const { reply, data, queueMs } = await native;
        const result = reply.kind === 'transformed' ? { ...reply, data } : reply;
        return { result: result as ResultOf<T>, queueMs };
      } catch (error) {
        throw error instanceof ProcessDeath
          ? refusalOfDeath(error, PROCESS_DIED_MESSAGE)
          : withoutSlot(error, begun);
      }
    },
    stats: processes.stats,
    retryAfterSeconds: processes.retryAfterSeconds,
    expect: processes.expect,
    resize: processes.resize,
    close: processes.close,
  };
}
