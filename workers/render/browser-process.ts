import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preferForOomKill } from '../transport/process-state.ts';

/**
 * Matches the name of the directory of one browser, which holds its profile and temporary files. The name contains the
 * id of the process that owns the browser, so that the directory of a killed owner can be found and removed.
 */
const BROWSER_DIRECTORY_PATTERN = /^darkroom-browser-(\d+)-/;

/** @throws Error with a sentence for the operator. */
export async function makeBrowserDirectory(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `darkroom-browser-${process.pid}-`));
  } catch (error) {
    const message = `The folder of temporary files (${tmpdir()}) cannot be written: ${(error as Error).message}. Mount it read-write, or name another folder by TMPDIR.`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Removes a directory. The removal is retried for a second, because child processes that are still ending may write to
 * the directory.
 */
export function removeBrowserDirectory(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}

/** Kills the browsers and removes the directories of dead processes. */
export async function removeLeftoverBrowsers(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const owner = BROWSER_DIRECTORY_PATTERN.exec(name)?.[1];
    if (owner === undefined || isProcessAlive(Number(owner))) continue;
    // A directory of another user cannot be removed here; that user's own service removes it.
    await removeLeftoverBrowser(join(tmpdir(), name)).catch(() => {});
  }
}

async function removeLeftoverBrowser(directory: string): Promise<void> {
  // A browser leads its own process group, so its child processes are killed too.
  for (const pid of findPidsWithArgument(`--user-data-dir=${directory}`)) killProcessGroup(pid);
  await removeBrowserDirectory(directory);
}

const MEMORY_PAGE_BYTES = 4096;

/** Kills every process of a process group at once. An empty group is ignored. */
export function killProcessGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The bytes of memory that a process group holds privately, without shared pages; 0 if the machine has no /proc. */
export function readGroupMemoryBytes(groupId: number): number {
  const pages = findPidsInGroup(groupId).map(readPrivatePageCount);
  return pages.reduce((sum, count) => sum + count, 0) * MEMORY_PAGE_BYTES;
}

/** Makes Linux end the processes of the group first when memory runs out (see preferForOomKill). */
export function preferGroupForOomKill(groupId: number): void {
  for (const pid of findPidsInGroup(groupId)) preferForOomKill(Number(pid));
}

/** The ids of the processes that were started with an argument. Processes are found on Linux only. */
function findPidsWithArgument(argument: string): number[] {
  const ids = readProcessIds().filter((pid) =>
    readProcFile(`/proc/${pid}/cmdline`).includes(`${argument}\0`),
  );
  return ids.map(Number);
}

function findPidsInGroup(groupId: number): string[] {
  return readProcessIds().filter((pid) => readProcessGroup(pid) === groupId);
}

function readProcessIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/**
 * The process group of a process: field 5 of /proc/<pid>/stat, counted after the name, which may itself contain spaces
 * and brackets.
 */
function readProcessGroup(pid: string): number {
  const stat = readProcFile(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] ?? Number.NaN);
}

function readPrivatePageCount(pid: string): number {
  const [, resident = 0, shared = 0] = readProcFile(`/proc/${pid}/statm`).split(' ').map(Number);
  return resident - shared;
}

/** Reads a file of /proc. The text is empty if the process has ended meanwhile. */
function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
