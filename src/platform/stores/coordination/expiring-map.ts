/**
 * The number of oldest entries that each `set` checks. With only one, a growing map would never be checked completely.
 */
const SWEPT_PER_SET = 2;

interface Entry<V> {
  value: V;
  endsMs: number;
}

/**
 * A map whose entries expire. It needs no timer: each `set` checks a few old entries and drops the expired ones, so
 * that its memory stays in proportion to the live entries.
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The number of entries, including expired ones that are not dropped yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.endsMs > this.#now() ? entry.value : undefined;
  }

  /** The remaining lifetime of an entry in milliseconds; 0 when there is none. */
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

  /** Live entries are moved to the end, so that every entry is checked in turn. */
  #sweep(): void {
    const front = this.#entries.entries().take(SWEPT_PER_SET).toArray();
    for (const [key, entry] of front) {
      this.#entries.delete(key);
      if (entry.endsMs > this.#now()) this.#entries.set(key, entry);
    }
  }
}
