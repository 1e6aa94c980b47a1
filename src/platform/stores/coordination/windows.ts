import { createExpiringMap } from './expiring-map.ts';

/** Counts by key, each in a window that starts with the first count and ends by itself. */
export function createWindows(now: () => number) {
  const counts = createExpiringMap<number>(now);
  const count = (key: string): number => counts.get(key) ?? 0;
  return {
    count,
    /** Milliseconds until the window ends; 0 when it has not started. */
    leftMs: counts.leftMs,
    /** Adds to the count of a window and returns the new count. */
    increment(key: string, windowMs: number, by = 1): number {
      const increased = count(key) + by;
      counts.set(key, increased, now() + (counts.leftMs(key) || windowMs));
      return increased;
    },
    /** Subtracts one; an empty or ended window stays unchanged. */
    decrement(key: string): void {
      if (count(key) > 0) counts.set(key, count(key) - 1, now() + counts.leftMs(key));
    },
  };
}
