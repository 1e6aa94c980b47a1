import { DeadlineError, isDeadlineError } from '../refusal.ts';

/** A search that has reached its target ends this long before the deadline. The response may need that time. */
export const REACHED_TARGET_RESERVE_MS = 2_000;
/** A search that has not reached its target ends this long before the deadline, which leaves time for the response. */
export const RESPONSE_RESERVE_MS = 500;

/** The time limits of a search, and its clock. */
export interface SearchTime {
  /** Epoch milliseconds. */
  deadlineMs: number;
  /**
   * The epoch milliseconds at which a search that has reached its target ends. If absent, it ends
   * REACHED_TARGET_RESERVE_MS before the deadline.
   */
  improvesUntilMs?: number | undefined;
  /** The current time in epoch milliseconds. */
  nowMs(): number;
}

/**
 * Limits the time of a search. A search that has reached its target ends REACHED_TARGET_RESERVE_MS before the deadline,
 * or when other searches need the time. Any other search continues until RESPONSE_RESERVE_MS before the deadline.
 */
export class TrialTime {
  readonly #limits: SearchTime;
  readonly #hasReachedTarget: () => boolean;
  #trialMs: number;

  /** @param trialMs the expected milliseconds of the first trial; 0 if unknown. */
  constructor(limits: SearchTime, trialMs: number, hasReachedTarget: () => boolean) {
    this.#limits = limits;
    this.#hasReachedTarget = hasReachedTarget;
    this.#trialMs = trialMs;
  }

  /** Records how long the last trial took. */
  recordTrial(trialMs: number): void {
    this.#trialMs = trialMs;
  }

  /** Whether there is time for this number of trials, if each takes as long as the last one. */
  readonly hasTime = (trials: number): boolean => trials * this.#trialMs < this.#leftMs();

  /**
   * The milliseconds that the encoding of the next trial may take.
   * @param judgingMs the time that judging its file takes afterwards.
   * @throws DeadlineError if no time is left.
   */
  timeoutMs(judgingMs = 0): number {
    const leftMs = this.#leftMs() - judgingMs;
    if (leftMs <= 0) throw new DeadlineError();
    return leftMs;
  }

  #leftMs(): number {
    const { deadlineMs, improvesUntilMs = deadlineMs - REACHED_TARGET_RESERVE_MS, nowMs } = this.#limits;
    return (this.#hasReachedTarget() ? improvesUntilMs : deadlineMs - RESPONSE_RESERVE_MS) - nowMs();
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
