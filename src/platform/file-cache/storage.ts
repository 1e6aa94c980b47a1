import { closeSync, fstatSync, open as openFile, read as readFile } from 'node:fs';
import { mkdir, readdir, rename, rmdir, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { randomText } from '../ids/ids.ts';
import { forEachWithLimit } from '../queues.ts';
import { isFileMissingError } from '../stores/objects/files.ts';
import type { ObjectStore } from '../stores/objects/port.ts';
import type { DiskReserve } from '../stores/objects/reserve.ts';
import { HOUR_MS, MINUTE_MS } from '../values/units.ts';

/** A file as a storage lists it. */
export interface ListedFile {
  /** `<owner>/<group>/<name>` */
  path: string;
  bytes: number;
  /** The epoch milliseconds of the last use of the file. */
  usedMs: number;
}

/** The place where the files of a cache are stored. Each part of a path is safe as a file name. */
export interface FileStorage {
  /** The kind of the storage, as a label of metrics. */
  readonly kind: 'disk' | 'bucket';
  /**
   * The resolution of the times of last use, in milliseconds. The use of a file is recorded at most once in this time.
   */
  readonly useResolutionMs: number;
  /** Reads a file. Null when there is no such file, or it cannot be read. */
  read(path: string): Promise<Buffer | null>;
  /**
   * Writes a file completely or not at all.
   * @throws StorageFullError if its space is reserved for others.
   */
  write(path: string, file: Buffer): Promise<void>;
  /** Removes a file, if there is one. */
  remove(path: string): Promise<void>;
  /** Records that a file, which was just read, is in use. */
  touch(path: string, file: Buffer): Promise<void>;
  /**
   * Lists files.
   * @param folder `<owner>`, `<owner>/<group>`, or an empty text for every file.
   */
  list(folder: string): Promise<ListedFile[]>;
}

/** The age from which an unfinished file counts as abandoned, because its process must have died. */
const MIN_ABANDONED_FILE_AGE_MS = 60_000;
const UNFINISHED_SUFFIX = '.part';
const MAX_CONCURRENT_FILE_STATS = 32;

const open = promisify(openFile);
const read = promisify(readFile);

/**
 * Files in a directory of this host, which its processes share. The modification time of a file is the time of its last
 * use.
 */
export class DiskStorage implements FileStorage {
  readonly kind = 'disk';
  readonly useResolutionMs = MINUTE_MS;
  readonly #directory: string;
  readonly #reserve: DiskReserve;

  /** @param reserve the disk space that must stay free. */
  constructor(directory: string, reserve: DiskReserve) {
    this.#directory = directory;
    this.#reserve = reserve;
  }

  read(path: string): Promise<Buffer | null> {
    return readWholeFile(join(this.#directory, path)).catch(() => null);
  }

  async write(path: string, file: Buffer): Promise<void> {
    const finished = join(this.#directory, path);
    try {
      await this.#writeWholeFile(finished, file);
    } catch (error) {
      // The folder is created only if it is missing. In most cases it exists, and creating it each time would take two
      // more operations of the thread pool.
      if (!isFileMissingError(error)) throw error;
      await mkdir(dirname(finished), { recursive: true });
      await this.#writeWholeFile(finished, file);
    }
    this.#reserve.spend(file.length);
  }

  async remove(path: string): Promise<void> {
    const file = join(this.#directory, path);
    await unlink(file).catch(() => undefined);
    // The removal fails if the folder still contains another file.
    await rmdir(dirname(file)).catch(() => undefined);
  }

  async touch(path: string): Promise<void> {
    const now = new Date();
    await utimes(join(this.#directory, path), now, now);
  }

  async list(folder: string): Promise<ListedFile[]> {
    const names = await readdir(join(this.#directory, folder), { recursive: true }).catch(() => []);
    const files: ListedFile[] = [];
    await forEachWithLimit(names, MAX_CONCURRENT_FILE_STATS, async (name) => {
      const path = join(folder, name);
      const found = await stat(join(this.#directory, path)).catch(() => null);
      if (!found?.isFile()) return;
      const { size: bytes, mtimeMs: usedMs } = found;
      if (!name.endsWith(UNFINISHED_SUFFIX)) files.push({ path, bytes, usedMs });
      else if (Date.now() - usedMs > MIN_ABANDONED_FILE_AGE_MS) await this.remove(path);
    });
    return files;
  }

  /**
   * Writes a file under a temporary name and then renames it, so that it is whole whenever it is read.
   * @throws ENOENT if the folder of the file does not exist.
   */
  async #writeWholeFile(finished: string, file: Buffer): Promise<void> {
    const unfinished = `${finished}.${randomText(8)}${UNFINISHED_SUFFIX}`;
    await this.#reserve.check();
    try {
      await writeFile(unfinished, file);
      await rename(unfinished, finished);
    } catch (error) {
      await unlink(unfinished).catch(() => undefined);
      throw error;
    }
  }
}

/**
 * Reads a file in two thread pool operations, whereas fs.readFile takes four. The size and the closing of an open file
 * do not wait for the disk, so they are synchronous. Null if the file has become shorter since it was opened.
 */
async function readWholeFile(path: string): Promise<Buffer | null> {
  const file = await open(path, 'r');
  try {
    const { size } = fstatSync(file);
    const { bytesRead, buffer } = await read(file, Buffer.allocUnsafeSlow(size), 0, size, 0);
    return bytesRead === size ? buffer : null;
  } finally {
    closeSync(file);
  }
}

/** Recording a use writes the object again, so it is done at most four times a day. */
const BUCKET_USE_RESOLUTION_MS = 6 * HOUR_MS;
const CACHE_FILE_MEDIA_TYPE = 'application/octet-stream';

interface BucketStorageOptions {
  objects: ObjectStore;
  /** The prefix of all keys; it ends with a slash. */
  prefix: string;
  maxFileBytes: number;
}

/**
 * Files in the object store, which all hosts share. Each recorded use stores the object again, so its storage time is
 * the time of its last use.
 */
export class BucketStorage implements FileStorage {
  readonly kind = 'bucket';
  readonly useResolutionMs = BUCKET_USE_RESOLUTION_MS;
  readonly #options: BucketStorageOptions;

  constructor(options: BucketStorageOptions) {
    this.#options = options;
  }

  async read(path: string): Promise<Buffer | null> {
    const { objects, maxFileBytes } = this.#options;
    const bytes = await objects.read(this.#keyOf(path), maxFileBytes).catch(() => null);
    return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async write(path: string, file: Buffer): Promise<void> {
    await this.#options.objects.put(this.#keyOf(path), file, CACHE_FILE_MEDIA_TYPE);
  }

  remove(path: string): Promise<void> {
    return this.#options.objects.delete(this.#keyOf(path));
  }

  touch(path: string, file: Buffer): Promise<void> {
    return this.write(path, file);
  }

  async list(folder: string): Promise<ListedFile[]> {
    const { objects, prefix } = this.#options;
    const listed = await objects.list(folder === '' ? prefix : `${prefix}${folder}/`);
    return listed.map(({ key, bytes, storedMs }) => ({
      path: key.slice(prefix.length),
      bytes,
      usedMs: storedMs,
    }));
  }

  #keyOf(path: string): string {
    return `${this.#options.prefix}${path}`;
  }
}
