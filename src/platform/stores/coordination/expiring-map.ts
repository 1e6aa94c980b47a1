/**
 * The number of oldest entries that each `set` checks. With only one, a growing map would never be checked completely.
 */
const SWEPT_PER_SET = 2;

/**
 * A map whose entries expire. It needs no timer: each `set` checks a few old entries and drops the expired ones, so
 * that its memory stays in proportion to the live entries.
 */
export class ExpiringMap<V> {
  readonly #now: () => number;
  readonly #entries = new Map<string, { value: V; endsMs: number }>();

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

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Live entries are moved to the end, so that every entry is checked in turn. */
  #sweep(): void {
    for (const [key, entry] of this.#entries.entries().take(SWEPT_PER_SET).toArray()) {
      this.#entries.delete(key);
      if (entry.endsMs > this.#now()) this.#entries.set(key, entry);
    }
  }
}
