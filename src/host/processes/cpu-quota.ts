import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const CONTROL_GROUPS = '/sys/fs/cgroup';

/** The CPU quota of the control group (version 2 or 1) in cores, such as 0.5; null without a quota. */
export function quotaCores(root = CONTROL_GROUPS): number | null {
  const [second, quota, period] = ['cpu.max', 'cpu/cpu.cfs_quota_us', 'cpu/cpu.cfs_period_us'].map((name) =>
    textOf(join(root, name)),
  );
  return quotaOf(second ?? `${quota} ${period}`);
}

/** The cores that the service may use: those of the machine, or the quota if that is less. */
export function grantedCores(quota = quotaCores(), cores = availableParallelism()): number {
  return Math.min(cores, quota ?? cores);
}

/** One process per available core, and at least one. */
export function fittingProcesses(quota = quotaCores(), cores = availableParallelism()): number {
  return Math.max(1, Math.floor(grantedCores(quota, cores)));
}

/** Explains the number of processes for the log of the start. */
export function processesChosen(processes: number, isSet: boolean, quota = quotaCores()): string {
  const cores = availableParallelism();
  const why = isSet
    ? 'as set by PROCESSES'
    : quota === null || quota >= cores
      ? `one for each of ${cores} CPU cores`
      : `the CPU quota is ${quota}`;
  return `${processes} API ${processes === 1 ? 'process' : 'processes'}: ${why}`;
}

/** `200000 100000` are 2 cores; `max 100000` and `-1 100000` are all. */
function quotaOf(text: string): number | null {
  const [quota = Number.NaN, period = Number.NaN] = text.split(' ').map(Number);
  return quota > 0 && period > 0 ? quota / period : null;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
