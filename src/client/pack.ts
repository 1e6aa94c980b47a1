import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * `npm run client:pack`: makes the package of the client. The package contains JavaScript and declarations, because
 * browsers and Node 20 do not run TypeScript. The compiler writes them to a temporary folder.
 */
const runProgram = promisify(execFile);
const CLIENT_FOLDER = import.meta.dirname;
const REPOSITORY_ROOT = join(CLIENT_FOLDER, '../..');
/**
 * The path of the TypeScript compiler for Node. The file of the `tsc` command is not used: it has no extension, so some
 * loaders take it for CommonJS.
 */
export const TSC_PATH = join(REPOSITORY_ROOT, 'node_modules/typescript/lib/tsc.js');

if (import.meta.main) console.log(await packClient(process.cwd()));

/** Writes the package into a folder. @returns the path of the file. */
export async function packClient(folder: string): Promise<string> {
  const built = await mkdtemp(join(tmpdir(), 'darkroom-client-'));
  try {
    await compileClient(built);
    for (const file of ['package.json', 'README.md']) await cp(join(CLIENT_FOLDER, file), join(built, file));
    await cp(join(REPOSITORY_ROOT, 'LICENSE'), join(built, 'LICENSE'));
    const { stdout } = await runProgram('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: built,
    });
    return join(folder, JSON.parse(stdout)[0].filename);
  } finally {
    await rm(built, { recursive: true, force: true });
  }
}

/** Compiles the client into a folder: JavaScript without comments, and declarations with comments. */
export async function compileClient(folder: string): Promise<void> {
  const target = ['-p', CLIENT_FOLDER, '--outDir', folder];
  await runProgram(process.execPath, [TSC_PATH, ...target, '--removeComments']);
  await runProgram(process.execPath, [TSC_PATH, ...target, '--declaration', '--emitDeclarationOnly']);
}
