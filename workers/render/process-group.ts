import { readdirSync, readFileSync } from 'node:fs';
import { endFirstWithoutMemory } from '../transport/oom-score.ts';

const PAGE_BYTES = 4096;

/** Kills every process of the group at once. It does nothing when the group is empty. */
export function killProcessGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Bytes of memory that the group holds privately, without shared pages; 0 if the machine has no /proc. */
export function groupMemoryBytes(groupId: number): number {
  const pages = processesOf(groupId).map(ownPages);
  return pages.reduce((sum, count) => sum + count, 0) * PAGE_BYTES;
}

/** Makes Linux end the processes of the group first when memory runs out (see endFirstWithoutMemory). */
export function endGroupFirstWithoutMemory(groupId: number): void {
  for (const pid of processesOf(groupId)) endFirstWithoutMemory(Number(pid));
}

/** Ids of the processes that were started with an argument. It finds processes on Linux only. */
export function pidsWithArgument(argument: string): number[] {
  const ids = processIds().filter((pid) => read(`/proc/${pid}/cmdline`).includes(`${argument}\0`));
  return ids.map(Number);
}

function processesOf(groupId: number): string[] {
  return processIds().filter((pid) => groupOf(pid) === groupId);
}

function processIds(): string[] {
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
function groupOf(pid: string): number {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] ?? Number.NaN);
}

function ownPages(pid: string): number {
  const [, resident = 0, shared = 0] = read(`/proc/${pid}/statm`).split(' ').map(Number);
  return resident - shared;
}

/** Reads a file of /proc. The text is empty if the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
