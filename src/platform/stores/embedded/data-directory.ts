import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

function holder(path: string): string {
  try {
    return readFileSync(join(path, 'server.pid'), 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
