/**
 * Time as a parameter: tests turn the hands themselves. What decides by time takes this clock; what only measures how long
 * a step took, for a metric or a header, reads `performance.now()`. What a document is dated by is the `now` of its slice.
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
