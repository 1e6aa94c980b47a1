import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 3 * 60_000;
/** The generators work with the compiler's older interface, which TypeScript 7 does not have: they get one of their own. */
const COMPILER = { typescript: '5.9.3' };

/**
 * Types of a client, made of an OpenAPI document by the generator that most TypeScript users take. Installed once.
 * @returns null where nothing can be installed.
 */
export async function typesOf(document: object, directory: string): Promise<string | null> {
  const folder = await installed('openapi-typescript', '7.13.0');
  if (folder === null) return null;
  const input = join(directory, 'openapi.json');
  await writeFile(input, JSON.stringify(document));
  const tool = join(folder, 'node_modules/openapi-typescript/bin/cli.js');
  const { stdout } = await run(process.execPath, [tool, input], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/**
 * Writes a client made by hey-api into `directory`/client, with functions that send and receive.
 * @returns the compiler that its programs are built with; null where nothing can be installed.
 */
export async function heyApiClient(document: object, directory: string): Promise<string | null> {
  const folder = await installed('@hey-api/openapi-ts', '0.99.0');
  if (folder === null) return null;
  const input = join(directory, 'openapi.json');
  await writeFile(input, JSON.stringify(document));
  const tool = join(folder, 'node_modules/.bin/openapi-ts');
  const words = ['-i', input, '-o', join(directory, 'client'), '-c', '@hey-api/client-fetch', '--silent'];
  await run(tool, words, { cwd: folder });
  return join(folder, 'node_modules/.bin/tsc');
}

async function installed(name: string, version: string): Promise<string | null> {
  try {
    return await cached(`${name.replaceAll(/\W+/g, '-')}-${version}`, async (building) => {
      const manifest = { private: true, dependencies: { [name]: version, ...COMPILER } };
      await writeFile(join(building, 'package.json'), JSON.stringify(manifest));
      const options = { cwd: building, timeout: INSTALL_TIMEOUT_MS };
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], options);
    });
  } catch (error) {
    console.log(`*** ${name} could not be installed: ${(error as Error).message} ***`);
    return null;
  }
}
