/** Time as a parameter: tests turn the hands themselves. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number;
  /** Calls back once, `delayMs` from now; the answer cancels it. Keeps no process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
