import { totalmem } from 'node:os';
import type { Pass } from '../../workers/protocol.ts';
import type { Header } from './header/header.ts';

const MEGABYTE = 1_048_576;

/**
 * Memory that the image work of one API process may take at once: the setting, else its share of half the machine's
 * (or container's) memory; the other half is for browsers, stores and everything else.
 */
export function memoryBudgetBytes(settingMegabytes: number, processes: number): number {
  if (settingMegabytes > 0) return settingMegabytes * MEGABYTE;
  const constrained = process.constrainedMemory();
  const machineBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return machineBytes / 2 / processes;
}

/** Memory that a pass is estimated to take at its peak; null is a description. */
export function estimatedBytes(header: Header, pass: Pass | null): number {
  const samples = header.pixels * Math.max(3, header.channels) * (header.bitDepth > 8 ? 2 : 1);
  return 40 * MEGABYTE + samples * (pass === null ? 1 : 2);
}
