import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

interface DataDirectory {
  path: string;
  /** Releases the directory for another server. The end of the process does the same. */
  close(): void;
}

/**
 * Creates the directory and locks it for this process. Throws an Error with one sentence when another process has
 * locked it, or when it cannot be created or written.
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

/** The locks, referenced here because the garbage collector would release them otherwise. */
const held = new Set<DatabaseSync>();

/**
 * An exclusive lock of SQLite on an empty database. It is a lock of the operating system and ends with the process in
 * any case. It does not work between hosts that share the directory over a network.
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
 * Makes files private that an earlier version left readable to other users, because the database contains the key that
 * signs links.
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
