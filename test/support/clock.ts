import type { Clock } from '../../src/platform/clock/clock.ts';

export interface HandClock extends Clock {
  /** Moves the hands and rings what is due, in order. */
  advance(byMs: number): void;
}

/** A clock whose hands the test turns. */
export function handClock(startMs = 1_000_000): HandClock {
  let nowMs = startMs;
  let alarms: { atMs: number; ring: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    elapsedMs: () => nowMs,
    after(delayMs, ring) {
      const alarm = { atMs: nowMs + delayMs, ring };
      alarms.push(alarm);
      return () => {
        alarms = alarms.filter((other) => other !== alarm);
      };
    },
    advance(byMs) {
      nowMs += byMs;
      const due = alarms.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
      alarms = alarms.filter((alarm) => !due.includes(alarm));
      for (const { ring } of due) ring();
    },
  };
}
