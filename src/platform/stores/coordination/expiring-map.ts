/** How many of the oldest entries each `set` looks at. More than one, or a growing map would never be gone through. */
const SWEPT_PER_SET = 2;

interface Entry<V> {
  value: V;
  endsMs: number;
}

/**
 * A map whose entries end by themselves. It needs no timer: each `set` looks at a few old entries and drops those
 * that ended, so memory stays in proportion to what was alive within the last round.
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Entries held, with those that ended and were not dropped yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.endsMs > this.#now() ? entry.value : undefined;
  }

  /** Milliseconds that an entry has left; 0 when there is none. */
  leftMs(key: string): number {
    return Math.max((this.#entries.get(key)?.endsMs ?? 0) - this.#now(), 0);
  }

  set(key: string, value: V, endsMs: number): void {
    this.#sweep();
    this.#entries.set(key, { value, endsMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Entries that live go to the back, so that every one comes to the front in its turn. */
  #sweep(): void {
    const front = this.#entries.entries().take(SWEPT_PER_SET).toArray();
    for (const [key, entry] of front) {
      this.#entries.delete(key);
      if (entry.endsMs > this.#now()) this.#entries.set(key, entry);
    }
  }
}
