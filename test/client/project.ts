import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import root, { type Test } from 'tap';
import { packClient, TSC_PATH } from '../../src/client/pack.ts';

const run = promisify(execFile);
export const ROOT = join(import.meta.dirname, '../..');
const MODULES = join(ROOT, 'node_modules');
const README = join(ROOT, 'src/client/README.md');

/** What a program said. */
export interface Said {
  code: number | string;
  stdout: string;
  stderr: string;
}

/** A project of somebody else with the packed client in it. It goes when the test ends. */
export interface Project {
  folder: string;
  /** Runs a program there. */
  run(program: string, args: readonly string[], env?: Record<string, string>): Promise<Said>;
}

let packed: Promise<string> | undefined;

/** Packs the client into a folder that goes with this process. */
async function pack(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-packed-'));
  root.teardown(() => rm(folder, { recursive: true, force: true }));
  return packClient(folder);
}

/** An empty project with the packed client installed into it, without a network. */
export async function clientProject(t: Test): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-project-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  packed ??= pack();
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', await packed], { cwd: folder });
  return {
    folder,
    async run(program, args, env = {}) {
      try {
        const options = { cwd: folder, env: { ...process.env, ...env }, timeout: 600_000 };
        return { code: 0, ...(await run(program, args, options)) };
      } catch (error) {
        const { code, signal, stdout, stderr } = error as Said & { signal: string | null };
        return { code: code ?? signal ?? 'unknown', stdout, stderr };
      }
    },
  };
}

/** Compiles files of a project with the options of a caller. @param types packages of types, such as node. */
export async function compile(
  { folder, run }: Project,
  files: readonly string[],
  types: readonly string[],
): Promise<Said> {
  const options = {
    ...{ strict: true, noEmit: true, target: 'es2023', module: 'nodenext', exactOptionalPropertyTypes: true },
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    ...{ types, typeRoots: [join(MODULES, '@types')], skipLibCheck: types.length > 0 },
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  return run(process.execPath, [TSC_PATH, '-p', folder]);
}

/** The examples of the README in a language, by the heading that they stand under. */
export async function examplesOf(language: 'ts' | 'sh'): Promise<Map<string, string>> {
  const sections = (await readFile(README, 'utf8')).split(/^## /m).slice(1);
  const examples = sections.flatMap((section) => {
    const [title = ''] = section.split('\n');
    const [, code] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(section) ?? [];
    return code === undefined ? [] : [[title, code] as const];
  });
  return new Map(examples);
}

/** A Node of another major version on the path; null where there is none. */
export async function otherNode(major: number): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const program = join(folder, 'node');
    const said = await run(program, ['--version']).catch(() => null);
    if (said?.stdout.startsWith(`v${major}.`)) return program;
  }
  return null;
}
