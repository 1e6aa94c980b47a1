import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive, killProcessGroup, pidsWithArgument } from './process-group.ts';

/**
 * Name of the directory of one browser, which holds its profile and temporary files. It contains the id of the process
 * that owns the browser, so that the directory of a killed owner can be found and removed.
 */
const NAME = /^darkroom-browser-(\d+)-/;

export function makeBrowserDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), `darkroom-browser-${process.pid}-`));
}

/** Removes a directory. It retries for a second, because child processes that are still ending may write to it. */
export function removeBrowserDirectory(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}

/** Kills the browsers and removes the directories of dead processes. */
export async function removeLeftoverBrowsers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined || isProcessAlive(Number(owner))) continue;
    // A directory of another user cannot be removed here; that user's own service removes it.
    await endLeftover(join(tmpdir(), name)).catch(() => {});
  }
}

async function endLeftover(directory: string): Promise<void> {
  // A browser leads its own process group, so its child processes are killed too.
  for (const pid of pidsWithArgument(`--user-data-dir=${directory}`)) killProcessGroup(pid);
  await removeBrowserDirectory(directory);
}
