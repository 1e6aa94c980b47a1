import { createHash } from 'node:crypto';
import type { Dir } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { assertKey } from './key.ts';

/**
 * The directories that fan objects out: `a/b/name` is the file `a/b/~3f/name`, with two digits of the name's hash, so
 * that no directory grows too large to be listed. Keys contain no `~`, so these names never collide with keys.
 */
const FAN_OUT_DIRECTORY = /^~[0-9a-f]{2}$/;

/** The directory of files that are being written. */
export const TEMPORARY = '~tmp';

export function pathOf(root: string, key: string): string {
  assertKey(key);
  const segments = key.split('/');
  const name = segments.pop() ?? '';
  const fan = `~${createHash('sha256').update(name).digest('hex').slice(0, 2)}`;
  return join(root, ...segments, fan, name);
}

/**
 * The objects whose keys begin with `prefix`, in no order; directories are read as the caller iterates.
 * @param parent the prefix of the keys in the directory; empty in the root.
 */
export async function* objectsUnder(
  directory: string,
  prefix: string,
  parent = '',
): AsyncGenerator<{ key: string; path: string }> {
  for await (const entry of await openOrNone(directory)) {
    const path = join(directory, entry.name);
    if (FAN_OUT_DIRECTORY.test(entry.name)) {
      for await (const file of await openOrNone(path)) {
        const key = parent + file.name;
        if (key.startsWith(prefix)) yield { key, path: join(path, file.name) };
      }
    } else if (entry.name !== TEMPORARY) {
      const below = `${parent}${entry.name}/`;
      if (below.startsWith(prefix) || prefix.startsWith(below)) yield* objectsUnder(path, prefix, below);
    }
  }
}

async function openOrNone(directory: string): Promise<Dir | []> {
  try {
    return await opendir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
