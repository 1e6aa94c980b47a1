import { readFileSync } from 'node:fs';

const MICROSECONDS = 1e6;
/** Linux counts CPU time in hundredths of a second, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100;
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

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
