/** The argument of a process that loads its modules and then waits, by which it is known from its start. */
export const SPARE_ARGUMENT = '--spare';

/**
 * Waits in a spare process until it is needed. It then drops its argument, and is an API process as every other one.
 * @returns the CPU time that it used before it was needed.
 */
export async function waitAsSpare(needed: Promise<void>): Promise<NodeJS.CpuUsage> {
  if (!process.argv.includes(SPARE_ARGUMENT)) return { user: 0, system: 0 };
  await needed;
  process.title = [process.execPath, ...process.execArgv, process.argv[1]].join(' ');
  return process.cpuUsage();
}
