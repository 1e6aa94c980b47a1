import { TooLate } from '../failure.ts';

/** Once the target is reached, no search goes on for a better file when less than this would be left to answer in. */
export const LAST_CALL_MS = 2_000;
/** What a search that has reached nothing yet leaves of its time, to answer in. */
const ANSWER_MS = 500;

/** The time of a search. */
export interface TrialTime {
  /** Whether there is time for one trial more, as long as the last one took. */
  hasTime(): boolean;
  /** What the next trial may take. */
  timeoutMs(): number;
  /**
   * Runs a search, which ends where a trial of it comes too late.
   * @returns whether it ended by itself, with no trial left that there was no time for.
   */
  within(search: () => Promise<void>): Promise<boolean>;
}

/**
 * A search with a file that keeps the promise ends before the last call. One without goes on for as long as somebody waits for
 * its answer.
 */
export function timeOf(
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

/** A trial of a search that came to nothing, because its time was over. */
function isTooLate(error: unknown): boolean {
  return error instanceof TooLate || (error instanceof Error && error.message.startsWith('timeout:'));
}
