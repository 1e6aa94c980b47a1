import { existsSync, statSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Settings } from '../../../config/index.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { DOCUMENTS_FILE, isEmbedded } from '../../platform/stores/open.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import { type Finding, ok, orProblem, problem, reasonOf, warning } from './finding.ts';
import { measureTimes, medianOf } from './times.ts';

/** File systems in memory, by their statfs type. */
const MEMORY_FILE_SYSTEMS = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);
/** The size up to which a database is checked completely, which takes a few seconds. */
const MAX_CHECKED_BYTES = 1_024 * MEGABYTE;
const SLOW_WRITE_MS = 20;
/** An upload needs a few of them. */
const MIN_FREE_INODES = 10_000;
const MIN_FREE_BYTES = 1_024 * MEGABYTE;

/** DATA_DIR and the folder of temporary files. */
export async function checkDisk(settings: Settings): Promise<Finding[]> {
  return [...(await checkDataDirectory(settings)), ...(await checkTemporary(tmpdir()))];
}

/** Checks the folder for temporary files: browser profiles, and colour profiles of image threads. */
export function checkTemporary(directory: string): Promise<Finding[]> {
  return orProblem(
    async () => {
      await syncedWriteMs(directory);
      return [ok(`Temporary files go to ${directory}.`)];
    },
    (reason) => `The folder of temporary files (${directory}) cannot be written: ${reason}.`,
    'Mount it read-write, or name another folder by TMPDIR: without it templates are not drawn.',
  );
}

/**
 * Checks the disk of DATA_DIR: its kind, its free space, and the time of a synced write, which every document of the
 * embedded stores takes.
 */
function checkDataDirectory({ stores }: Settings): Promise<Finding[]> {
  const { DATA_DIR, STORAGE_RESERVE_MEGABYTES } = stores;
  return orProblem(
    async () => {
      const directory = existing(resolve(DATA_DIR));
      const { type, bavail, blocks, bsize, files, ffree } = await statfs(directory);
      const freeBytes = bavail * bsize;
      return [
        judgeDiskKind(MEMORY_FILE_SYSTEMS.get(type)),
        judgeSpace(freeBytes, blocks * bsize, STORAGE_RESERVE_MEGABYTES * MEGABYTE),
        ...judgeInodes(files, ffree),
        judgeWrite(await syncedWriteMs(directory)),
        ...(isEmbedded(stores) ? judgeDatabaseIntegrity(join(DATA_DIR, DOCUMENTS_FILE)) : []),
      ];
    },
    (reason) => `DATA_DIR (${DATA_DIR}) cannot be written: ${reason}.`,
    'Name a directory that the service may write, and mount it read-write.',
  );
}

/** The directory, or, before the first start, its nearest existing parent. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

export function judgeDiskKind(memoryFileSystem: string | undefined): Finding {
  if (memoryFileSystem === undefined) return ok('DATA_DIR lies on a disk.');
  const message = `DATA_DIR lies in memory (${memoryFileSystem}): a restart of the host loses everything.`;
  return problem(message, 'Put it on a disk or a volume.');
}

export function judgeSpace(freeBytes: number, totalBytes: number, reserveBytes: number): Finding {
  const message = `DATA_DIR has ${Math.round(freeBytes / MEGABYTE)} MB free of ${Math.round(totalBytes / MEGABYTE)} MB.`;
  const reserve = Math.min(reserveBytes, totalBytes / 10);
  if (freeBytes <= reserve)
    return problem(message, 'Free some: uploads and jobs are refused below STORAGE_RESERVE_MEGABYTES.');
  return freeBytes < MIN_FREE_BYTES
    ? warning(message, 'Give it more space before uploads are refused.')
    : ok(message);
}

/** @param files the inodes of the file system; 0 if it has no fixed number. */
export function judgeInodes(files: number, free: number): Finding[] {
  if (files === 0) return [];
  const message = `DATA_DIR has ${free} inodes free of ${files}.`;
  const remedy = 'Remove small files, or recreate the file system with more inodes: each object is a file.';
  if (free === 0) return [problem(`No inode is free: ${message}`, remedy)];
  return [free < MIN_FREE_INODES ? warning(message, remedy) : ok(message)];
}

export function judgeWrite(milliseconds: number): Finding {
  const message = `A synced write into DATA_DIR takes ${milliseconds.toFixed(1)} ms.`;
  return milliseconds > SLOW_WRITE_MS
    ? warning(message, 'Use a faster disk (a local SSD), or MongoDB: every document waits for it.')
    : ok(message);
}

/** Checks the database file while the service uses it: completely if that is quick, otherwise only its beginning. */
export function judgeDatabaseIntegrity(path: string): Finding[] {
  if (!existsSync(path)) return [];
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const isFullyChecked = statSync(path).size <= MAX_CHECKED_BYTES;
    const check = isFullyChecked ? 'PRAGMA quick_check(1)' : 'SELECT count(*) FROM sqlite_master';
    const [result] = Object.values(database.prepare(check).get() ?? {});
    if (isFullyChecked && result !== 'ok') return [damaged(path, String(result))];
    return [
      ok(isFullyChecked ? `${path} is intact.` : `${path} can be read; it is too large to be checked here.`),
    ];
  } catch (error) {
    return [damaged(path, reasonOf(error))];
  } finally {
    database?.close();
  }
}

function damaged(path: string, reason: string): Finding {
  return problem(
    `${path} cannot be read: ${reason}.`,
    'Give it to the user of the service if another user owns it; if it is damaged, restore a backup.',
  );
}

/** The median time of synced writes to a temporary file. */
async function syncedWriteMs(directory: string): Promise<number> {
  const path = join(directory, `.doctor-${randomText(8)}`);
  const file = await open(path, 'wx');
  try {
    const times = await measureTimes(async () => {
      await file.write(Buffer.alloc(4_096), 0, 4_096, 0);
      await file.datasync();
    });
    return medianOf(times);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
