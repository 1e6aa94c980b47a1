import { ExpiringMap } from './expiring-map.ts';

/** Counts by key, each in a window that starts at the first count and turns by itself. */
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

  /** Milliseconds until the window turns; 0 when it has not started. */
  leftMs(key: string): number {
    return this.#counts.leftMs(key);
  }

  /** Counts one and answers the count after it. */
  increment(key: string, windowMs: number): number {
    const count = this.count(key);
    const endsMs = this.#now() + (count === 0 ? windowMs : this.leftMs(key));
    this.#counts.set(key, count + 1, endsMs);
    return count + 1;
  }
}
