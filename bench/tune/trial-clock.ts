/** Estimates from the trials so far how long one takes: the time to start, and that of each round. */
export interface TrialClock {
  /** Times a trial, which must report the end of each round. */
  time<T>(rounds: number, trial: (onRound: () => void) => Promise<T>): Promise<T>;
  /** Whether trials with these numbers of rounds fit into the time left; true before anything is known. */
  hasTimeFor(...trials: number[]): boolean;
  /** Rest of the budget in milliseconds, from 0 on. */
  leftMs(): number;
  /** The rounds of one trial that fit into the time left; 0 before anything is known. */
  roundsLeft(): number;
}

/** @param elapsedMs a monotonic clock, in milliseconds. */
export function createTrialClock(budgetMs: number, elapsedMs: () => number): TrialClock {
  const startMs = elapsedMs();
  let trials = 0;
  let spentMs = 0;
  let allRounds = 0;
  /** Number of rounds after the first of their trial, whose own time is known. */
  let timed = 0;
  let timedMs = 0;

  const leftMs = () => Math.max(0, budgetMs - (elapsedMs() - startMs));
  const meanRoundMs = () => (timed === 0 ? 0 : timedMs / timed);
  const beginMs = () => (trials === 0 ? 0 : Math.max(0, spentMs - allRounds * meanRoundMs()) / trials);

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
    hasTimeFor(...roundCounts) {
      const neededMs = roundCounts.reduce((sum, rounds) => sum + beginMs() + rounds * meanRoundMs(), 0);
      return neededMs < leftMs();
    },
    leftMs,
    roundsLeft: () => (timed === 0 ? 0 : Math.max(0, Math.floor((leftMs() - beginMs()) / meanRoundMs()))),
  };
}
