import { createHash } from 'node:crypto';
import type { Dir } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { assertKey } from './key.ts';

/**
 * Where objects lie: `a/b/name` is the file `a/b/~3f/name`, with two digits of the name's hash between, so that
 * no directory grows past what a file system lists well. No key has a `~`: the layout's own names meet no key's.
 */
const FAN = /^~[0-9a-f]{2}$/;

/** Holds files that are still being written. */
export const TEMPORARY = '~tmp';

export function pathOf(root: string, key: string): string {
  assertKey(key);
  const segments = key.split('/');
  const name = segments.pop() ?? '';
  const fan = `~${createHash('sha256').update(name).digest('hex').slice(0, 2)}`;
  return join(root, ...segments, fan, name);
}

/**
 * Every object whose key begins with `prefix`, in no order, read from the disk as the caller goes on.
 * @param parent what the keys in the directory begin with: nothing in the root.
 */
export async function* objectsUnder(
  directory: string,
  prefix: string,
  parent = '',
): AsyncGenerator<{ key: string; path: string }> {
  for await (const entry of await openOrNone(directory)) {
    const path = join(directory, entry.name);
    if (FAN.test(entry.name)) {
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
