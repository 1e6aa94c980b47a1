import { createExpiringMap } from './expiring-map.ts';

/** Counts by key, each in a window that starts with the first count and ends by itself. */
interface Windows {
  count(key: string): number;
  /** Milliseconds until the window ends; 0 when it has not started. */
  leftMs(key: string): number;
  /** Adds to the count of a window and returns the new count. */
  increment(key: string, windowMs: number, by?: number): number;
  /** Subtracts one; an empty or ended window stays unchanged. */
  decrement(key: string): void;
}

export function createWindows(now: () => number): Windows {
  const counts = createExpiringMap<number>(now);
  const count = (key: string): number => counts.get(key) ?? 0;
  return {
    count,
    leftMs: counts.leftMs,
    increment(key, windowMs, by = 1) {
      const increased = count(key) + by;
      counts.set(key, increased, now() + (counts.leftMs(key) || windowMs));
      return increased;
    },
    decrement(key) {
      if (count(key) > 0) counts.set(key, count(key) - 1, now() + counts.leftMs(key));
    },
  };
}
