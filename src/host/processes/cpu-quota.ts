import { availableParallelism } from 'node:os';
import { readControlGroupLimits } from '../../platform/concurrency/control-group.ts';

/** The CPU quota of the control groups in cores, such as 0.5; null without a quota. */
function quotaCores(): number | null {
  return readControlGroupLimits().cores;
}

/** The cores that the service may use: those of the machine, or the quota if it is smaller. */
export function grantedCores(quota = quotaCores(), cores = availableParallelism()): number {
  return Math.min(cores, quota ?? cores);
}

/** The default number of processes: one per available core, and at least one. */
export function defaultProcessCount(quota = quotaCores(), cores = availableParallelism()): number {
  return Math.max(1, Math.floor(grantedCores(quota, cores)));
}

/** The sentence in the start log that explains the number of processes. */
export function processCountSentence(processes: number, isSet: boolean, quota = quotaCores()): string {
  const cores = availableParallelism();
  const why = isSet
    ? 'as set by PROCESSES'
    : quota === null || quota >= cores
      ? `one for each of ${cores} CPU cores`
      : `the CPU quota is ${quota}`;
  return `${processes} API ${processes === 1 ? 'process' : 'processes'}: ${why}`;
}
