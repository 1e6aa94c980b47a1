import { hostMemoryBytes } from '../../platform/concurrency/control-group.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';

/**
 * The image pools of all API processes together may take this part of memory: a half. The rest is for browsers, stores
 * and code.
 */
const PART_OF_MEMORY = 2;
/** The budgets of slow passes, of heavy passes and of items of large jobs are each the quick budget divided by this. */
const PART_OF_QUICK = 2;
/** All pools together, as a multiple of quick. */
const ALL_POOLS = 1 + 3 / PART_OF_QUICK;

/** The memory in bytes that the image work of one API process may take at once by estimate, per pool. */
interface ImageBudgets {
  quickBytes: number;
  slowBytes: number;
  heavyBytes: number;
  batchBytes: number;
}

/**
 * The memory budgets of each API process. The pools, their resize and the doctor all compute them here.
 * @param settingMegabytes IMAGE_MEMORY_MEGABYTES; 0 divides half of the memory among all pools of all processes.
 */
export function imageMemoryBudgets(
  settingMegabytes: number,
  processes: number,
  memoryBytes = hostMemoryBytes(),
): ImageBudgets {
  const shareBytes = memoryBytes / PART_OF_MEMORY / ALL_POOLS / processes;
  const quickBytes = settingMegabytes > 0 ? settingMegabytes * MEGABYTE_BYTES : shareBytes;
  const partBytes = quickBytes / PART_OF_QUICK;
  return { quickBytes, slowBytes: partBytes, heavyBytes: partBytes, batchBytes: partBytes };
}
