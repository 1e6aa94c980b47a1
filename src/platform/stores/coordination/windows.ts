import { ExpiringMap } from './expiring-map.ts';

/** Counts by key, each in a window that starts with the first count and ends by itself. */
export class Windows {
  readonly #counts: ExpiringMap<number>;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.#counts = new ExpiringMap(now);
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Milliseconds until the window ends; 0 when it has not started. */
  leftMs(key: string): number {
    return this.#counts.leftMs(key);
  }

  /** Adds to the count of a window and returns the new count. */
  increment(key: string, windowMs: number, by = 1): number {
    const count = this.count(key) + by;
    const endsMs = this.#now() + (this.leftMs(key) || windowMs);
    this.#counts.set(key, count, endsMs);
    return count;
  }

  /** Subtracts one; an empty or ended window stays unchanged. */
  decrement(key: string): void {
    const count = this.count(key);
    if (count > 0) this.#counts.set(key, count - 1, this.#now() + this.leftMs(key));
  }
}
