import { readdirSync, readFileSync } from 'node:fs';

const TICK_MS = 10;

/**
 * CPU time that a process and everything below it has used, in milliseconds (Linux). Beside a ratio of speeds, it says what a call costs
 * whatever else the machine is doing. Exited children are counted with their parent.
 */
export function cpuMs(pid: number): number {
  return treeOf(pid).reduce((total, member) => total + ownCpuMs(member), 0);
}

/** A process and everything below it. */
export function treeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const fields = fieldsOf(Number(name));
    if (fields !== null) parents.set(Number(name), Number(fields[1]));
  }
  const members = [pid];
  for (const member of members) {
    for (const [child, parent] of parents) if (parent === member) members.push(child);
  }
  return members;
}

function ownCpuMs(pid: number): number {
  const fields = fieldsOf(pid);
  // utime, stime, cutime and cstime of proc(5), counted from the state, which follows the name.
  return fields === null
    ? 0
    : fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks) * TICK_MS, 0);
}

/** The fields of /proc/<pid>/stat after the name in parentheses; null when there is no such process. */
function fieldsOf(pid: number): string[] | null {
  if (!Number.isInteger(pid)) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
