import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How often and how long the control group had to wait for CPU time beyond its quota, since it was made. */
export interface Throttling {
  periods: number;
  throttledPeriods: number;
  throttledSeconds: number;
}

const MICROSECONDS = 1e6;
const NANOSECONDS = 1e9;

/** The throttling of this control group, of version 2 or 1; null where no file says so. */
export async function readThrottling(root = '/sys/fs/cgroup'): Promise<Throttling | null> {
  const text = (await textOf(join(root, 'cpu.stat'))) ?? (await textOf(join(root, 'cpu/cpu.stat'))) ?? '';
  const values = new Map(
    text.split('\n').map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]),
  );
  const [periods, throttledPeriods] = [values.get('nr_periods'), values.get('nr_throttled')];
  if (periods === undefined || throttledPeriods === undefined) return null;
  const microseconds = values.get('throttled_usec');
  const throttledSeconds =
    microseconds === undefined
      ? (values.get('throttled_time') ?? 0) / NANOSECONDS
      : microseconds / MICROSECONDS;
  return { periods, throttledPeriods, throttledSeconds };
}

function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
