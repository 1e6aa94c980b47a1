import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { TSC_PATH } from '../../../src/client/pack.ts';
import { npmInstalled } from './npm.ts';
import { pipInstalled } from './pip.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/**
 * The generators of TypeScript. They work with the compiler's older interface, which TypeScript 7 does not have, and
 * get one of their own.
 */
const GENERATORS = {
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  '@hey-api/openapi-ts': '0.99.0',
  typescript: '5.9.3',
};
const OPENAPI_PYTHON_CLIENT = '0.29.1';
const NODE_TYPES = join(import.meta.dirname, '../../../node_modules/@types');
/** The generators read these too: hey-api writes its imports as `nodenext` asks. */
const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: true,
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  module: 'nodenext',
  typeRoots: [NODE_TYPES],
  types: ['node'],
  outDir: 'built',
};

/** The result of a compiler or a program. `code` is its exit code, or the signal that ended it. */
export interface Outcome {
  code: number | string;
  stdout: string;
  stderr: string;
}

/** The outcome of a compiler without messages. */
export const SILENT: Outcome = { code: 0, stdout: '', stderr: '' };

/** A folder with a generated client, where programs of it are compiled and run. It goes when the test ends. */
export interface ClientProject {
  /** Compiles sources by name, each as `name`.ts, into built/`name`.js, also where there are errors. */
  compile(sources: Readonly<Record<string, string>>): Promise<Outcome>;
  /** Runs what `compile` made. */
  start(name: string, args: readonly string[]): Promise<Outcome>;
}

/** Installs both generators of TypeScript once; null if that cannot be done. */
export async function installGenerators(): Promise<true | null> {
  return (await npmInstalled(GENERATORS)) === null ? null : true;
}

/**
 * Types of a client, made of an OpenAPI document by the generator that most TypeScript users take, in interface.d.ts;
 * openapi-fetch makes the calls. Installed once.
 * @returns null if nothing can be installed.
 */
export async function openapiTypescriptClient(t: Test, document: object): Promise<ClientProject | null> {
  const packages = await npmInstalled(GENERATORS);
  if (packages === null) return null;
  const { folder, project } = await projectOf(t, packages, document);
  const tool = join(packages, 'openapi-typescript/bin/cli.js');
  const args = [tool, join(folder, 'openapi.json'), '-o', join(folder, 'interface.d.ts')];
  await run(process.execPath, args, { maxBuffer: MAX_OUTPUT_BYTES });
  return project;
}

/**
 * A client made by hey-api in client/, with functions that send and receive. Installed once.
 * @returns null if nothing can be installed.
 */
export async function heyApiClient(t: Test, document: object): Promise<ClientProject | null> {
  const packages = await npmInstalled(GENERATORS);
  if (packages === null) return null;
  const { folder, project } = await projectOf(t, packages, document);
  const args = ['-i', 'openapi.json', '-o', 'client', '-c', '@hey-api/client-fetch', '--silent'];
  await run(join(packages, '.bin/openapi-ts'), args, { cwd: folder });
  return project;
}

/** A folder with a generated package, where programs that import it run. It goes when the test ends. */
export interface PythonProject {
  /** What the generator said that is to be looked at. */
  findings: string;
  run(source: string, args: readonly string[]): Promise<Outcome>;
}

/**
 * A client made by openapi-python-client, as the package `darkroom`. Installed once.
 * @returns null if there is no Python, or nothing can be installed.
 */
export async function pythonClient(t: Test, document: object): Promise<PythonProject | null> {
  const otherwise = 'the Python client is NOT tested.';
  const tool = await pipInstalled('openapi-python-client', OPENAPI_PYTHON_CLIENT, otherwise);
  if (tool === null) return null;
  const { python, env } = tool;
  const cwd = await mkdtemp(join(tmpdir(), 'darkroom-python-'));
  t.teardown(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'openapi.json'), JSON.stringify(document));
  // The generator formats what it made with a program beside it.
  const path = { PATH: `${join(tool.folder, 'bin')}:${env.PATH}` };
  const named = ['--path', 'openapi.json', '--meta', 'none', '--output-path', 'darkroom'];
  const args = [join(tool.folder, 'bin/openapi-python-client'), 'generate', ...named];
  const { stdout, stderr } = await run(python, args, { cwd, env: { ...env, ...path } });
  return {
    findings: stdout + stderr,
    async run(source, args) {
      await writeFile(join(cwd, 'program.py'), source);
      return outcomeOf(['program.py', ...args], cwd, { program: python, env });
    },
  };
}

/** @param packages the folder node_modules that programs of the client find. */
async function projectOf(t: Test, packages: string, document: object) {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-client-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await symlink(packages, join(folder, 'node_modules'));
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const select = (files: string[]) =>
    writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files }));
  await select([]);
  const project: ClientProject = {
    async compile(sources) {
      for (const [name, source] of Object.entries(sources))
        await writeFile(join(folder, `${name}.ts`), source);
      await select(Object.keys(sources).map((name) => `${name}.ts`));
      return outcomeOf([TSC_PATH, '-p', '.'], folder);
    },
    start: (name, args) => outcomeOf([join(folder, `built/${name}.js`), ...args], folder),
  };
  return { folder, project };
}

/** Runs a script, of Node where no other program is named; a failure is an outcome too. */
async function outcomeOf(
  args: readonly string[],
  cwd: string,
  { program = process.execPath, env = process.env } = {},
): Promise<Outcome> {
  try {
    return { code: 0, ...(await run(program, args, { cwd, env, maxBuffer: MAX_OUTPUT_BYTES })) };
  } catch (error) {
    const { code, signal, stdout, stderr } = error as Outcome & { signal: string | null };
    return { code: code ?? signal ?? 'unknown', stdout, stderr };
  }
}
