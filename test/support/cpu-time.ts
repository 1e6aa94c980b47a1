import { readFileSync } from 'node:fs';

const MICROSECONDS = 1_000_000;
/** Of the times in /proc, on every Linux. */
const TICKS_A_SECOND = 100;

/** Seconds of CPU that this process took so far, with the processes that it started and that have ended. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / MICROSECONDS + childrenSeconds();
}

/** Nothing where there is no /proc: Node itself does not know the times of its children. */
function childrenSeconds(): number {
  try {
    // Behind the name of the program, which may hold spaces: see proc_pid_stat(5).
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(/\) (?=\w )/);
    const [user, system] = fields.split(' ').slice(13, 15).map(Number);
    return ((user ?? 0) + (system ?? 0)) / TICKS_A_SECOND;
  } catch {
    return 0;
  }
}
