import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from '../../../bench/services/server.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 3 * 60_000;

/**
 * Installs packages once, into the cache, without their scripts.
 * @param packages versions by name.
 * @returns the folder node_modules with these packages; null, with a message, when they cannot be installed.
 */
export async function npmInstalled(packages: Readonly<Record<string, string>>): Promise<string | null> {
  const named = Object.entries(packages).map((entry) => entry.join('-'));
  try {
    const folder = await cachedFolder(named.join('-').replaceAll(/[^\w.]+/g, '-'), async (building) => {
      const manifest = { private: true, dependencies: packages };
      await writeFile(join(building, 'package.json'), JSON.stringify(manifest));
      const options = { cwd: building, timeout: INSTALL_TIMEOUT_MS };
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], options);
    });
    return join(folder, 'node_modules');
  } catch (error) {
    console.log(`*** ${named.join(' and ')} could not be installed: ${(error as Error).message} ***`);
    return null;
  }
}
