import { readdirSync, readFileSync } from 'node:fs';

const PAGE_BYTES = 4096;

/** Kills every process of the group at once. Nothing happens when none is left. */
export function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Memory that the group holds for itself, pages shared between its processes left out. 0 where there is no /proc. */
export function groupMemoryBytes(groupId: number): number {
  let pages = 0;
  for (const pid of processIds()) {
    if (groupOf(pid) === groupId) pages += ownPages(pid);
  }
  return pages * PAGE_BYTES;
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Field 5 of /proc/<pid>/stat, counted behind the name, which may itself hold spaces and brackets. */
function groupOf(pid: string): number {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] ?? Number.NaN);
}

function ownPages(pid: string): number {
  const [, resident = 0, shared = 0] = read(`/proc/${pid}/statm`).split(' ').map(Number);
  return resident - shared;
}

/** A process may end while it is read: it then counts nothing. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
