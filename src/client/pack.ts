import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * `npm run client:pack`: makes the package of the client. The package holds JavaScript and declarations, because
 * browsers and Node 20 do not run TypeScript. The compiler writes them to a temporary folder.
 */
const run = promisify(execFile);
const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, '../..');
/**
 * The path of the TypeScript compiler, which Node runs. The `tsc` command has no extension, so some loaders take it for
 * CommonJS.
 */
export const TSC_PATH = join(ROOT, 'node_modules/typescript/lib/tsc.js');

if (import.meta.main) console.log(await packClient(process.cwd()));

/** Writes the package into a folder. @returns the path of the file. */
export async function packClient(folder: string): Promise<string> {
  const built = await mkdtemp(join(tmpdir(), 'darkroom-client-'));
  try {
    await compileClient(built);
    for (const file of ['package.json', 'README.md']) await cp(join(FOLDER, file), join(built, file));
    await cp(join(ROOT, 'LICENSE'), join(built, 'LICENSE'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: built });
    return join(folder, JSON.parse(stdout)[0].filename);
  } finally {
    await rm(built, { recursive: true, force: true });
  }
}

/** Compiles the client into a folder: JavaScript without comments, and declarations with them. */
export async function compileClient(folder: string): Promise<void> {
  const target = ['-p', FOLDER, '--outDir', folder];
  await run(process.execPath, [TSC_PATH, ...target, '--removeComments']);
  await run(process.execPath, [TSC_PATH, ...target, '--declaration', '--emitDeclarationOnly']);
}
