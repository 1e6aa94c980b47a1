/**
 * A clock that is passed as a parameter, so that tests can set it. Code whose timing is tested uses this clock;
 * documents are dated by the `now` of their slice. The system's clocks are read directly in three cases only:
 * `performance.now()` to measure a step or to count down a lease of this process; `Date.now()` for a deadline that
 * another thread or process compares, and for times of another machine or of the file system.
 */
export interface Clock {
  /** Epoch milliseconds, for instants that another thread or process compares with its own clock. */
  nowMs(): number;
  /** Milliseconds of a monotonic clock, for durations. */
  elapsedMs(): number;
  /** Calls back once, `delayMs` from now; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};

/** Smaller differences between clocks are ignored: NTP leaves smaller ones, and a busy process cannot measure them. */
const MIN_CORRECTED_DIFFERENCE_MS = 1_000;
/** If the clocks differ by at least this much, the log warns that the clock of the host is wrong. */
const MIN_WRONG_DIFFERENCE_MS = 5_000;
/** If the clocks differ by at least this much, a process leaves periodic clean-ups to other hosts, if there are any. */
const MIN_CLOCK_DIFFERENCE_TO_YIELD_MS = 15_000;
const CLOCK_MEASUREMENT_INTERVAL_MS = 60_000;
const SAMPLES_PER_MEASUREMENT = 3;
/** The longest time that a reading of the shared clock may take. The instant of a slower answer is too uncertain. */
const MAX_CLOCK_READING_MS = 1_000;

interface SharedClockOptions {
  /** Reads the shared clock, in epoch milliseconds. */
  readTime: () => Promise<number>;
  /** The uncorrected clock of this host. */
  now: () => Date;
  timer?: Pick<Clock, 'after'>;
  log: { error(context: object, message: string): void; warn(context: object, message: string): void };
}

/**
 * One clock for all hosts: the host's own clock, corrected by its difference from the clock of coordination. Stored
 * instants that another host compares (leases of items, pauses, expiries) use it, so that hosts agree even if their
 * clocks differ by minutes. MongoDB's clock ($$NOW) is not used, because only pipeline updates have it, which the
 * embedded store lacks. The difference is measured at the start and each minute. If a clock is set in between, the
 * difference is wrong until the next measurement.
 */
export class SharedClock {
  readonly #options: SharedClockOptions;
  #differenceMs = 0;
  #isClosed = false;
  #cancelMeasurement = () => {};

  private constructor(options: SharedClockOptions) {
    this.#options = options;
  }

  /**
   * Opens the clock after a first measurement.
   * @throws the error of `readTime` in that measurement.
   */
  static async open(options: SharedClockOptions): Promise<SharedClock> {
    const clock = new SharedClock(options);
    await clock.#updateDifference();
    clock.#scheduleMeasurement();
    return clock;
  }

  readonly now = (): Date => {
    const own = this.#options.now();
    if (Math.abs(this.#differenceMs) < MIN_CORRECTED_DIFFERENCE_MS) return own;
    return new Date(own.getTime() + Math.round(this.#differenceMs));
  };

  /** The last measured difference in milliseconds. It is positive if the shared clock is ahead of this host's. */
  readonly differenceMs = (): number => this.#differenceMs;

  isWrong(): boolean {
    return Math.abs(this.#differenceMs) > MIN_WRONG_DIFFERENCE_MS;
  }

  readonly yieldsSweeps = (): boolean => Math.abs(this.#differenceMs) > MIN_CLOCK_DIFFERENCE_TO_YIELD_MS;

  close(): void {
    this.#isClosed = true;
    this.#cancelMeasurement();
  }

  async #updateDifference(): Promise<void> {
    const { log } = this.#options;
    const found = await this.#measureDifference();
    if (found === null) return log.warn({}, 'The shared clock was not measured: its answers took too long');
    this.#differenceMs = found;
    if (this.isWrong())
      log.error(
        { differenceMs: Math.round(found) },
        'The clock of this host is wrong, or the one of Redis is: synchronise both by NTP',
      );
  }

  /** The difference according to the fastest of several answers; null if none was fast enough. */
  async #measureDifference(): Promise<number | null> {
    const { now, readTime } = this.#options;
    let fastestMs = MAX_CLOCK_READING_MS;
    let differenceMs: number | null = null;
    for (let sample = 0; sample < SAMPLES_PER_MEASUREMENT; sample += 1) {
      const sentMs = now().getTime();
      const sharedMs = await readTime();
      const tookMs = now().getTime() - sentMs;
      if (tookMs < 0 || tookMs >= fastestMs) continue;
      fastestMs = tookMs;
      differenceMs = sharedMs - (sentMs + tookMs / 2);
    }
    return differenceMs;
  }

  #scheduleMeasurement(): void {
    const { timer = systemClock, log } = this.#options;
    if (this.#isClosed) return;
    this.#cancelMeasurement = timer.after(CLOCK_MEASUREMENT_INTERVAL_MS, () => {
      this.#updateDifference()
        .catch((error) => log.warn({ err: error }, 'The shared clock was not measured'))
        .finally(() => this.#scheduleMeasurement());
    });
  }
}
