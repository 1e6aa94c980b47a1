/** Knows from the trials so far how long one takes: what it takes to begin, and each of its rounds. */
export interface TrialClock {
  /** Times a trial, which has to tell the end of each round. */
  time<T>(rounds: number, trial: (onRound: () => void) => Promise<T>): Promise<T>;
  /** Whether trials with this number of rounds each fit into the time that is left; yes, before anything is known. */
  hasTimeFor(...trials: number[]): boolean;
}

/** @param elapsedMs a clock that only goes forward, in milliseconds. */
export function createTrialClock(budgetMs: number, elapsedMs: () => number): TrialClock {
  const startMs = elapsedMs();
  let trials = 0;
  let spentMs = 0;
  let allRounds = 0;
  /** Rounds after the first of their trial, whose own time is known. */
  let timed = 0;
  let timedMs = 0;

  return {
    async time(rounds, trial) {
      const beganMs = elapsedMs();
      let lastMs: number | null = null;
      const result = await trial(() => {
        const nowMs = elapsedMs();
        if (lastMs !== null) {
          timed += 1;
          timedMs += nowMs - lastMs;
        }
        lastMs = nowMs;
      });
      trials += 1;
      allRounds += rounds;
      spentMs += elapsedMs() - beganMs;
      return result;
    },
    hasTimeFor(...wanted) {
      const roundMs = timed === 0 ? 0 : timedMs / timed;
      const beginMs = trials === 0 ? 0 : Math.max(0, spentMs - allRounds * roundMs) / trials;
      const neededMs = wanted.reduce((sum, rounds) => sum + beginMs + rounds * roundMs, 0);
      return elapsedMs() - startMs + neededMs < budgetMs;
    },
  };
}
