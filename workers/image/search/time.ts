import { DeadlineError, isDeadlineError } from '../refusal.ts';

/** A search that has reached its target ends this long before the deadline. The response may need that time. */
export const REACHED_TARGET_RESERVE_MS = 2_000;
/** A search that has not reached its target ends this long before the deadline, which leaves time for the response. */
export const RESPONSE_RESERVE_MS = 500;

/**
 * A clock that also counts the CPU time of this process, and thus knows the pace of its work. On a busy host, the same
 * work takes many times as long, although it takes the same CPU time.
 */
export class WorkClock {
  /** Returns the current time in epoch milliseconds. */
  readonly nowMs: () => number;
  /** Returns the CPU milliseconds that this process has used. */
  readonly cpuMs: () => number;
  readonly #beganMs: number;
  readonly #beganCpuMs: number;

  constructor({ nowMs = Date.now, cpuMs = processCpuMs } = {}) {
    this.nowMs = nowMs;
    this.cpuMs = cpuMs;
    this.#beganMs = nowMs();
    this.#beganCpuMs = cpuMs();
  }

  /**
   * The milliseconds that work of this CPU time takes at the pace since this clock was made. Work in a thread counts
   * the CPU time of the whole process, both here and in its own cost, so the ratio is still right.
   */
  expectedMs(cpuMs: number): number {
    const usedCpuMs = this.cpuMs() - this.#beganCpuMs;
    return usedCpuMs > 0 ? (cpuMs * (this.nowMs() - this.#beganMs)) / usedCpuMs : cpuMs;
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The time limits of a search, and its clock. */
export interface SearchTime {
  /** Epoch milliseconds. */
  deadlineMs: number;
  /**
   * The epoch milliseconds at which a search that has reached its target ends. If absent, it ends
   * REACHED_TARGET_RESERVE_MS before the deadline.
   */
  improvesUntilMs?: number | undefined;
  clock: Pick<WorkClock, 'nowMs' | 'cpuMs' | 'expectedMs'>;
}

/**
 * Limits the time of a search. A search that has reached its target ends REACHED_TARGET_RESERVE_MS before the deadline,
 * or when other searches need the time. Any other search continues until RESPONSE_RESERVE_MS before the deadline.
 */
export class TrialTime {
  readonly #limits: SearchTime;
  readonly #hasReachedTarget: () => boolean;
  #trialCpuMs: number;

  /** @param trialCpuMs the expected CPU milliseconds of the first trial; 0 if unknown. */
  constructor(limits: SearchTime, trialCpuMs: number, hasReachedTarget: () => boolean) {
    this.#limits = limits;
    this.#hasReachedTarget = hasReachedTarget;
    this.#trialCpuMs = trialCpuMs;
  }

  /** Records the CPU time of the last trial. */
  recordTrial(trialCpuMs: number): void {
    this.#trialCpuMs = trialCpuMs;
  }

  /** Whether there is time for this number of trials at the present pace, if each is as much work as the last one. */
  readonly hasTime = (trials: number): boolean =>
    this.#limits.clock.expectedMs(trials * this.#trialCpuMs) < this.#leftMs();

  /**
   * The milliseconds that the encoding of the next trial may take.
   * @param judgingCpuMs the CPU time that judging its file takes afterwards.
   * @throws DeadlineError if no time is left.
   */
  timeoutMs(judgingCpuMs = 0): number {
    const { clock } = this.#limits;
    const leftMs = this.#leftMs() - clock.expectedMs(judgingCpuMs);
    if (leftMs <= 0) throw new DeadlineError();
    return leftMs;
  }

  #leftMs(): number {
    const { deadlineMs, improvesUntilMs = deadlineMs - REACHED_TARGET_RESERVE_MS, clock } = this.#limits;
    return (this.#hasReachedTarget() ? improvesUntilMs : deadlineMs - RESPONSE_RESERVE_MS) - clock.nowMs();
  }
}

/** Resolves with the result of work, or with null if it is not there in time. The work itself goes on. */
export async function resultWithin<T>(timeoutMs: number, work: Promise<T>): Promise<T | null> {
  if (timeoutMs === Number.POSITIVE_INFINITY) return work;
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), Math.max(0, timeoutMs));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs a search, and reports whether it ended by itself.
 * @param search resolves with whether it ended by itself, and not for lack of time.
 * @returns the same value, or false if a trial exceeded the deadline.
 */
export async function completesInTime(search: () => Promise<boolean>): Promise<boolean> {
  try {
    return await search();
  } catch (error) {
    if (!isDeadlineError(error)) throw error;
    return false;
  }
}
