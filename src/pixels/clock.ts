/** Time as a parameter: tests turn the hands themselves. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** Calls back once, `delayMs` from now; the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: Date.now,
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};
