import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from './file-layout.ts';

/** Renames a synced file. When it resolves, the name and all directories above it are on disk. */
export async function moveDurably(from: string, to: string): Promise<void> {
  const directory = dirname(to);
  let firstMade: string | undefined;
  try {
    await rename(from, to);
  } catch (error) {
    // The directory mostly exists, and a check for each file would cost another access to the disk.
    if (!isMissing(error)) throw error;
    firstMade = await mkdir(directory, { recursive: true });
    await rename(from, to);
  }
  await syncDirectories(directory, firstMade === undefined ? directory : dirname(firstMade));
}

/** Syncs from the innermost directory up to `outermost`, because a directory contains the names in it. */
async function syncDirectories(innermost: string, outermost: string): Promise<void> {
  for (let directory = innermost; ; directory = dirname(directory)) {
    const handle = await open(directory, 'r');
    await handle.sync().finally(() => handle.close());
    if (directory === outermost) return;
  }
}

/** Fills `bytes` from a position of the file. Throws when the file is shorter. */
export async function readFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, position + filled);
    if (bytesRead === 0) throw new Error('The file is shorter than it was.');
    filled += bytesRead;
  }
}
