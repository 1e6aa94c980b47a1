import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Where what tests build or fetch is kept between runs. */
export const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url));

/**
 * A folder of the cache, built when it is not there. It appears whole or not at all: processes that build it at the
 * same time build it each, and the first one's stays.
 */
export async function cached(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const folder = `${CACHE}/${name}`;
  if (existsSync(folder)) return folder;
  const building = `${CACHE}/.building-${randomUUID()}`;
  await mkdir(building, { recursive: true });
  try {
    await build(building);
    await rename(building, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
