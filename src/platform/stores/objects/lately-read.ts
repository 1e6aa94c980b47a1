import type { Stats } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { MEGABYTE } from '../../names/units.ts';

const MOST_BYTES = 16 * MEGABYTE;
/** The largest object that is kept: larger ones are read as fast from the system's own cache as they are copied. */
const LARGEST_BYTES = 128 * 1024;

/** The identity of a file among others under the same path. */
type Mark = Pick<Stats, 'ino' | 'size' | 'mtimeMs'>;

interface Known {
  path: string;
  mark: Mark;
  bytes: Uint8Array;
}

/**
 * Small objects that a process read lately, such as the logo that is laid over every picture. To read one again takes
 * one look at its file, which says whether it is still there and the same, in place of five ways to the file system. At
 * most 16 MiB are kept, of the objects that were read last.
 */
export class LatelyRead {
  readonly #known = new LRUCache<string, Known>({
    maxSize: MOST_BYTES,
    maxEntrySize: LARGEST_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  readonly #look: (path: string) => Promise<Stats | null>;

  /** @param look answers null when there is no such file. */
  constructor(look: (path: string) => Promise<Stats | null>) {
    this.#look = look;
  }

  /** Keeps a copy of what was read from a file. */
  keep(key: string, path: string, { ino, size, mtimeMs }: Stats, bytes: Uint8Array): void {
    if (bytes.length < LARGEST_BYTES)
      this.#known.set(key, { path, mark: { ino, size, mtimeMs }, bytes: new Uint8Array(bytes) });
  }

  /** The bytes, as a copy that is the caller's own; null when they have to be read. */
  async find(key: string): Promise<Uint8Array | null> {
    const known = this.#known.get(key);
    if (known === undefined) return null;
    const file = await this.#look(known.path);
    if (file !== null && isSame(known.mark, file)) return new Uint8Array(known.bytes);
    this.#known.delete(key);
    return null;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

function isSame(one: Mark, other: Mark): boolean {
  return one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs;
}
