import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { forEachWithLimit } from '../queues.ts';
import { StorageFullError } from '../stores/documents/port.ts';
import type { EventLog } from '../tracing/tracing.ts';
import type { FileStorage, ListedFile } from './storage.ts';

/** The share of the space that an eviction leaves in use. The rest is then free for new files. */
const SHARE_AFTER_EVICTION = 7 / 8;
/** A process starts an eviction when it has written this share of the space. */
const SHARE_WRITTEN_BETWEEN_EVICTIONS = 1 / 32;
/** The largest share of the space that one file may take. */
const MAX_FILE_SHARE = 1 / 8;
/** The number of files whose last use a process remembers, so that it records each use only once in a while. */
const MAX_REMEMBERED_USES = 50_000;
/** The longest age of the figures of a cache. After it, the files are listed again. */
const MAX_FIGURES_AGE_MS = 300_000;
const MAX_CONCURRENT_REMOVALS = 32;

interface FileCacheOptions {
  storage: FileStorage;
  maxBytes: number;
  log: EventLog;
}

/** The number and size of the files in a cache. */
export interface FileCacheFigures {
  files: number;
  bytes: number;
  /** The oldest last use of any file in epoch milliseconds; null if there is no file. */
  oldestUseMs: number | null;
}

/**
 * A cache of files that can be made again, within a space of `maxBytes`. The path of a file is
 * `<owner>/<group>/<name>`: the account for which it is made, its source, and its name within that group. Each of the
 * three is safe as a file name. All processes with the same storage share the files, which survive a restart. When the
 * space is used up, the least recently used files of the owner with the most bytes are evicted, so that one owner
 * cannot evict the files of the others. No failure reaches a caller: a file that cannot be written is not cached, and a
 * file that cannot be read counts as missing.
 *
 * Each process evicts after its own writes. Several processes together may exceed the space by what they write
 * meanwhile; an eviction leaves enough space free for that.
 */
export class FileCache {
  readonly #options: FileCacheOptions;
  /**
   * Bytes written since the last eviction. The first write of a process evicts, because others may have filled the
   * space.
   */
  #writtenBytes = Number.POSITIVE_INFINITY;
  #evicting: Promise<void> = Promise.resolve();
  readonly #pendingWrites = new Set<Promise<boolean>>();
  readonly #recentlyUsed: LRUCache<string, true>;
  #figures: FileCacheFigures = { files: 0, bytes: 0, oldestUseMs: null };
  #listedMs = Number.NEGATIVE_INFINITY;
  #evicted = 0;

  constructor(options: FileCacheOptions) {
    this.#options = options;
    this.#recentlyUsed = new LRUCache({ max: MAX_REMEMBERED_USES, ttl: options.storage.useResolutionMs });
  }

  get isOff(): boolean {
    return this.#options.maxBytes === 0;
  }

  get kind(): FileStorage['kind'] {
    return this.#options.storage.kind;
  }

  /** The number of files that this process has evicted. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Reads a file; null if there is none. A damaged file is deleted. */
  async read(path: string): Promise<{ facts: CachedFileFacts; bytes: Buffer } | null> {
    if (this.isOff) return null;
    const file = await this.#options.storage.read(path);
    if (file === null) return null;
    const found = unpackFile(file);
    if (found === null) await this.remove(path);
    else this.#recordUse(path, file);
    return found;
  }

  /** Writes a file. Returns false if the file is not cached, because it is too large or there is no space for it. */
  async write(path: string, facts: CachedFileFacts, bytes: Uint8Array): Promise<boolean> {
    const write = this.#write(path, packFile(facts, bytes));
    this.#pendingWrites.add(write);
    try {
      return await write;
    } finally {
      this.#pendingWrites.delete(write);
    }
  }

  /** Removes a file. If that fails, the file is evicted later, because files that nobody requests are evicted first. */
  async remove(path: string): Promise<void> {
    await this.#options.storage.remove(path).catch(() => undefined);
  }

  /**
   * Removes all files of an owner, or of one of its groups.
   * @param folder `<owner>` or `<owner>/<group>`.
   * @param prefix the beginning of the file names.
   */
  async removeAll(folder: string, prefix = ''): Promise<void> {
    const files = await this.#options.storage.list(folder).catch(() => []);
    const doomed = files.filter(({ path }) => path.slice(path.lastIndexOf('/') + 1).startsWith(prefix));
    await forEachWithLimit(doomed, MAX_CONCURRENT_REMOVALS, ({ path }) => this.remove(path));
  }

  /** The paths of all cached files, as the storage lists them now. */
  async paths(): Promise<string[]> {
    return (await this.#options.storage.list('')).map(({ path }) => path);
  }

  /**
   * The number and size of the files, according to the last listing and the writes since then. If listing fails, the
   * last figures stay.
   */
  async readFigures(): Promise<FileCacheFigures> {
    if (!this.isOff && Date.now() - this.#listedMs > MAX_FIGURES_AGE_MS) {
      const files = await this.#options.storage.list('').catch(() => null);
      if (files !== null) this.#setFigures(files);
    }
    return this.#figures;
  }

  /** Resolves when no write and no eviction is running. */
  async whenSettled(): Promise<void> {
    await Promise.all(this.#pendingWrites);
    await this.#evicting;
  }

  async #write(path: string, file: Buffer): Promise<boolean> {
    const { storage, maxBytes, log } = this.#options;
    if (file.length > maxBytes * MAX_FILE_SHARE) return false;
    try {
      await storage.write(path, file);
    } catch (error) {
      if (!(error instanceof StorageFullError))
        log.warn({ err: error }, 'A file of the cache could not be kept');
      return false;
    }
    this.#recentlyUsed.set(path, true);
    const { files, bytes: before, oldestUseMs } = this.#figures;
    this.#figures = { files: files + 1, bytes: before + file.length, oldestUseMs: oldestUseMs ?? Date.now() };
    this.#writtenBytes += file.length;
    if (this.#writtenBytes > maxBytes * SHARE_WRITTEN_BETWEEN_EVICTIONS) this.#evict();
    return true;
  }

  #recordUse(path: string, file: Buffer): void {
    if (this.#recentlyUsed.has(path)) return;
    this.#recentlyUsed.set(path, true);
    this.#options.storage.touch(path, file).catch(() => undefined);
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
    const files = await this.#options.storage.list('');
    const doomed = new Set(filesToEvict(files, this.#options.maxBytes * SHARE_AFTER_EVICTION));
    this.#setFigures(files.filter((file) => !doomed.has(file)));
    await forEachWithLimit([...doomed], MAX_CONCURRENT_REMOVALS, ({ path }) => this.remove(path));
    this.#evicted += doomed.size;
  }

  #setFigures(files: readonly ListedFile[]): void {
    this.#listedMs = Date.now();
    const oldestUseMs = files.reduce(
      (least, { usedMs }) => Math.min(least, usedMs),
      Number.POSITIVE_INFINITY,
    );
    this.#figures = {
      files: files.length,
      bytes: totalBytesOf(files),
      oldestUseMs: files.length === 0 ? null : oldestUseMs,
    };
  }
}

/** The facts that are stored with the bytes of a cached file, as JSON. */
type CachedFileFacts = Readonly<Record<string, unknown>>;

const CHECKSUM_BYTES = 4;
const LENGTH_FIELD_BYTES = 4;

/**
 * Packs a file of the cache: the CRC-32 of everything after it, the length of the facts, the facts as JSON, the bytes.
 * The checksum detects damage by the disk. A cryptographic one would take more CPU than the rest of a response.
 */
export function packFile(facts: CachedFileFacts, bytes: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(facts));
  const head = Buffer.alloc(CHECKSUM_BYTES + LENGTH_FIELD_BYTES);
  head.writeUInt32BE(text.length, CHECKSUM_BYTES);
  const file = Buffer.concat([head, text, bytes]);
  file.writeUInt32BE(crc32(file.subarray(CHECKSUM_BYTES)));
  return file;
}

/** Unpacks a file of the cache; null if it is damaged, for example cut off by a power failure. */
function unpackFile(file: Buffer): { facts: CachedFileFacts; bytes: Buffer } | null {
  if (file.length < CHECKSUM_BYTES + LENGTH_FIELD_BYTES) return null;
  const content = file.subarray(CHECKSUM_BYTES);
  if (crc32(content) !== file.readUInt32BE()) return null;
  const end = LENGTH_FIELD_BYTES + content.readUInt32BE();
  const facts = JSON.parse(content.subarray(LENGTH_FIELD_BYTES, end).toString()) as CachedFileFacts;
  return { facts, bytes: content.subarray(end) };
}

/**
 * The files to delete, so that the others take at most `keptBytes`. It repeatedly picks the least recently used file of
 * the owner with the most bytes.
 */
export function filesToEvict(files: readonly ListedFile[], keptBytes: number): ListedFile[] {
  const owners = [...Map.groupBy(files, ownerOf).values()].map((owned) => ({
    bytes: totalBytesOf(owned),
    // The least recently used file is last, where it is cheap to remove.
    files: owned.toSorted((one, other) => other.usedMs - one.usedMs),
  }));
  let total = totalBytesOf(files);
  const evicted: ListedFile[] = [];
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

function totalBytesOf(files: readonly ListedFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function ownerOf({ path }: ListedFile): string {
  return path.slice(0, path.indexOf('/'));
}
