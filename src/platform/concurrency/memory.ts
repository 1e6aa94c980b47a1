import { totalmem } from 'node:os';
import { readControlGroupLimits } from './control-group.ts';

/** Bytes of memory that this host may use: those of the machine, or of its control groups if they grant less. */
export function hostMemoryBytes(): number {
  return Math.min(totalmem(), readControlGroupLimits().memoryBytes ?? Number.POSITIVE_INFINITY);
}
