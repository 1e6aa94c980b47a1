import type { Clock } from '../../src/platform/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time and runs the callbacks that are due, in order. */
  advance(byMs: number): void;
  /** Resolves when a callback is next asked for. */
  nextTimer(): Promise<void>;
}

/** A clock that stands still until the test moves it. */
export function manualClock(startMs = 1_000_000): ManualClock {
  let nowMs = startMs;
  let timers: { atMs: number; callback: () => void }[] = [];
  let asked = Promise.withResolvers<void>();
  return {
    nowMs: () => nowMs,
    elapsedMs: () => nowMs,
    after(delayMs, callback) {
      const timer = { atMs: nowMs + delayMs, callback };
      timers.push(timer);
      asked.resolve();
      asked = Promise.withResolvers();
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(byMs) {
      nowMs += byMs;
      const due = timers.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
      timers = timers.filter((timer) => !due.includes(timer));
      for (const { callback } of due) callback();
    },
    nextTimer: () => asked.promise,
  };
}
