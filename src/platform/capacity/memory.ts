import { totalmem } from 'node:os';

/** Bytes of memory that this host may use: those of the machine, or of its control group where that is less. */
export function hostMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
