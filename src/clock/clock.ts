/**
 * Time as a parameter: tests turn the hands themselves. What a test has to bring about by time takes this clock. What
 * measures a step, or counts down a lease of its own, reads `performance.now()`. What dates a document is the `now` of its
 * slice.
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
