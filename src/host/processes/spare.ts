import { setImmediate as nextTurn } from 'node:timers/promises';

/** The command line of a process that waits, as `ps` shows it. */
export const SPARE_TITLE = 'darkroom spare';

/**
 * Waits until the process is needed. A process that waits is no API process yet, and has another command line.
 * @returns the CPU time that it used before it was needed.
 */
export async function waitAsSpare(needed: Promise<void>): Promise<NodeJS.CpuUsage> {
  const isNeeded = await Promise.race([needed.then(() => true), nextTurn(false)]);
  if (isNeeded) return { user: 0, system: 0 };
  process.title = SPARE_TITLE;
  await needed;
  process.title = [process.execPath, ...process.execArgv, ...process.argv.slice(1)].join(' ');
  return process.cpuUsage();
}
