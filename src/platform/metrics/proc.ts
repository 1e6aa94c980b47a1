import { readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readKernelFile } from '../concurrency/control-group.ts';

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

/** A process of the service at the time of the measurement. */
export interface ProcessTableRow {
  /** The process id with the start time, which is unique. */
  id: string;
  role: ProcessRole;
  residentBytes: number;
  /** The CPU time that the process has used. */
  cpuSeconds: number;
}

/** The fields of /proc/<pid>/stat that are used here. */
interface ProcessStat {
  pid: number;
  parent: number;
  niceness: number;
  startedTicks: number;
  cpuTicks: number;
}

/** The niceness of the lowest priority. */
const MAX_NICENESS = 19;
/** Linux counts CPU time in hundredths of a second, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100;
const BYTES_PER_KILOBYTE = 1_024;

/**
 * The number of files that are read before the event loop serves other work. Reading them takes about a millisecond.
 */
const FILES_PER_TURN = 64;

/**
 * A process and all its descendants; empty without /proc. The kernel returns a file of /proc from memory within 15 µs.
 * Files are therefore read synchronously: reading each in a thread would take ten times as long.
 */
export async function readProcessTable(root = process.pid, proc = '/proc'): Promise<ProcessTableRow[]> {
  const names = await readdir(proc).catch(() => []);
  const liveStats: ProcessStat[] = [];
  for (const [index, pid] of names.filter((name) => /^\d+$/.test(name)).entries()) {
    if (index % FILES_PER_TURN === FILES_PER_TURN - 1) await nextTurn();
    const stat = readProcessStat(proc, pid);
    if (stat !== null) liveStats.push(stat);
  }
  const byParent = Map.groupBy(liveStats, ({ parent }) => parent);
  const family = [...liveStats.filter(({ pid }) => pid === root), ...descendantsOf(root, byParent)];
  const usualNiceness = family[0]?.niceness ?? 0;
  const rows = family.map((one) => readTableRow(one, { root, proc, usualNiceness }));
  return rows.filter((row) => row !== null);
}

function descendantsOf(parent: number, byParent: ReadonlyMap<number, ProcessStat[]>): ProcessStat[] {
  return (byParent.get(parent) ?? []).flatMap((child) => [child, ...descendantsOf(child.pid, byParent)]);
}

/**
 * Reads the fields of a process; null when it has ended. The name of its program is in parentheses and may itself
 * contain spaces and parentheses, so the fields are counted from the last parenthesis.
 */
function readProcessStat(proc: string, pid: string): ProcessStat | null {
  const stat = readKernelFile(`${proc}/${pid}/stat`);
  if (stat === undefined) return null;
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, user = 0, system = 0, niceness = 0, startedTicks = 0] = [1, 11, 12, 16, 19].map(
    (at) => fields[at] ?? 0,
  );
  return { pid: Number(pid), parent, niceness, startedTicks, cpuTicks: user + system };
}

/** The CPU milliseconds of a process since its start; null without /proc, or when the process has ended. */
export function readProcessCpuMs(pid: number): number | null {
  const stat = readProcessStat('/proc', String(pid));
  return stat && (stat.cpuTicks / TICKS_PER_SECOND) * 1_000;
}

/** The row of a process; null when the process has ended. */
function readTableRow(
  { pid, niceness, startedTicks, cpuTicks }: ProcessStat,
  { root, proc, usualNiceness }: { root: number; proc: string; usualNiceness: number },
): ProcessTableRow | null {
  const [status, command] = ['status', 'cmdline'].map((name) => readKernelFile(`${proc}/${pid}/${name}`));
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(status ?? '') ?? [];
  if (kilobytes === undefined) return null;
  return {
    id: `${pid}/${startedTicks}`,
    role: pid === root ? 'primary' : roleOf(command ?? '', niceness, usualNiceness),
    residentBytes: Number(kilobytes) * BYTES_PER_KILOBYTE,
    cpuSeconds: cpuTicks / TICKS_PER_SECOND,
  };
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

const MICROSECONDS_PER_SECOND = 1e6;
/** The index of `steal` among the fields of a line of /proc/stat: user nice system idle iowait irq softirq steal. */
const STEAL_FIELD_INDEX = 7;

/**
 * The seconds, since this machine started, for which the hypervisor gave its cores to other machines. They are averaged
 * over the cores. Null if the kernel does not report them.
 */
export function readStolenSeconds(path = '/proc/stat'): number | null {
  const lines = (readKernelFile(path) ?? '').split('\n');
  const cores = lines.filter((line) => /^cpu\d/.test(line)).length;
  const [name, ...ticks] = lines[0]?.split(/\s+/) ?? [];
  const stolen = ticks[STEAL_FIELD_INDEX];
  if (name === 'cpu' && cores > 0 && stolen !== undefined) return Number(stolen) / TICKS_PER_SECOND / cores;
  return null;
}

/**
 * The seconds since the start of this machine in which some task, of any program, was ready but had no core. Null if
 * the kernel has no pressure stall information.
 */
export function readPressureSeconds(path = '/proc/pressure/cpu'): number | null {
  const [, total] = /^some .*\btotal=(\d+)/m.exec(readKernelFile(path) ?? '') ?? [];
  return total === undefined ? null : Number(total) / MICROSECONDS_PER_SECOND;
}
