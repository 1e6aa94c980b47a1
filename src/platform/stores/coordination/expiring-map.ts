/**
 * The number of oldest entries that each `set` checks. With only one, a growing map would never be checked completely.
 */
const SWEPT_PER_SET = 2;

/**
 * A map whose entries expire. It needs no timer: each `set` checks a few old entries and drops the expired ones, so
 * that its memory stays in proportion to the live entries.
 */
export interface ExpiringMap<V> {
  /** The number of entries, including expired ones that are not dropped yet. */
  readonly size: number;
  get(key: string): V | undefined;
  /** The remaining lifetime of an entry in milliseconds; 0 when there is none. */
  leftMs(key: string): number;
  set(key: string, value: V, endsMs: number): void;
  delete(key: string): void;
  keys(): Iterable<string>;
}

export function createExpiringMap<V>(now: () => number): ExpiringMap<V> {
  const entries = new Map<string, { value: V; endsMs: number }>();

  /** Live entries are moved to the end, so that every entry is checked in turn. */
  function sweep(): void {
    for (const [key, entry] of entries.entries().take(SWEPT_PER_SET).toArray()) {
      entries.delete(key);
      if (entry.endsMs > now()) entries.set(key, entry);
    }
  }

  return {
    get size() {
      return entries.size;
    },
    get(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.endsMs > now() ? entry.value : undefined;
    },
    leftMs: (key) => Math.max((entries.get(key)?.endsMs ?? 0) - now(), 0),
    set(key, value, endsMs) {
      sweep();
      entries.set(key, { value, endsMs });
    },
    delete: (key) => entries.delete(key),
    keys: () => entries.keys(),
  };
}
