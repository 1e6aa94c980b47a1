import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cachedFolder, findProgram } from '../../../bench/services/server.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 5 * 60_000;

/** A Python package in a folder of its own, which programs find by PYTHONPATH. Its programs are in `bin` there. */
export interface PythonPackage {
  python: string;
  folder: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Installs a package once, into the cache.
 * @param name as in the registry.
 * @returns null, with a message on stderr that ends with `otherwise`, if Python or the package cannot be had.
 */
export async function pipInstalled(
  name: string,
  version: string,
  otherwise: string,
): Promise<PythonPackage | null> {
  const missing = (reason: string): null => {
    console.error(`*** No ${name} can run here: ${otherwise} ${reason} ***`);
    return null;
  };
  const python = await findProgram('python3');
  if (python === null) return missing('Python runs it, and is not there.');
  const folder = await cachedFolder(`${name}-${version}`, async (building) => {
    console.error(`Installing ${name}, once.`);
    // Python compiles what a program imports, at its first run; pip would compile all.
    const options = ['--quiet', '--no-compile', '--no-cache-dir', '--disable-pip-version-check'];
    const args = ['-m', 'pip', 'install', ...options, '--target', building, `${name}==${version}`];
    await run(python, args, { timeout: INSTALL_TIMEOUT_MS });
  }).catch((error) => missing(String(error)));
  return folder === null ? null : { python, folder, env: { ...process.env, PYTHONPATH: folder } };
}
