import type { ImageTask } from '../../../../workers/protocol.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import { Admission } from '../admission.ts';
import { type Deadline, unlessAborted } from '../deadline.ts';
import { capacity, workerUnreachable } from '../failures.ts';
import type { SlotRequest } from '../slots.ts';
import type { ChildProcessOptions } from './child-process.ts';
import { createChildProcessPool, type PoolOptions } from './child-process-pool.ts';
import { CpuMeter } from './cpu-meter.ts';
import { createThreads, type ResultOf } from './threads.ts';

/**
 * How work ended: with a result, with a refusal or a lost worker, or after its deadline or its client had gone, so that
 * nobody waited for it any more.
 */
export type Outcome = 'done' | 'failed' | 'abandoned';

/** A task for a pool. */
interface PoolCall<T extends ImageTask> {
  /**
   * Makes the task, and reads its input first where that is in a store. It is called when the call has its slot, so
   * that a waiting call holds no bytes.
   */
  makeTask(deadlineMs: number): Promise<T>;
  slotRequest: Omit<SlotRequest, 'signal'>;
  deadline: Deadline;
  /** Called with the work when it begins. The promise settles when the work has ended, also after a deadline. */
  follow(native: Promise<unknown>): void;
  /** Called with the CPU time of the work in milliseconds when it has ended, also after the deadline. */
  took(cpuMs: number, outcome: Outcome): void;
}

interface PoolResult<T extends ImageTask> {
  result: ResultOf<T>;
  queueMs: number;
}

/** A pool of workers for image tasks, whose slots the accounts take in turn. */
export interface Pool extends Pick<Admission, 'stats' | 'retryAfterSeconds' | 'expect'> {
  /** @throws ApiError provider_unavailable, unsupported_format; the deadline's reason when it ends. */
  run<T extends ImageTask>(call: PoolCall<T>): Promise<PoolResult<T>>;
  /** Changes the number of slots and their memory in all. No call fails. */
  resize(size: { slots: number; budgetBytes: number }): void;
  close(): Promise<void>;
}

/** The message for a pass that ended its child process. */
const PROCESS_DIED_MESSAGE =
  'The image needs more memory for this than a pass may take, or broke its decoder; send a smaller one.';

/**
 * Threads of this process: the fastest pool, but work that has begun cannot be stopped. A call therefore does not wait
 * for an item of a job: both run beside each other and share the cores.
 */
export function createThreadPool(
  options: PoolOptions & { threadFile: URL; workersCpuMs?: (() => number) | undefined },
): Pool {
  const { slots, onLost, threadFile, clock } = options;
  const cpuMeter = new CpuMeter(options.workersCpuMs);
  const admission = new Admission({ ...options, callsBesideJobs: true });
  const workers = createThreads({ threads: slots, threadFile, onLost });

  function lost(cause: Error): never {
    onLost(cause);
    throw workerUnreachable(cause);
  }

  return {
    retryAfterSeconds: () => admission.retryAfterSeconds(),
    expect: (request) => admission.expect(request),
    stats: () => admission.stats(),
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
        const begunMs = clock.elapsedMs();
        const cpuMs = cpuMeter.begin();
        const result = await workers.run(task).catch((error: Error) => error);
        // Other threads of the process, such as those that collect garbage, are measured too.
        const mostMs = (clock.elapsedMs() - begunMs) * threadsOf(task);
        took(Math.min(cpuMs(), mostMs), outcomeOf(result, signal));
        return result instanceof Error ? lost(result) : result;
      })().finally(slot.release);
      follow(native);
      return { result: await unlessAborted(native, signal), queueMs: slot.queueMs };
    },
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
 * Child processes with a clean environment and bounded memory, which are killed at the deadline: for long passes, or
 * for all passes where the operator wants the decoders isolated.
 */
export function createProcessPool(options: PoolOptions & ChildProcessOptions): Pool {
  const processes = createChildProcessPool<ImageTask, ResultOf<ImageTask>>({
    ...options,
    diedMessage: PROCESS_DIED_MESSAGE,
  });
  return {
    ...processes,
    async run<T extends ImageTask>({ makeTask, slotRequest, deadline, follow, took }: PoolCall<T>) {
      let begun = false;
      const begin = async () => {
        begun = true;
        return { task: await makeTask(deadline.deadlineMs()), signal: deadline.signal };
      };
      const native = processes.run({
        ...slotRequest,
        deadline,
        begin,
        took: (cpuMs, reply) => took(cpuMs, outcomeOf(reply, deadline.signal)),
      });
      follow(native);
      try {
        const { reply, data, queueMs } = await native;
        const result = reply.kind === 'transformed' ? { ...reply, data } : reply;
        return { result: result as ResultOf<T>, queueMs };
      } catch (error) {
        // A call whose deadline passed before it had a slot is refused for want of capacity.
        const isLate = error instanceof ApiError && error.details?.reason === 'deadline_exceeded';
        throw isLate && !begun ? capacity(processes.retryAfterSeconds()) : error;
      }
    },
  };
}

/** @param result absent, or the error, where the worker was lost. */
function outcomeOf(result: ResultOf<ImageTask> | Error | undefined, { aborted }: AbortSignal): Outcome {
  if (aborted) return 'abandoned';
  return result === undefined || result instanceof Error || result.kind === 'failure' ? 'failed' : 'done';
}

/** Threads of libvips that work on a task. */
function threadsOf(task: ImageTask): number {
  return (task.kind === 'transform' && task.threads) || 1;
}
