/**
 * A clock that is passed as a parameter, so that tests can set it. Code whose timing is tested uses this clock;
 * documents are dated by the `now` of their slice. The system's clocks are read directly in three cases only:
 * `performance.now()` to measure a step or to count down an own lease; `Date.now()` for a deadline that another thread
 * or process compares, and for times of another machine or of the file system.
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
