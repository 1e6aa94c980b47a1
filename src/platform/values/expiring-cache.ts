import { LRUCache } from 'lru-cache';

/** A cache whose entries expire. It reads the given clock (milliseconds) at each access, and starts no timers. */
export function createExpiringCache<V extends object | true>(
  max: number,
  lifeMs: number,
  now: () => number,
): LRUCache<string, V> {
  return new LRUCache({ max, ttl: lifeMs, ttlResolution: 0, perf: { now } });
}
