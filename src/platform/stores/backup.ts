import { type Dirent, existsSync } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../folders.ts';
import { isFileMissingError, TEMPORARY_FOLDER } from './objects/files.ts';

/** Reports how much of a copy is done: a line such as `objects: 1200 of 4800 (25 %)` at each tenth, and at the end. */
export class CopyProgressReporter {
  readonly #name: string;
  readonly #total: number;
  readonly #onProgress: (line: string) => void;
  #done = 0;
  #reported = 0;

  /** @param name the plural name of what is copied, such as `objects`. */
  constructor(name: string, total: number, onProgress: (line: string) => void) {
    this.#name = name;
    this.#total = total;
    this.#onProgress = onProgress;
  }

  recordCopied(count: number): void {
    this.#done += count;
    const percent = Math.min(100, Math.floor((this.#done / this.#total) * 100));
    if (percent < this.#reported + 10 && this.#done < this.#total) return;
    this.#reported = percent - (percent % 10);
    this.#onProgress(`${this.#name}: ${this.#done} of ${this.#total} (${percent} %)`);
  }
}

/** The number of pages to copy in one step: more than any database has, because so many pages take 8 TB. */
const ALL_PAGES = 2 ** 31 - 1;

export interface BackupReport {
  directory: string;
  /** The number of objects in the copy. */
  objects: number;
}

/**
 * Copies the embedded stores while they are in use. The copy is a complete data directory, with all documents of one
 * instant and their objects.
 *
 * Objects never change, so they are copied before the documents and again after them. The first round copies objects
 * that may be deleted before the documents are copied; the second round adds new ones.
 *
 * The copy has the name `to` only when it is complete. Until then it is `to.partial`.
 *
 * @param to a directory that does not exist yet.
 * @param onProgress called regularly with a line of text.
 * @throws Error with one sentence.
 */
export async function backUpEmbeddedStores(
  dataDir: string,
  to: string,
  onProgress: (line: string) => void = () => undefined,
): Promise<BackupReport> {
  if (existsSync(to)) throw new Error(`${to} exists already: name a directory for the copy that does not.`);
  const partial = `${to}.partial`;
  makeFolder(dirname(to));
  await mkdir(partial, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new Error(
      `${partial} exists already: another backup is making it, or one was interrupted. Delete it in that case.`,
    );
  });
  try {
    const objects = await copyStores(dataDir, partial, onProgress);
    await rename(partial, to);
    return { directory: to, objects };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw new Error(
      `The copy was not made, and nothing of it remains: ${(error as Error).message}. Remove the cause, or name another directory.`,
      { cause: error },
    );
  }
}

/** Copies the objects and the documents into a directory. Returns the number of objects. */
async function copyStores(dataDir: string, to: string, onProgress: (line: string) => void): Promise<number> {
  const objects = join(dataDir, 'objects');
  const before = await copyObjects(objects, join(to, 'objects'), onProgress);
  await copyDatabase(join(dataDir, 'documents.sqlite'), join(to, 'documents.sqlite'));
  await syncFile(join(to, 'documents.sqlite'));
  onProgress('documents: copied');
  return before + (await copyObjects(objects, join(to, 'objects')));
}

/**
 * Copies a consistent snapshot of a database in use to a new file. SQLite copies all pages in one step, in a thread of
 * libuv: with several steps, each write in between would make it begin again.
 */
async function copyDatabase(from: string, to: string): Promise<void> {
  using database = new DatabaseSync(from, { readOnly: true });
  await backup(database, to, { rate: ALL_PAGES });
}

/** Copies the objects that the copy lacks, and returns their number. */
async function copyObjects(
  from: string,
  to: string,
  onProgress: (line: string) => void = () => undefined,
): Promise<number> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true }).catch((error) => {
    if (isFileMissingError(error)) return [];
    throw error;
  });
  const directoryOf = ({ parentPath }: Dirent) => parentPath.slice(from.length + 1);
  const files = entries.filter((entry) => entry.isFile() && !directoryOf(entry).startsWith(TEMPORARY_FOLDER));
  const progress = new CopyProgressReporter('objects', files.length, onProgress);
  let copied = 0;
  for (const entry of files) {
    const directory = directoryOf(entry);
    await mkdir(join(to, directory), { recursive: true, mode: 0o700 });
    const isNew = await copyObject(join(entry.parentPath, entry.name), join(to, directory, entry.name));
    if (isNew) copied += 1;
    progress.recordCopied(1);
  }
  return copied;
}

/**
 * Copies an object. On the same disk, a hard link is enough, because the bytes of an object never change. False if the
 * object was copied before or is deleted.
 */
async function copyObject(from: string, to: string): Promise<boolean> {
  const isCopiedOrDeleted = (error: unknown) =>
    isFileMissingError(error) || (error as NodeJS.ErrnoException).code === 'EEXIST';
  try {
    await link(from, to).catch((error) => {
      if (isCopiedOrDeleted(error)) throw error;
      return copyFile(from, to).then(() => syncFile(to));
    });
    return true;
  } catch (error) {
    if (isCopiedOrDeleted(error)) return false;
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.sync();
}
