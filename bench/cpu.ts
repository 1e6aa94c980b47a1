import { readdirSync, readFileSync } from 'node:fs';

const CLOCK_TICK_MS = 10;
const PAGE_BYTES = 4_096;

/** The use of one process according to /proc. */
export interface ProcessUse {
  pid: number;
  name: string;
  /** CPU time that it and its exited children have used, in milliseconds. */
  cpuMs: number;
  rssBytes: number;
}

/**
 * CPU time that a process and all its descendants have used, in milliseconds (Linux). Unlike a ratio of speeds, it
 * gives the cost of a call independently of other load on the machine. Exited children are counted with their parent.
 */
export function cpuMs(pid: number): number {
  return processesBelow(pid).reduce((total, { cpuMs: own }) => total + own, 0);
}

/** The process and all its descendants (Linux); empty elsewhere, and when there is no such process. */
export function processesBelow(pid: number): ProcessUse[] {
  return processTreeOf(pid).flatMap((member) => {
    const stat = readProcessStat(member);
    return stat === null ? [] : [processUseOf(member, stat)];
  });
}

/** The ids of a process and all its descendants. */
export function processTreeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of fileNamesIn('/proc')) {
    const stat = readProcessStat(Number(name));
    if (stat !== null) parents.set(Number(name), Number(stat.fields[1]));
  }
  const members = [pid];
  for (const member of members) {
    for (const [child, parent] of parents) if (parent === member) members.push(child);
  }
  return members;
}

function fileNamesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

interface ProcessStatLine {
  name: string;
  /** The fields of /proc/<pid>/stat after the name, beginning with the state. */
  fields: string[];
}

function processUseOf(pid: number, { name, fields }: ProcessStatLine): ProcessUse {
  // The fields are utime, stime, cutime and cstime, then rss in pages.
  const ticks = fields.slice(11, 15).reduce((total, value) => total + Number(value), 0);
  return { pid, name, cpuMs: ticks * CLOCK_TICK_MS, rssBytes: Number(fields[21]) * PAGE_BYTES };
}

/** Reads /proc/<pid>/stat; null when there is no such process. */
function readProcessStat(pid: number): ProcessStatLine | null {
  if (!Number.isInteger(pid)) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    return { name: stat.slice(stat.indexOf('(') + 1, end), fields: stat.slice(end + 2).split(' ') };
  } catch {
    return null;
  }
}
