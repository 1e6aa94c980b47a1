import { hash, randomUUID } from 'node:crypto';
import { constants, type Dir, type Stats } from 'node:fs';
import { access, type FileHandle, mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { makeFolder } from '../../folders.ts';
import { DAY_MS } from '../../values/units.ts';
import { StorageFullError, StoreUnavailableError } from '../documents/port.ts';
import {
  assertObjectKey,
  assertWithinReadLimit,
  type ByteRange,
  clipByteRange,
  type ListedObject,
  type ObjectStore,
  type StoredObject,
} from './port.ts';
import { ObjectReadCache } from './read-cache.ts';
import { DiskReserve, readDiskSpace } from './reserve.ts';

/**
 * The most bytes of the header of a file. The header is one byte with the length of the content type, and the content
 * type; the content of the object follows.
 */
const MAX_OBJECT_HEADER_BYTES = 256;

/** An object whose file is open for reading. */
interface OpenObject {
  handle: FileHandle;
  path: string;
  stats: Stats;
  contentType: string;
  headerBytes: number;
  /** The size of the content, without the header. */
  sizeBytes: number;
}

/**
 * Stores objects as files in one directory, which several processes of a host may use at once. A file contains its
 * content type; it is written under a temporary name, synced and renamed, so that an object exists completely or not at
 * all.
 */
export class FileObjectStore implements ObjectStore {
  readonly #root: string;
  readonly #temporaryFiles: string;
  readonly #reserve: DiskReserve;
  readonly #cache = new ObjectReadCache((path) => withStoreErrors(statOrNull(path)));
  #prepared: Promise<void> | null = null;

  /**
   * @param directory is created when it is first needed.
   * @param reserveBytes the space to keep free on the disk; puts that would use this space are refused.
   */
  constructor(directory: string, reserveBytes = 0) {
    this.#root = resolve(directory);
    this.#temporaryFiles = join(this.#root, TEMPORARY_FOLDER);
    this.#reserve = new DiskReserve(reserveBytes, () => readDiskSpace(this.#root));
  }

  async put(
    key: string,
    body: Uint8Array | Readable,
    contentType: string,
    recorded?: Promise<unknown>,
  ): Promise<{ sizeBytes: number }> {
    const path = objectPathOf(this.#root, key);
    const temporary = join(this.#temporaryFiles, randomUUID());
    // The promise may reject before it is awaited. Without a handler, that would end the process.
    recorded?.catch(() => undefined);
    try {
      await this.checkFreeSpace();
      const sizeBytes = await writeObjectFile(temporary, body, contentType);
      this.#reserve.spend(sizeBytes);
      await recorded;
      await withStoreErrors(renameDurably(temporary, path));
      return { sizeBytes };
    } catch (error) {
      if (body instanceof Readable) body.destroy();
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  async get(key: string, range?: ByteRange): Promise<StoredObject | null> {
    const object = await this.#open(key);
    if (object === null) return null;
    const { handle, contentType, headerBytes, sizeBytes } = object;
    try {
      const { start, end } = clipByteRange(range, sizeBytes);
      const body =
        end < start
          ? await handle.close().then(() => Readable.from([]))
          : handle.createReadStream({ start: headerBytes + start, end: headerBytes + end });
      return { body, sizeBytes, contentType };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async read(key: string, limitBytes: number): Promise<Uint8Array | null> {
    const cached = await this.#cache.get(key);
    if (cached !== null) {
      assertWithinReadLimit(limitBytes, cached.length);
      return cached;
    }
    const object = await this.#open(key);
    if (object === null) return null;
    await using handle = object.handle;
    const { path, stats, headerBytes, sizeBytes } = object;
    assertWithinReadLimit(limitBytes, sizeBytes);
    // The buffer is not cleared, because it is either filled completely or dropped.
    const bytes = Buffer.allocUnsafeSlow(sizeBytes);
    await withStoreErrors(readFully(handle, bytes, headerBytes));
    this.#cache.set(key, path, stats, bytes);
    return bytes;
  }

  async delete(key: string): Promise<void> {
    this.#cache.delete(key);
    await withStoreErrors(rm(objectPathOf(this.#root, key), { force: true }));
  }

  async listOlder(prefix: string, beforeMs: number, limit: number): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key, path } of objectsUnder(this.#root, prefix)) {
      if (keys.length >= limit) break;
      const stats = await statOrNull(path);
      if (stats !== null && stats.mtimeMs < beforeMs) keys.push(key);
    }
    return keys;
  }

  async list(prefix: string): Promise<ListedObject[]> {
    const listed: ListedObject[] = [];
    for await (const { key, path } of objectsUnder(this.#root, prefix)) {
      const stats = await statOrNull(path);
      if (stats !== null) listed.push({ key, bytes: stats.size, storedMs: stats.mtimeMs });
    }
    return listed;
  }

  async checkFreeSpace(): Promise<void> {
    await this.#prepare();
    await this.#reserve.check();
  }

  async ping(): Promise<void> {
    await this.#prepare();
    await withStoreErrors(access(this.#temporaryFiles, constants.W_OK));
  }

  async close(): Promise<void> {}

  #prepare(): Promise<void> {
    this.#prepared ??= withStoreErrors(prepareTemporaryFolder(this.#temporaryFiles)).catch((error) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** Opens an object and reads its header; null when there is none. */
  async #open(key: string): Promise<OpenObject | null> {
    const path = objectPathOf(this.#root, key);
    const handle = await withStoreErrors(openOrNull(path));
    if (handle === null) return null;
    try {
      const stats = await handle.stat();
      const header = Buffer.alloc(Math.min(MAX_OBJECT_HEADER_BYTES, stats.size));
      await readFully(handle, header, 0);
      const headerBytes = 1 + header.readUInt8(0);
      const contentType = header.toString('latin1', 1, headerBytes);
      return { handle, path, stats, contentType, headerBytes, sizeBytes: stats.size - headerBytes };
    } catch (error) {
      await handle.close();
      throw storeErrorOf(error);
    }
  }
}

/** Writes and syncs a new file. Errors of the file become store errors; an error of the body is thrown unchanged. */
async function writeObjectFile(
  path: string,
  body: Uint8Array | Readable,
  contentType: string,
): Promise<number> {
  const type = Buffer.from(contentType, 'latin1');
  const header = Buffer.concat([Buffer.of(type.length), type]);
  if (header.length > MAX_OBJECT_HEADER_BYTES) throw new TypeError('The content type is too long.');
  await using handle = await withStoreErrors(open(path, 'wx'));
  await withStoreErrors(handle.writeFile(header));
  let sizeBytes = 0;
  for await (const chunk of body instanceof Readable ? body : [body]) {
    await withStoreErrors(handle.writeFile(chunk));
    sizeBytes += chunk.length;
  }
  await withStoreErrors(handle.sync());
  return sizeBytes;
}

/** Creates the directory, and removes temporary files of dead processes, which are older than a day. */
async function prepareTemporaryFolder(directory: string): Promise<void> {
  makeFolder(directory);
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const stats = await statOrNull(path);
    if (stats !== null && stats.mtimeMs < Date.now() - DAY_MS) await rm(path, { force: true });
  }
}

function openOrNull(path: string): Promise<FileHandle | null> {
  return open(path, 'r').catch(nullWhenMissing);
}

function statOrNull(path: string): Promise<Stats | null> {
  return stat(path).catch(nullWhenMissing);
}

function nullWhenMissing(error: unknown): null {
  if (isFileMissingError(error)) return null;
  throw error;
}

/** The error codes of a full disk or quota. */
const FULL_DISK_CODES = new Set(['ENOSPC', 'EDQUOT']);

/** Runs work, and maps errors of the file system to those of the store. */
function withStoreErrors<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw storeErrorOf(error);
  });
}

/**
 * Maps an error of the file system to one of the store. A TypeError or a RangeError is a bug in this program, and is
 * returned unchanged.
 */
function storeErrorOf(cause: unknown): unknown {
  if (cause instanceof TypeError || cause instanceof RangeError) return cause;
  if (FULL_DISK_CODES.has((cause as NodeJS.ErrnoException).code ?? ''))
    return new StorageFullError('The disk of the objects is full.', { cause });
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new StoreUnavailableError(`An operation of the object directory failed${reason}.`, { cause });
}

/** Renames a synced file. When it resolves, the name and all directories above it are on disk. */
async function renameDurably(from: string, to: string): Promise<void> {
  const directory = dirname(to);
  let firstMade: string | undefined;
  try {
    await rename(from, to);
  } catch (error) {
    // The directory exists in most cases, and a check for each file would take another access to the disk.
    if (!isFileMissingError(error)) throw error;
    firstMade = await mkdir(directory, { recursive: true });
    await rename(from, to);
  }
  await syncDirectories(directory, firstMade === undefined ? directory : dirname(firstMade));
}

/** Syncs directories from the innermost up to `outermost`, because a directory holds the names in it. */
async function syncDirectories(innermost: string, outermost: string): Promise<void> {
  for (let directory = innermost; ; directory = dirname(directory)) {
    await using handle = await open(directory, 'r');
    await handle.sync();
    if (directory === outermost) return;
  }
}

/** Fills `bytes` from a position of the file. Throws when the file is shorter. */
async function readFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, position + filled);
    if (bytesRead === 0) throw new Error('The file is shorter than it was.');
    filled += bytesRead;
  }
}

/**
 * Matches the directories over which objects are spread: `a/b/name` is the file `a/b/~3f/name`, with two hex digits of
 * the name's hash, so that no directory grows too large to be listed. Keys contain no `~`, so these names never collide
 * with keys.
 */
const FAN_OUT_DIRECTORY_PATTERN = /^~[0-9a-f]{2}$/;

/** The directory of files that are being written. */
export const TEMPORARY_FOLDER = '~tmp';

function objectPathOf(root: string, key: string): string {
  assertObjectKey(key);
  const segments = key.split('/');
  const name = segments.pop() ?? '';
  const fanOutDirectory = `~${hash('sha256', name).slice(0, 2)}`;
  return join(root, ...segments, fanOutDirectory, name);
}

/**
 * The objects whose keys begin with `prefix`, in no order; directories are read as the caller iterates.
 * @param parent the prefix of the keys in the directory; empty in the root.
 */
async function* objectsUnder(
  directory: string,
  prefix: string,
  parent = '',
): AsyncGenerator<{ key: string; path: string }> {
  for await (const entry of await openDirectoryOrNone(directory)) {
    const path = join(directory, entry.name);
    if (FAN_OUT_DIRECTORY_PATTERN.test(entry.name)) {
      for await (const file of await openDirectoryOrNone(path)) {
        const key = parent + file.name;
        if (key.startsWith(prefix)) yield { key, path: join(path, file.name) };
      }
    } else if (entry.name !== TEMPORARY_FOLDER) {
      const below = `${parent}${entry.name}/`;
      if (below.startsWith(prefix) || prefix.startsWith(below)) yield* objectsUnder(path, prefix, below);
    }
  }
}

async function openDirectoryOrNone(directory: string): Promise<Dir | []> {
  try {
    return await opendir(directory);
  } catch (error) {
    if (isFileMissingError(error)) return [];
    throw error;
  }
}

export function isFileMissingError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
