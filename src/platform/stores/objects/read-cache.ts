import type { Stats } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { MEGABYTE_BYTES } from '../../values/units.ts';

const MAX_CACHE_BYTES = 16 * MEGABYTE_BYTES;
/**
 * Larger objects are not cached, because reading them from the operating system's page cache takes no longer than
 * copying them.
 */
const MAX_CACHED_OBJECT_BYTES = 128 * 1024;

/** The facts that distinguish a file from an earlier file at the same path. */
type FileIdentity = Pick<Stats, 'ino' | 'size' | 'mtimeMs'>;

interface CachedObject {
  path: string;
  file: FileIdentity;
  bytes: Uint8Array;
}

/**
 * A cache of small objects that a process read recently, such as a logo that is drawn over every picture. A cached read
 * takes one file operation instead of five: it checks that the file still exists and is the same. The cache has at most
 * 16 MiB and keeps the most recently read objects.
 */
export class ObjectReadCache {
  readonly #stat: (path: string) => Promise<Stats | null>;
  readonly #cached = new LRUCache<string, CachedObject>({
    maxSize: MAX_CACHE_BYTES,
    maxEntrySize: MAX_CACHED_OBJECT_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });

  /** @param stat returns null when there is no such file. */
  constructor(stat: (path: string) => Promise<Stats | null>) {
    this.#stat = stat;
  }

  /** Caches a copy of the content of a file. */
  set(key: string, path: string, { ino, size, mtimeMs }: Stats, bytes: Uint8Array): void {
    if (bytes.length < MAX_CACHED_OBJECT_BYTES)
      this.#cached.set(key, { path, file: { ino, size, mtimeMs }, bytes: new Uint8Array(bytes) });
  }

  /** A copy of the bytes; null when they are not cached. */
  async get(key: string): Promise<Uint8Array | null> {
    const found = this.#cached.get(key);
    if (found === undefined) return null;
    const file = await this.#stat(found.path);
    if (file !== null && isSameFile(found.file, file)) return new Uint8Array(found.bytes);
    this.#cached.delete(key);
    return null;
  }

  delete(key: string): void {
    this.#cached.delete(key);
  }
}

function isSameFile(one: FileIdentity, other: FileIdentity): boolean {
  return one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs;
}
