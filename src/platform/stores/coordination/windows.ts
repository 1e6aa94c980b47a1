import { ExpiringMap } from './expiring-map.ts';

/** Counts by key, each in a window that starts with the first count and ends by itself. */
export class Windows {
  readonly #now: () => number;
  readonly #counts: ExpiringMap<number>;

  constructor(now: () => number) {
    this.#now = now;
    this.#counts = new ExpiringMap<number>(now);
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
    const increased = this.count(key) + by;
    this.#counts.set(key, increased, this.#now() + (this.#counts.leftMs(key) || windowMs));
    return increased;
  }

  /** Subtracts one; an empty or ended window stays unchanged. */
  decrement(key: string): void {
    if (this.count(key) > 0)
      this.#counts.set(key, this.count(key) - 1, this.#now() + this.#counts.leftMs(key));
  }
}
