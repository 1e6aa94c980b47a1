import { DeadlineError, isDeadlineError } from '../refusal.ts';

/** Time that is kept for the response once the target is reached. A search for a better file ends before it. */
export const MIN_TRIAL_TIME_MS = 2_000;
/** Time that is kept for the response by a search that has not reached its target yet. */
export const ANSWER_MS = 500;

/** The time of a search. */
export interface SearchTime {
  /** Epoch milliseconds. */
  deadlineMs: number;
  /**
   * When a search ends that has reached its target, in epoch milliseconds. Absent: MIN_TRIAL_TIME_MS before the
   * deadline.
   */
  improvesUntilMs?: number | undefined;
  /** The current time in epoch milliseconds. */
  nowMs(): number;
}

interface TrialTimeOptions extends SearchTime {
  /** Expected milliseconds of the first trial; 0 if they are unknown. */
  trialMs: number;
}

/**
 * Limits the time of a search. A search that has reached its target ends MIN_TRIAL_TIME_MS before the deadline, or when
 * other searches need the time. Any other search goes on until ANSWER_MS before the deadline.
 */
export class TrialTime {
  readonly #deadlineMs: number;
  readonly #improvesUntilMs: number;
  readonly #nowMs: () => number;
  readonly #isKept: () => boolean;
  #trialMs: number;

  constructor(
    { deadlineMs, improvesUntilMs = deadlineMs - MIN_TRIAL_TIME_MS, nowMs, trialMs }: TrialTimeOptions,
    isKept: () => boolean,
  ) {
    this.#deadlineMs = deadlineMs;
    this.#improvesUntilMs = improvesUntilMs;
    this.#nowMs = nowMs;
    this.#isKept = isKept;
    this.#trialMs = trialMs;
  }

  /** Records how long the last trial took. */
  took(trialMs: number): void {
    this.#trialMs = trialMs;
  }

  /** Whether there is time for so many trials that each take as long as the last one. */
  readonly hasTime = (trials: number): boolean => this.#nowMs() + trials * this.#trialMs < this.#endMs();

  /**
   * Milliseconds that the encoding of the next trial may take.
   * @param judgingMs the time that its file needs afterwards.
   * @throws DeadlineError if nothing is left.
   */
  timeoutMs(judgingMs = 0): number {
    const leftMs = this.#endMs() - this.#nowMs() - judgingMs;
    if (leftMs <= 0) throw new DeadlineError();
    return leftMs;
  }

  #endMs(): number {
    return this.#isKept() ? this.#improvesUntilMs : this.#deadlineMs - ANSWER_MS;
  }
}

/**
 * Runs a search, and ends it if one of its trials exceeds its time.
 * @param search resolves with whether it ended by itself, and not for lack of time.
 * @returns the same; false if a trial was too long.
 */
export async function endsByItself(search: () => Promise<boolean>): Promise<boolean> {
  try {
    return await search();
  } catch (error) {
    if (!isDeadlineError(error)) throw error;
    return false;
  }
}
