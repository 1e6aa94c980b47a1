import { existsSync, statSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Settings } from '../../../config/index.ts';
import type { FileCacheFigures } from '../../platform/file-cache/file-cache.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { DOCUMENTS_FILE, hasEmbeddedStores, openObjectStore } from '../../platform/stores/open.ts';
import { DAY_MS, HOUR_MS, MEGABYTE_BYTES, MINUTE_MS } from '../../platform/values/units.ts';
import { openPictureCache } from '../../product/delivery/cache.ts';
import {
  type DoctorFinding,
  findingsOrProblem,
  innermostMessageOf,
  measureDurationsMs,
  medianOf,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';

/** The file systems that keep their files in memory, keyed by the type that statfs returns. */
const MEMORY_FILE_SYSTEMS = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);
/** The size up to which a database is checked completely, which takes a few seconds. */
const MAX_CHECKED_BYTES = 1_024 * MEGABYTE_BYTES;
const SLOW_WRITE_MS = 20;
/** The fewest free inodes without a warning. An upload needs a few of them. */
const MIN_FREE_INODES = 10_000;
const MIN_FREE_BYTES = 1_024 * MEGABYTE_BYTES;

/** Checks the disk of DATA_DIR and the folder of temporary files. */
export async function checkDisk(settings: Settings): Promise<DoctorFinding[]> {
  return [...(await checkDataDirectory(settings)), ...(await checkTemporaryFolder(tmpdir()))];
}

/** Checks the folder for temporary files: browser profiles, and colour profiles of image threads. */
export function checkTemporaryFolder(directory: string): Promise<DoctorFinding[]> {
  return findingsOrProblem(
    async () => {
      await measureSyncedWriteMs(directory);
      return [okFinding(`Temporary files go to ${directory}.`)];
    },
    (reason) => `The folder of temporary files (${directory}) cannot be written: ${reason}.`,
    'Mount it read-write, or name another folder by TMPDIR: without it templates are not drawn.',
  );
}

/**
 * Checks the disk of DATA_DIR: its kind, its free space, and the time of a synced write, which every document of the
 * embedded stores takes.
 */
function checkDataDirectory({ stores }: Settings): Promise<DoctorFinding[]> {
  const { DATA_DIR, STORAGE_RESERVE_MEGABYTES } = stores;
  return findingsOrProblem(
    async () => {
      const directory = nearestExistingDirectory(resolve(DATA_DIR));
      const { type, bavail, blocks, bsize, files, ffree } = await statfs(directory);
      const freeBytes = bavail * bsize;
      return [
        diskKindFinding(MEMORY_FILE_SYSTEMS.get(type)),
        freeSpaceFinding(freeBytes, blocks * bsize, STORAGE_RESERVE_MEGABYTES * MEGABYTE_BYTES),
        ...inodeFindings(files, ffree),
        writeTimeFinding(await measureSyncedWriteMs(directory)),
        ...(hasEmbeddedStores(stores) ? databaseFindings(join(DATA_DIR, DOCUMENTS_FILE)) : []),
      ];
    },
    (reason) => `DATA_DIR (${DATA_DIR}) cannot be written: ${reason}.`,
    'Name a directory that the service may write, and mount it read-write.',
  );
}

/** The directory, or, before the first start, its nearest existing parent. */
function nearestExistingDirectory(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExistingDirectory(dirname(path));
}

export function diskKindFinding(memoryFileSystem: string | undefined): DoctorFinding {
  if (memoryFileSystem === undefined) return okFinding('DATA_DIR lies on a disk.');
  const message = `DATA_DIR lies in memory (${memoryFileSystem}): a restart of the host loses everything.`;
  return problemFinding(message, 'Put it on a disk or a volume.');
}

export function freeSpaceFinding(freeBytes: number, totalBytes: number, reserveBytes: number): DoctorFinding {
  const message = `DATA_DIR has ${Math.round(freeBytes / MEGABYTE_BYTES)} MB free of ${Math.round(totalBytes / MEGABYTE_BYTES)} MB.`;
  const reserve = Math.min(reserveBytes, totalBytes / 10);
  if (freeBytes <= reserve)
    return problemFinding(
      message,
      'Free some: uploads and jobs are refused below STORAGE_RESERVE_MEGABYTES.',
    );
  return freeBytes < MIN_FREE_BYTES
    ? warningFinding(message, 'Give it more space before uploads are refused.')
    : okFinding(message);
}

/**
 * The findings about free inodes.
 * @param files the inodes of the file system; 0 if it has no fixed number.
 */
export function inodeFindings(files: number, free: number): DoctorFinding[] {
  if (files === 0) return [];
  const message = `DATA_DIR has ${free} inodes free of ${files}.`;
  const remedy = 'Remove small files, or recreate the file system with more inodes: each object is a file.';
  if (free === 0) return [problemFinding(`No inode is free: ${message}`, remedy)];
  return [free < MIN_FREE_INODES ? warningFinding(message, remedy) : okFinding(message)];
}

export function writeTimeFinding(milliseconds: number): DoctorFinding {
  const message = `A synced write into DATA_DIR takes ${milliseconds.toFixed(1)} ms.`;
  return milliseconds > SLOW_WRITE_MS
    ? warningFinding(message, 'Use a faster disk (a local SSD), or MongoDB: every document waits for it.')
    : okFinding(message);
}

/**
 * The finding about the database file, which is checked while the service uses it: completely if that is quick,
 * otherwise only its beginning.
 */
export function databaseFindings(path: string): DoctorFinding[] {
  if (!existsSync(path)) return [];
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const isFullyChecked = statSync(path).size <= MAX_CHECKED_BYTES;
    const check = isFullyChecked ? 'PRAGMA quick_check(1)' : 'SELECT count(*) FROM sqlite_master';
    const [result] = Object.values(database.prepare(check).get() ?? {});
    if (isFullyChecked && result !== 'ok') return [damagedDatabaseFinding(path, String(result))];
    return [
      okFinding(
        isFullyChecked ? `${path} is intact.` : `${path} can be read; it is too large to be checked here.`,
      ),
    ];
  } catch (error) {
    return [damagedDatabaseFinding(path, innermostMessageOf(error))];
  } finally {
    database?.close();
  }
}

function damagedDatabaseFinding(path: string, reason: string): DoctorFinding {
  return problemFinding(
    `${path} cannot be read: ${reason}.`,
    'Give it to the user of the service if another user owns it; if it is damaged, restore a backup.',
  );
}

/** The median time of synced writes to a temporary file. */
async function measureSyncedWriteMs(directory: string): Promise<number> {
  const path = join(directory, `.doctor-${randomText(8)}`);
  const file = await open(path, 'wx');
  try {
    const times = await measureDurationsMs(async () => {
      await file.write(Buffer.alloc(4_096), 0, 4_096, 0);
      await file.datasync();
    });
    return medianOf(times);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

const TEST_OBJECT_CONTENT = Buffer.from('written, read and deleted by npm run doctor');
/** More bytes than any object that is sent in one request, so that the test object is uploaded in parts. */
const MULTIPART_TEST_BYTES = 12 * MEGABYTE_BYTES;

/** Checks S3 as the service uses it: put, ranged get, multipart and delete, under a separate key. */
export async function checkObjectStore({ stores }: Settings): Promise<DoctorFinding[]> {
  const { S3_BUCKET } = stores;
  if (S3_BUCKET === '') return [okFinding('Objects are files below DATA_DIR: there is no S3 to check.')];
  const objects = await openObjectStore(stores);
  const key = `doctor/${randomText(16)}`;
  return findingsOrProblem(
    async () => {
      await objects.put(key, TEST_OBJECT_CONTENT, 'text/plain');
      const part = await objects.get(key, { start: 0, end: 6 });
      const read = part === null ? '' : Buffer.concat(await part.body.toArray()).toString();
      await objects.put(key, Buffer.alloc(MULTIPART_TEST_BYTES), 'application/octet-stream');
      return [
        read === 'written'
          ? okFinding(`The bucket ${S3_BUCKET} takes objects, and reads parts of them.`)
          : problemFinding(
              `The bucket ${S3_BUCKET} does not answer ranges.`,
              'Use a store that speaks all of S3.',
            ),
        okFinding('Multipart uploads work.'),
      ];
    },
    (reason) => `The bucket ${S3_BUCKET} does not work: ${reason}.`,
    'Check the key and its rights (put, get, delete, list), S3_BUCKET, S3_REGION and S3_ENDPOINT.',
  ).finally(async () => {
    await objects.delete(key).catch(() => undefined);
    await objects.close();
  });
}

/**
 * A cache counts as full if at least this share of its space is used. An eviction leaves seven eighths in use, so a
 * full cache stays above this share.
 */
const FULL_CACHE_SHARE = 0.85;
/**
 * The least recently used file of a full cache should have been unused for at least this long. Otherwise the cache
 * evicts pictures that are still requested.
 */
const MIN_OLDEST_USE_AGE_MS = HOUR_MS;

/** Checks the cache of delivered pictures: how much it holds, and whether it is large enough. */
export async function checkDeliveryCache({ stores, delivery }: Settings): Promise<DoctorFinding[]> {
  const settings = { ...stores, ...delivery };
  const objects = await openObjectStore(stores);
  const cache = openPictureCache(settings, objects, { warn: () => undefined });
  const figures = await cache.readFigures().finally(() => objects.close());
  return [deliveryCacheFinding(figures, settings.DELIVERY_CACHE_MEGABYTES * MEGABYTE_BYTES, Date.now())];
}

export function deliveryCacheFinding(
  { files, bytes, oldestUseMs }: FileCacheFigures,
  maxBytes: number,
  nowMs: number,
): DoctorFinding {
  if (maxBytes === 0) return okFinding('Delivered pictures are not kept (DELIVERY_CACHE_MEGABYTES=0).');
  const oldestMs = oldestUseMs === null ? null : Math.max(0, nowMs - oldestUseMs);
  const age = oldestMs === null ? '' : `; the oldest was asked for ${formatAge(oldestMs)} ago`;
  const megabytes = (size: number) => Math.round(size / MEGABYTE_BYTES);
  const message = `${files} delivered pictures are kept, ${megabytes(bytes)} of ${megabytes(maxBytes)} MB${age}.`;
  const isSmall =
    bytes > maxBytes * FULL_CACHE_SHARE && oldestMs !== null && oldestMs < MIN_OLDEST_USE_AGE_MS;
  return isSmall
    ? warningFinding(message, 'Raise DELIVERY_CACHE_MEGABYTES: pictures that are in use are made again.')
    : okFinding(message);
}

function formatAge(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.round(ms / DAY_MS)} days`;
  return ms >= 2 * HOUR_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / MINUTE_MS)} minutes`;
}
