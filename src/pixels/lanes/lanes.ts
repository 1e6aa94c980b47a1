import type { ImageTask } from '../../../workers/protocol.ts';
import type { Clock } from '../../clock/clock.ts';
import { type AdmissionStats, createAdmission, type SeatRequest } from '../admission.ts';
import { capacity, workerUnreachable } from '../failures.ts';
import { type Patience, unlessAborted } from '../patience.ts';
import { createApart, ProcessDeath, refusalOfDeath } from './apart.ts';
import { createPool, type ResultOf } from './pool.ts';

/** A task on its way to a worker. */
export interface Ride<T extends ImageTask> {
  /** Known only once a place is there: a job's deadline counts its work alone. */
  taskUntil(deadlineMs: number): T;
  seating: Omit<SeatRequest, 'signal'>;
  patience: Patience;
  /** Is handed the work as soon as it is begun; it settles when the work has really ended. */
  follow(native: Promise<unknown>): void;
  /** Told how long a worker was busy with it, were its caller answered long before, and whether it succeeded. */
  took(tookMs: number, succeeded: boolean): void;
}

export interface Arrival<T extends ImageTask> {
  result: ResultOf<T>;
  queueMs: number;
}

/** A way to run image tasks: a number of places, taken in turns, and workers behind them. */
export interface Lane {
  /** @throws ApiError provider_unavailable, unsupported_format; the patience's reason when it ends. */
  run<T extends ImageTask>(ride: Ride<T>): Promise<Arrival<T>>;
  stats(): AdmissionStats;
  retryAfterSeconds(): number;
  /** Changes the number of places and the memory for all of them, without a failed call. */
  resize(size: { places: number; budgetBytes: number }): void;
  close(): Promise<void>;
}

interface LaneOptions {
  places: number;
  budgetBytes: number;
  queueLimit: number;
  clock: Clock;
  onLost: (error: Error) => void;
}

/** Said of a pass that ended its process. */
const TOO_MUCH =
  'The image needs more memory for this than a pass may take, or broke its decoder; send a smaller one.';

/**
 * Threads of this process: the quickest way, but nothing stops what has been begun. So a call does not wait until a job's item
 * has ended: the thread works on both, and the cores are shared between them.
 */
export function createThreadLane(options: LaneOptions & { threadFile: URL }): Lane {
  const { places, onLost, threadFile, clock } = options;
  const admission = createAdmission({ ...options, seats: places, callsBesideJobs: true });
  const pool = createPool({ threads: places, threadFile, onLost });
  return {
    async run({ taskUntil, seating, patience, follow, took }) {
      const { signal } = patience;
      const seat = await patience.waiting(admission.acquire({ ...seating, signal }));
      if (signal.aborted) {
        seat.release();
        throw signal.reason;
      }
      const startedMs = clock.elapsedMs();
      const native = pool.run(taskUntil(patience.deadlineMs())).finally(seat.release);
      follow(native.then((result) => took(clock.elapsedMs() - startedMs, result.kind !== 'failure')));
      const reached = native.catch((cause: Error) => {
        onLost(cause);
        throw workerUnreachable(cause);
      });
      return { result: await unlessAborted(reached, signal), queueMs: seat.queueMs };
    },
    stats: admission.stats,
    retryAfterSeconds: admission.retryAfterSeconds,
    resize({ places: seats, budgetBytes }) {
      pool.resize(seats);
      admission.resize({ seats, budgetBytes });
    },
    async close() {
      await admission.idle();
      await pool.close();
    },
  };
}

/**
 * Processes that are killed when their time is over, with a clean environment and bounded memory: for what takes long, or
 * for all passes of an operator who wants a wall around the decoders.
 */
export function createProcessLane(
  options: LaneOptions & { processFile: URL; memoryMegabytes: number; niceness: number },
): Lane {
  const apart = createApart<ImageTask, ResultOf<ImageTask>>({ ...options, file: options.processFile });

  /** Past its deadline before it had a place: there was no room for it. */
  function withoutPlace(error: unknown, begun: boolean): unknown {
    const isLate = (error as { details?: { reason?: unknown } })?.details?.reason === 'deadline_exceeded';
    return isLate && !begun ? capacity(apart.retryAfterSeconds()) : error;
  }

  return {
    async run<T extends ImageTask>({ taskUntil, seating, patience, follow }: Ride<T>) {
      let begun = false;
      const begin = () => {
        begun = true;
        return { task: taskUntil(patience.deadlineMs()), signal: patience.signal };
      };
      const native = apart.run({ ...seating, patience, begin });
      follow(native);
      try {
        const { verdict, data, queueMs } = await native;
        const result = verdict.kind === 'transformed' ? { ...verdict, data } : verdict;
        return { result: result as ResultOf<T>, queueMs };
      } catch (error) {
        throw error instanceof ProcessDeath ? refusalOfDeath(error, TOO_MUCH) : withoutPlace(error, begun);
      }
    },
    stats: apart.stats,
    retryAfterSeconds: apart.retryAfterSeconds,
    resize: apart.resize,
    close: apart.close,
  };
}
