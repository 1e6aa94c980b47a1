import type { Stats } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { MEGABYTE } from '../../names/units.ts';

const MOST_BYTES = 16 * MEGABYTE;
/** The largest cached object. Larger ones are read from the system's page cache as fast as they are copied. */
const LARGEST_BYTES = 128 * 1024;

/** The identity of a file among others under the same path. */
type Mark = Pick<Stats, 'ino' | 'size' | 'mtimeMs'>;

interface Known {
  path: string;
  mark: Mark;
  bytes: Uint8Array;
}

/**
 * A cache of small objects that a process read recently, such as a logo that is laid over every picture. A cached read
 * needs one file operation instead of five, which checks that the file still exists and is the same. The cache has at
 * most 16 MiB and keeps the most recently read objects.
 */
interface LatelyRead {
  /** Caches a copy of the content of a file. */
  keep(key: string, path: string, file: Stats, bytes: Uint8Array): void;
  /** A copy of the bytes; null when they are not cached. */
  find(key: string): Promise<Uint8Array | null>;
  forget(key: string): void;
}

/** @param look returns null when there is no such file. */
export function createLatelyRead(look: (path: string) => Promise<Stats | null>): LatelyRead {
  const known = new LRUCache<string, Known>({
    maxSize: MOST_BYTES,
    maxEntrySize: LARGEST_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  return {
    keep(key, path, { ino, size, mtimeMs }, bytes) {
      if (bytes.length < LARGEST_BYTES)
        known.set(key, { path, mark: { ino, size, mtimeMs }, bytes: new Uint8Array(bytes) });
    },
    async find(key) {
      const found = known.get(key);
      if (found === undefined) return null;
      const file = await look(found.path);
      if (file !== null && isSame(found.mark, file)) return new Uint8Array(found.bytes);
      known.delete(key);
      return null;
    },
    forget: (key) => known.delete(key),
  };
}

function isSame(one: Mark, other: Mark): boolean {
  return one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs;
}
