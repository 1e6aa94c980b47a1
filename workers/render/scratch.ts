import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, killGroup } from './process-group.ts';

/**
 * The directory of one browser, its profile and its temporary files in one place: removed when the browser ended.
 * The name carries the id of the process that owns the browser, so that what a killed owner left is found and removed.
 */
const NAME = /^darkroom-browser-(\d+)-/;

export function makeScratch(): Promise<string> {
  return mkdtemp(join(tmpdir(), `darkroom-browser-${process.pid}-`));
}

/** Child processes that are still ending may write once more: tried again for a second. */
export function removeScratch(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}

/** Ends the browsers and removes the directories of dead processes. */
export async function sweepScratch(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    // One that belongs to another user refuses, and is that user's to remove.
    await endLeftover(join(tmpdir(), name)).catch(() => {});
  }
}

async function endLeftover(directory: string): Promise<void> {
  for (const pid of await processesUsing(directory)) killGroup(pid);
  await removeScratch(directory);
}

/** Leaders of the process groups whose command line names the directory (Linux only; elsewhere none are found). */
async function processesUsing(directory: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found: number[] = [];
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const commandLine = await readFile(join('/proc', name, 'cmdline'), 'utf8').catch(() => '');
    if (commandLine.includes(`--user-data-dir=${directory}\0`)) found.push(Number(name));
  }
  return found;
}
