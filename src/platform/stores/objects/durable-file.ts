import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from './file-layout.ts';

/** Gives a synced file its final name. When it resolves, the name is on disk, and so is every directory above it. */
export async function moveDurably(from: string, to: string): Promise<void> {
  const directory = dirname(to);
  let firstMade: string | undefined;
  try {
    await rename(from, to);
  } catch (error) {
    // Mostly the directory is there, and asking first would be one more way to the disk for every file.
    if (!isMissing(error)) throw error;
    firstMade = await mkdir(directory, { recursive: true });
    await rename(from, to);
  }
  await syncDirectories(directory, firstMade === undefined ? directory : dirname(firstMade));
}

/** Syncs from the innermost directory up to `outermost`: a new directory's name lies in the one above it. */
async function syncDirectories(innermost: string, outermost: string): Promise<void> {
  for (let directory = innermost; ; directory = dirname(directory)) {
    const handle = await open(directory, 'r');
    await handle.sync().finally(() => handle.close());
    if (directory === outermost) return;
  }
}

/** Fills `bytes` from a position of the file. Throws when the file ends before. */
export async function readFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, position + filled);
    if (bytesRead === 0) throw new Error('The file is shorter than it was.');
    filled += bytesRead;
  }
}
