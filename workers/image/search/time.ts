import { DeadlineError, isDeadlineError } from '../refusal.ts';

/** Time that is kept for the response once the target is reached. A search for a better file ends before it. */
export const MIN_TRIAL_TIME_MS = 2_000;
/** Time that is kept for the response by a search that has not reached its target yet. */
const ANSWER_MS = 500;

/**
 * Limits the time of a search. A search that has reached its target ends MIN_TRIAL_TIME_MS before the deadline. Any
 * other search goes on until ANSWER_MS before it.
 */
export class TrialTime {
  readonly #deadlineMs: number;
  readonly #nowMs: () => number;
  readonly #isKept: () => boolean;
  #lapMs: number;
  #wasCut = false;

  constructor(options: { deadlineMs: number; nowMs(): number }, isKept: () => boolean) {
    this.#deadlineMs = options.deadlineMs;
    this.#nowMs = options.nowMs;
    this.#isKept = isKept;
    this.#lapMs = options.nowMs();
  }

  /** Whether there is time for another trial that takes as long as the last one. */
  readonly hasTime = (): boolean => {
    const now = this.#nowMs();
    const trialMs = now - this.#lapMs;
    this.#lapMs = now;
    const fits = now + trialMs < this.#endMs();
    this.#wasCut = !fits;
    return fits;
  };

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

  /**
   * Runs a search, and ends it if one of its trials exceeds its time.
   * @returns whether the search ended by itself, and not for lack of time.
   */
  async within(search: () => Promise<void>): Promise<boolean> {
    try {
      await search();
    } catch (error) {
      if (!isDeadlineError(error)) throw error;
      this.#wasCut = true;
    }
    return !this.#wasCut;
  }

  #endMs(): number {
    return this.#deadlineMs - (this.#isKept() ? MIN_TRIAL_TIME_MS : ANSWER_MS);
  }
}
