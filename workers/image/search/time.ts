import { TooLate } from '../failure.ts';

/** Time kept for the answer once the target is reached; a search for a better file ends before it. */
export const LAST_CALL_MS = 2_000;
/** Time kept for the answer by a search that has not reached its target yet. */
const ANSWER_MS = 500;

/** The time of a search. */
interface TrialTime {
  /** Whether there is time for another trial that takes as long as the last one. */
  hasTime(): boolean;
  /** Milliseconds that the next trial may take. */
  timeoutMs(): number;
  /**
   * Runs a search, and ends it if one of its trials exceeds its time.
   * @returns whether it ended by itself, and not for lack of time.
   */
  within(search: () => Promise<void>): Promise<boolean>;
}

/**
 * Limits the time of a search. A search whose file meets the target ends LAST_CALL_MS before the deadline. A search
 * without one goes on until ANSWER_MS before it.
 */
export function trialTime(
  { deadlineMs, nowMs }: { deadlineMs: number; nowMs(): number },
  isKept: () => boolean,
): TrialTime {
  let lapMs = nowMs();
  let wasCut = false;
  const endMs = () => deadlineMs - (isKept() ? LAST_CALL_MS : ANSWER_MS);
  return {
    hasTime() {
      const now = nowMs();
      const trialMs = now - lapMs;
      lapMs = now;
      const fits = now + trialMs < endMs();
      wasCut = !fits;
      return fits;
    },
    timeoutMs: () => endMs() - nowMs(),
    async within(search) {
      try {
        await search();
      } catch (error) {
        if (!isTooLate(error)) throw error;
        wasCut = true;
      }
      return !wasCut;
    },
  };
}

/** Whether a trial failed because its time was over. */
function isTooLate(error: unknown): boolean {
  return error instanceof TooLate || (error instanceof Error && error.message.startsWith('timeout:'));
}
