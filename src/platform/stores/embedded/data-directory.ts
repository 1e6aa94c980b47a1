import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../folders.ts';

const SQLITE_BUSY_CODE = 5;

/** The directory of the embedded stores, locked for this process. */
export class DataDirectory {
  readonly path: string;
  readonly #lock: DatabaseSync;

  /**
   * Creates the directory and locks it.
   * @throws Error with one sentence when another process has locked it, or when it cannot be created or written.
   */
  constructor(path: string) {
    this.path = path;
    this.#lock = lockDataDirectory(path);
    writeFileSync(join(path, 'server.pid'), `${process.pid}\n`);
    heldLocks.add(this.#lock);
  }

  /** Unlocks the directory for another server. The end of the process does the same. */
  close(): void {
    heldLocks.delete(this.#lock);
    this.#lock.close();
  }
}

/** The held locks. Without these references, the garbage collector would release them. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Takes an exclusive lock of SQLite on an empty database. It is a lock of the operating system, which ends with the
 * process in any case. It does not work between hosts that share the directory over a network.
 */
function lockDataDirectory(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    makeFolder(path, 0o700);
    const file = join(path, 'server.lock');
    // SQLite does not say why a file cannot be opened, but the system does.
    closeSync(openSync(file, 'a', 0o600));
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === undefined || (errcode & 0xff) !== SQLITE_BUSY_CODE) {
      throw new Error(
        `The data directory ${path} cannot be used: ${message}. Let the user of the service own and write it, or name another one by DATA_DIR.`,
        { cause: error },
      );
    }
    throw new Error(
      `The data directory ${path} is in use by another server (process ${readLockHolder(path)}): stop that one, or name another directory by DATA_DIR.`,
    );
  }
}

function readLockHolder(path: string): string {
  try {
    return readFileSync(join(path, 'server.pid'), 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
