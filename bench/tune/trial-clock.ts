/** Estimates from the trials so far how long one takes: the time to start, and that of each round. */
export class TrialClock {
  readonly #elapsedMs: () => number;
  readonly #endsMs: number;
  #trials = 0;
  #spentMs = 0;
  #allRounds = 0;
  /** The number of timed rounds. The first round of a trial is not timed, because the start is part of it. */
  #timed = 0;
  #timedMs = 0;

  /** @param elapsedMs a monotonic clock, in milliseconds. */
  constructor(budgetMs: number, elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
    this.#endsMs = elapsedMs() + budgetMs;
  }

  /** Times a trial, which must report the end of each round. */
  async timeTrial<T>(rounds: number, trial: (onRound: () => void) => Promise<T>): Promise<T> {
    const beganMs = this.#elapsedMs();
    let lastMs: number | null = null;
    const result = await trial(() => {
      const nowMs = this.#elapsedMs();
      if (lastMs !== null) {
        this.#timed += 1;
        this.#timedMs += nowMs - lastMs;
      }
      lastMs = nowMs;
    });
    this.#trials += 1;
    this.#allRounds += rounds;
    this.#spentMs += this.#elapsedMs() - beganMs;
    return result;
  }

  /** Whether trials with these numbers of rounds fit into the time left; true before anything is known. */
  hasTimeFor(...roundCounts: number[]): boolean {
    const neededMs = roundCounts.reduce((sum, rounds) => sum + this.#beginMs() + rounds * this.#roundMs(), 0);
    return neededMs < this.leftMs();
  }

  /** The rest of the budget in milliseconds, at least 0. */
  leftMs(): number {
    return Math.max(0, this.#endsMs - this.#elapsedMs());
  }

  /** The rounds of one trial that fit into the time left; 0 before anything is known. */
  roundsLeft(): number {
    if (this.#timed === 0) return 0;
    return Math.max(0, Math.floor((this.leftMs() - this.#beginMs()) / this.#roundMs()));
  }

  /** The mean time of a round. */
  #roundMs(): number {
    return this.#timed === 0 ? 0 : this.#timedMs / this.#timed;
  }

  /** The mean time that a trial takes to start. */
  #beginMs(): number {
    if (this.#trials === 0) return 0;
    return Math.max(0, this.#spentMs - this.#allRounds * this.#roundMs()) / this.#trials;
  }
}
