import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomText } from '../ids/ids.ts';
import { eachLimit } from '../queues/each-limit.ts';
import { StorageFullError } from '../stores/documents/port.ts';
import type { DiskReserve } from '../stores/objects/reserve.ts';
import type { Log } from '../tracing/log.ts';
import { type CachedFacts, packed, unpacked } from './cached-file.ts';

/** The part of the space that is left after an eviction, so that one eviction serves many writes. */
const KEPT_SHARE = 7 / 8;
/** A process looks for files to evict when it has written this part of the space. */
const WRITTEN_SHARE = 1 / 32;
/** The largest part of the space that one file may take. */
const MAX_FILE_SHARE = 1 / 8;
/** How exact the time of the last use is, in milliseconds. */
const USE_RESOLUTION_MS = 60_000;
/** An unfinished file of this age was left by a process that died. */
const UNFINISHED_LIFE_MS = 60_000;
const UNFINISHED = '.part';
const FILES_AT_ONCE = 32;

interface DiskCacheOptions {
  directory: string;
  maxBytes: number;
  /** The space of the disk that the cache leaves free. */
  reserve: DiskReserve;
  now: () => Date;
  log: Log;
}

/** The name of a file: who it is made for, what it is made of, and its own name there. Each is a safe file name. */
export interface CachePlace {
  owner: string;
  group: string;
  name: string;
}

interface FoundFile {
  owner: string;
  path: string;
  bytes: number;
  usedMs: number;
}

/**
 * Files that can be made again, on the disk of this host, within a space. All processes of the host share them, and
 * they survive a restart. When the space is used up, the owner with the most bytes loses what was not used for
 * longest, so that one owner cannot evict the share of the others. Nothing here fails a caller: what cannot be kept is
 * not kept, and what cannot be read is not there.
 *
 * Each process evicts after its own writes, so several of them exceed the space by what they write meanwhile, which the
 * part that an eviction leaves free makes up for.
 */
export class DiskCache {
  readonly #options: DiskCacheOptions;
  /** Written since the last eviction. The first write of a process evicts, because others may have filled the space. */
  #writtenBytes = Number.POSITIVE_INFINITY;
  #evicting: Promise<void> = Promise.resolve();

  constructor(options: DiskCacheOptions) {
    this.#options = options;
  }

  get isOff(): boolean {
    return this.#options.maxBytes === 0;
  }

  /** The file, or null. A damaged one is deleted. */
  async read(place: CachePlace): Promise<{ facts: CachedFacts; bytes: Buffer } | null> {
    if (this.isOff) return null;
    const path = this.#pathOf(place);
    const file = await readFile(path).catch(() => null);
    if (file === null) return null;
    const found = unpacked(file);
    if (found === null) await unlink(path).catch(() => undefined);
    else this.#noteUse(path);
    return found;
  }

  /** Keeps a file; false when it is not kept, because it is too large or the disk is full. */
  async write(place: CachePlace, facts: CachedFacts, bytes: Uint8Array): Promise<boolean> {
    const { directory, maxBytes, reserve } = this.#options;
    const file = packed(facts, bytes);
    if (file.length > maxBytes * MAX_FILE_SHARE) return false;
    const path = this.#pathOf(place);
    const unfinished = `${path}.${randomText(8)}${UNFINISHED}`;
    try {
      await mkdir(directory, { recursive: true });
      await reserve.check();
      await mkdir(dirname(path), { recursive: true });
      await writeFile(unfinished, file);
      await rename(unfinished, path);
    } catch (error) {
      await unlink(unfinished).catch(() => undefined);
      if (!(error instanceof StorageFullError))
        this.#options.log.warn({ err: error }, 'A file of the cache could not be kept');
      return false;
    }
    reserve.spend(file.length);
    this.#writtenBytes += file.length;
    if (this.#writtenBytes > maxBytes * WRITTEN_SHARE) this.#evict();
    return true;
  }

  /** Deletes all that was made of one thing. */
  async removeGroup({ owner, group }: Omit<CachePlace, 'name'>): Promise<void> {
    await rm(join(this.#options.directory, owner, group), { recursive: true, force: true }).catch(
      () => undefined,
    );
  }

  /** Resolves when no eviction runs any more. */
  async settled(): Promise<void> {
    await this.#evicting;
  }

  #pathOf({ owner, group, name }: CachePlace): string {
    return join(this.#options.directory, owner, group, name);
  }

  /** The time of a file is that of its last use. */
  #noteUse(path: string): void {
    const now = this.#options.now();
    stat(path)
      .then(({ mtimeMs }) =>
        now.getTime() - mtimeMs > USE_RESOLUTION_MS ? utimes(path, now, now) : undefined,
      )
      .catch(() => undefined);
  }

  #evict(): void {
    this.#writtenBytes = 0;
    this.#evicting = this.#evicting
      .then(() => this.#evictNow())
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'The cache could not be brought down to its space'),
      );
  }

  async #evictNow(): Promise<void> {
    const files = await this.#findFiles();
    const doomed = filesToEvict(files, this.#options.maxBytes * KEPT_SHARE);
    await eachLimit(doomed, FILES_AT_ONCE, async ({ path }) => {
      await unlink(path).catch(() => undefined);
      // This fails while the folder has another file.
      await rmdir(dirname(path)).catch(() => undefined);
    });
  }

  async #findFiles(): Promise<FoundFile[]> {
    const { directory, now } = this.#options;
    const names = await readdir(directory, { recursive: true });
    const files: FoundFile[] = [];
    await eachLimit(names, FILES_AT_ONCE, async (name) => {
      const path = join(directory, name);
      const found = await stat(path).catch(() => null);
      if (!found?.isFile()) return;
      const isLeft = name.endsWith(UNFINISHED) && now().getTime() - found.mtimeMs > UNFINISHED_LIFE_MS;
      if (isLeft) await unlink(path).catch(() => undefined);
      else files.push({ owner: name.split('/')[0] ?? '', path, bytes: found.size, usedMs: found.mtimeMs });
    });
    return files;
  }
}

/**
 * The files to delete, so that the others take at most `keptBytes`: of the owner with the most bytes the one that was
 * used least recently, again and again.
 */
export function filesToEvict(files: readonly FoundFile[], keptBytes: number): FoundFile[] {
  const owners = [...Map.groupBy(files, ({ owner }) => owner).values()].map((owned) => ({
    bytes: owned.reduce((sum, { bytes }) => sum + bytes, 0),
    // The least recently used is last, where it is cheap to take.
    files: owned.toSorted((one, other) => other.usedMs - one.usedMs),
  }));
  let total = owners.reduce((sum, { bytes }) => sum + bytes, 0);
  const evicted: FoundFile[] = [];
  while (total > keptBytes) {
    const largest = owners.reduce((most, owner) => (owner.bytes > most.bytes ? owner : most));
    const file = largest.files.pop();
    if (file === undefined) break;
    largest.bytes -= file.bytes;
    total -= file.bytes;
    evicted.push(file);
  }
  return evicted;
}
