import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The purpose of a process of the service. */
export type ProcessRole =
  | 'primary'
  | 'api'
  | 'spare'
  | 'browser'
  | 'slow'
  | 'heavy'
  | 'batch'
  | 'image'
  | 'vector'
  | 'other';

/** A process at one moment. */
export interface ProcessTableRow {
  /** The process id with the start time, which is unique. */
  id: string;
  role: ProcessRole;
  residentBytes: number;
  /** The CPU time that it has used. */
  cpuSeconds: number;
}

/** The fields of /proc/<pid>/stat. */
interface ProcessStat {
  pid: number;
  parent: number;
  niceness: number;
  startedTicks: number;
  cpuTicks: number;
}

/** No process has a lower priority. */
const MAX_NICENESS = 19;
/** Linux counts CPU time in hundredths of a second, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100;
const KILOBYTE = 1_024;

/** The files that are read before the event loop serves other work: about a millisecond. */
const FILES_A_TURN = 64;

/**
 * A process and all its descendants; empty without /proc. The kernel answers a file of it from memory within 15 µs, so
 * that waiting for each in a thread would cost ten times as much, on every host with a few hundred processes.
 */
export async function readProcessTable(root = process.pid, proc = '/proc'): Promise<ProcessTableRow[]> {
  const names = await readdir(proc).catch(() => []);
  const living: ProcessStat[] = [];
  for (const [index, pid] of names.filter((name) => /^\d+$/.test(name)).entries()) {
    if (index % FILES_A_TURN === FILES_A_TURN - 1) await nextTurn();
    const stat = readStat(proc, pid);
    if (stat !== null) living.push(stat);
  }
  const byParent = Map.groupBy(living, ({ parent }) => parent);
  const family = [...living.filter(({ pid }) => pid === root), ...descendants(root, byParent)];
  const usualNiceness = family[0]?.niceness ?? 0;
  const rows = family.map((one) => readRow(one, { root, proc, usualNiceness }));
  return rows.filter((row) => row !== null);
}

function descendants(parent: number, byParent: ReadonlyMap<number, ProcessStat[]>): ProcessStat[] {
  return (byParent.get(parent) ?? []).flatMap((child) => [child, ...descendants(child.pid, byParent)]);
}

/**
 * Null when the process has ended. The name of a program is in brackets and may contain spaces and brackets, so fields
 * begin after the last bracket.
 */
function readStat(proc: string, pid: string): ProcessStat | null {
  const stat = textOf(`${proc}/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, user = 0, system = 0, niceness = 0, startedTicks = 0] = [1, 11, 12, 16, 19].map(
    (at) => fields[at] ?? 0,
  );
  return { pid: Number(pid), parent, niceness, startedTicks, cpuTicks: user + system };
}

/** Null when the process has ended. */
function readRow(
  { pid, niceness, startedTicks, cpuTicks }: ProcessStat,
  { root, proc, usualNiceness }: { root: number; proc: string; usualNiceness: number },
): ProcessTableRow | null {
  const [status, command] = ['status', 'cmdline'].map((name) => textOf(`${proc}/${pid}/${name}`));
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(status ?? '') ?? [];
  if (kilobytes === undefined) return null;
  return {
    id: `${pid}/${startedTicks}`,
    role: pid === root ? 'primary' : roleOf(command ?? '', niceness, usualNiceness),
    residentBytes: Number(kilobytes) * KILOBYTE,
    cpuSeconds: cpuTicks / TICKS_PER_SECOND,
  };
}

/** Null when there is no such file any more. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/**
 * The role of a worker process. Slow, heavy and batch processes run the same file at different priorities, all lower
 * than the service's usual one.
 */
function roleOf(command: string, niceness: number, usualNiceness: number): ProcessRole {
  if (command.includes('/host/server.ts')) return command.includes('--spare') ? 'spare' : 'api';
  if (/chrom|headless[-_]shell/i.test(command)) return 'browser';
  if (command.includes('/workers/vector/process.ts')) return 'vector';
  if (!command.includes('/workers/image/process.ts')) return 'other';
  const isLowerBy = (more: number) =>
    niceness > usualNiceness && niceness >= Math.min(usualNiceness + more, MAX_NICENESS);
  if (isLowerBy(10)) return 'heavy';
  if (isLowerBy(5)) return 'batch';
  return isLowerBy(3) ? 'slow' : 'image';
}

const MICROSECONDS = 1e6;
/** The place of `steal` in a line of /proc/stat, after its name: user nice system idle iowait irq softirq steal. */
const STEAL = 7;

/**
 * The seconds for which the hypervisor has given the cores of this machine to others since it started, averaged over
 * the cores. Null if the kernel does not report it.
 */
export function readStolenSeconds(path = '/proc/stat'): number | null {
  const lines = (textOf(path) ?? '').split('\n');
  const cores = lines.filter((line) => /^cpu\d/.test(line)).length;
  const [name, ...ticks] = lines[0]?.split(/\s+/) ?? [];
  const stolen = ticks[STEAL];
  return name === 'cpu' && cores > 0 && stolen !== undefined
    ? Number(stolen) / TICKS_PER_SECOND / cores
    : null;
}

/**
 * The seconds since the start of this machine in which some task, of any program, was ready but had no core. Null if
 * the kernel has no pressure stall information.
 */
export function readPressureSeconds(path = '/proc/pressure/cpu'): number | null {
  const [, total] = /^some .*\btotal=(\d+)/m.exec(textOf(path) ?? '') ?? [];
  return total === undefined ? null : Number(total) / MICROSECONDS;
}
