import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

interface DataDirectory {
  path: string;
  /** Lets another server have it. The death of the process does the same. */
  close(): void;
}

/**
 * Makes the directory and takes it for this process. Throws an Error of one sentence when another process has it, or
 * when it cannot be made or written.
 */
export function openDataDirectory(path: string): DataDirectory {
  const lock = takeLock(path);
  writeFileSync(join(path, 'server.pid'), `${process.pid}\n`);
  closeToOthers(path);
  held.add(lock);
  return {
    path,
    close() {
      held.delete(lock);
      lock.close();
    },
  };
}

/** A lock that nobody refers to ends when the garbage collector finds it. */
const held = new Set<DatabaseSync>();

/**
 * An exclusive lock of SQLite's on a database without tables: the system's own, so that it ends with the process,
 * however that ends. It does not hold between hosts that share the directory over a network.
 */
function takeLock(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    lock = new DatabaseSync(join(path, 'server.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === undefined || (errcode & 0xff) !== SQLITE_BUSY) {
      throw new Error(
        `The data directory ${path} cannot be used: ${message}. Let the user of the service own and write it, or name another one by DATA_DIR.`,
        { cause: error },
      );
    }
    throw new Error(
      `The data directory ${path} is in use by another server (process ${holder(path)}): stop that one, or name another directory by DATA_DIR.`,
    );
  }
}

/**
 * The database holds the key that signs links: files that an earlier version left open to others are theirs no more.
 */
function closeToOthers(path: string): void {
  for (const name of ['documents.sqlite', 'documents.sqlite-wal', 'documents.sqlite-shm']) {
    try {
      chmodSync(join(path, name), 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw new Error(
        `${join(path, name)} cannot be closed to other users: ${(error as Error).message}. Give the file to the user of the service (chown).`,
        { cause: error },
      );
    }
  }
}

function holder(path: string): string {
  try {
    return readFileSync(join(path, 'server.pid'), 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
