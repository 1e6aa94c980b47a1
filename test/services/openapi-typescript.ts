import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 3 * 60_000;
/** The generator works with the compiler's older interface, which TypeScript 7 does not have: it gets one of its own. */
const DEPENDENCIES = { 'openapi-typescript': '7.13.0', typescript: '5.9.3' };

/**
 * Types of a client, made of an OpenAPI document by the generator that most TypeScript users take. Installed once.
 * @returns null where nothing can be installed.
 */
export async function typesOf(document: object, directory: string): Promise<string | null> {
  const tool = await findGenerator();
  if (tool === null) return null;
  const input = join(directory, 'openapi.json');
  await writeFile(input, JSON.stringify(document));
  const { stdout } = await run(process.execPath, [tool, input], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

async function findGenerator(): Promise<string | null> {
  try {
    const folder = await cached('openapi-typescript-7', async (building) => {
      const manifest = { private: true, dependencies: DEPENDENCIES };
      await writeFile(join(building, 'package.json'), JSON.stringify(manifest));
      const options = { cwd: building, timeout: INSTALL_TIMEOUT_MS };
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], options);
    });
    return join(folder, 'node_modules/openapi-typescript/bin/cli.js');
  } catch (error) {
    console.log(`*** openapi-typescript could not be installed: ${(error as Error).message} ***`);
    return null;
  }
}
