import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const MICROSECONDS = 1e6;
const NANOSECONDS = 1e9;

/**
 * The seconds for which this control group (version 2 or 1) was throttled by its CPU quota since its creation; null
 * when it has no such counter.
 */
export async function readThrottledSeconds(root = '/sys/fs/cgroup'): Promise<number | null> {
  const text = (await textOf(join(root, 'cpu.stat'))) ?? (await textOf(join(root, 'cpu/cpu.stat'))) ?? '';
  const values = new Map(
    text.split('\n').map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]),
  );
  if (!values.has('nr_periods') || !values.has('nr_throttled')) return null;
  const microseconds = values.get('throttled_usec');
  return microseconds === undefined
    ? (values.get('throttled_time') ?? 0) / NANOSECONDS
    : microseconds / MICROSECONDS;
}

function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
