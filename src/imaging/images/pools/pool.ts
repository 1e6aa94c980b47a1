import { AdmissionQueue } from '../admission.ts';
import type { CallDeadline } from '../deadline.ts';
import type { AdmissionOptions, PoolSlotRequest } from '../slots.ts';

/** A call to a pool: the facts that its queue needs, and its deadline. */
export interface PoolCall extends Omit<PoolSlotRequest, 'signal'> {
  deadline: Pick<CallDeadline, 'signal' | 'waitForSlot' | 'recordWorkerStart' | 'deadlineMs'>;
}

/**
 * The outcome of work. `done`: it has a result. `failed`: it ended with an error or a lost worker. `abandoned`: its
 * deadline had passed, or its client had gone.
 */
export type WorkOutcome = 'done' | 'failed' | 'abandoned';

/** Work that has its slot. */
export interface StartedWork<Result> {
  /** Milliseconds that the work waited for its slot. */
  queueMs: number;
  /**
   * Settles when the work has ended, even if its deadline has passed before and nobody waits any more. Rejects with
   * provider_unavailable or unsupported_format, with the error of `makeTask`, or with the reason of the deadline's
   * signal.
   */
  result: Promise<Result>;
  /** Resolves when no worker works for the call any more, and its slot is free. Never rejects. */
  ended: Promise<WorkOutcome>;
  /** CPU milliseconds of the worker, known when the work has ended; null if no work began. Never rejects. */
  busyMs: Promise<number | null>;
}

/**
 * The end of a task: its result, or the error with which its worker was lost, and the CPU milliseconds that it used.
 */
export type FinishedTask<Result> = { busyMs: number | null } & ({ result: Result } | { error: unknown });

/** The workers that run the tasks of a pool: threads of this process, or child processes. */
export interface PoolWorkers<Task, Result> {
  /**
   * Runs a task. Resolves when the work has really ended. The task's input is transferred.
   * @param signal ends the work, if the worker can be stopped.
   * @param bytes estimated memory of the work.
   * @param onBegun called when the task begins, which may be after the start of its worker. It gets a function that
   * returns the CPU milliseconds that the task has used so far, or null if they are unknown.
   */
  run(
    task: Task,
    signal: AbortSignal,
    bytes: number,
    onBegun: (taskCpuMs: () => number | null) => void,
  ): Promise<FinishedTask<Result>>;
  /** Changes the number of tasks that run at once. No task fails because of it. */
  resize(count: number): void;
  close(): Promise<void>;
}

/** The answer of a worker: a result, or a failure with its reason. */
interface WorkerReply {
  kind: string;
  details?: Record<string, unknown>;
}

/** A pool of workers whose slots are given to the accounts in turn. */
export class WorkerPool<Task, Result extends WorkerReply> {
  /** The queue in front of the slots. Only the pool itself takes slots. */
  readonly admission: AdmissionQueue;
  readonly #workers: PoolWorkers<Task, Result>;

  constructor(options: AdmissionOptions, workers: PoolWorkers<Task, Result>) {
    this.admission = new AdmissionQueue(options);
    this.#workers = workers;
  }

  /**
   * Starts the work of a call. Resolves when the call has its slot.
   * @param makeTask makes the task when the call has its slot. An input in a store is read only then, so that a waiting
   * call holds no bytes.
   * @throws provider_unavailable (capacity) if the queue refuses the call; the reason of the deadline's signal.
   */
  async start(
    call: PoolCall,
    makeTask: (deadlineMs: number) => Task | Promise<Task>,
  ): Promise<StartedWork<Result>> {
    const { signal } = call.deadline;
    const { queueMs, release } = await call.deadline.waitForSlot(this.admission.acquire({ ...call, signal }));
    if (signal.aborted) {
      release();
      throw signal.reason;
    }
    const finished = this.#runTask(call, makeTask).finally(release);
    return {
      queueMs,
      result: finished.then(requireResult),
      ended: finished.then((work) => outcomeOf(work, signal)),
      busyMs: finished.then(({ busyMs }) => busyMs),
    };
  }

  /** Changes the number of slots and their total memory. No call fails. */
  resize(size: { slots: number; budgetBytes: number }): void {
    this.#workers.resize(size.slots);
    this.admission.resize(size);
  }

  /** Waits for the work in progress, then ends the workers. */
  async close(): Promise<void> {
    await this.admission.whenIdle();
    await this.#workers.close();
  }

  async #runTask(
    { deadline, bytes }: PoolCall,
    makeTask: (deadlineMs: number) => Task | Promise<Task>,
  ): Promise<FinishedTask<Result>> {
    try {
      const task = await makeTask(deadline.deadlineMs());
      deadline.signal.throwIfAborted();
      return await this.#workers.run(task, deadline.signal, bytes, (taskCpuMs) =>
        deadline.recordWorkerStart(taskCpuMs),
      );
    } catch (error) {
      return { busyMs: null, error };
    }
  }
}

function requireResult<Result>(work: FinishedTask<Result>): Result {
  if ('error' in work) throw work.error;
  return work.result;
}

function outcomeOf(work: FinishedTask<WorkerReply>, { aborted }: AbortSignal): WorkOutcome {
  if (aborted) return 'abandoned';
  if ('result' in work && work.result.kind !== 'failure') return 'done';
  // A worker may notice the deadline before this process does.
  const isLate = 'result' in work && work.result.details?.reason === 'deadline_exceeded';
  return isLate ? 'abandoned' : 'failed';
}
