/**
 * Time as a parameter: tests turn the hands themselves. What a test has to bring about by time takes this clock. What
 * dates a document is the `now` of its slice. The system's own clocks are read in three places only:
 * `performance.now()` where a step is measured or a lease of one's own is counted down; `Date.now()` where a deadline
 * crosses to a thread or a process, which compares it with that very clock, and where another machine or the file
 * system says when.
 */
export interface Clock {
  /** Epoch milliseconds, for instants that another thread or process compares with its own clock. */
  nowMs(): number;
  /** Milliseconds that never go back, for durations: they do not jump when the clock of the host is set. */
  elapsedMs(): number;
  /** Calls back once, `delayMs` from now; the answer cancels it. */
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
