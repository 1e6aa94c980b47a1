import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { makeFolder } from '../src/platform/folders.ts';
import { type FlatResult, FORMATS, type Format } from './report/formats.ts';

/** Folder of the results, unless --out names another. */
export const RESULTS_FOLDER = join(import.meta.dirname, 'results');

/**
 * Creates a folder for results, and checks that it can be written. This is called before a run of many minutes.
 * @param option the option that names the folder.
 * @throws Error that names the fix if the folder cannot be written.
 */
export function makeWritableFolder(folder: string, option: string): void {
  try {
    if (folder.startsWith('~')) throw new Error('the shell did not expand its ~');
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new Error(
      `${folder} cannot be written: ${(error as Error).message}. Name another folder by ${option}.`,
      {
        cause: error,
      },
    );
  }
}

/** A result, in each form in which it is written. */
interface ResultFiles {
  /** Contents of the JSON file. */
  result: object;
  html: string;
  /** Folder of `--out`; empty: bench/results. */
  folder?: string;
  /** Files for other programs. */
  formats?: readonly Format[];
  flat?: FlatResult;
}

/**
 * Writes a result as JSON, as a page and in the formats that were asked for, under its own name, and prints their
 * paths.
 * @returns the path of the JSON.
 */
export async function writeResult(name: string, written: ResultFiles): Promise<string> {
  const { result, html, folder = '', formats = [], flat } = written;
  const target = folder || RESULTS_FOLDER;
  makeFolder(target);
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const file = await writeNew(join(target, `${name}-${stamp}`), `${JSON.stringify(result, null, 2)}\n`);
  const writeSibling = (ending: string, text: string) => writeFile(file.replace(/json$/, ending), text);
  await writeSibling('html', html);
  const endings = ['.html'];
  if (flat !== undefined)
    for (const format of formats) {
      const { ending, write } = FORMATS[format];
      await writeSibling(ending, write(flat));
      endings.push(`.${ending}`);
    }
  console.log(`→ ${relative(process.cwd(), file)}, ${endings.join(', ')}`);
  return file;
}

/** Writes a new file. If a result of the same second has the name, a number is added. */
async function writeNew(path: string, text: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const file = `${path}${count === 1 ? '' : `-${count}`}.json`;
    try {
      await writeFile(file, text, { flag: 'wx' });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

const ROOT = join(import.meta.dirname, '..');

/**
 * Short name of a commit of this repository.
 * @param ref a commit, branch or tag; without it, the one that is checked out, with `-dirty` if files were changed.
 * @returns null for an unknown ref, and outside a checkout.
 */
export function commitOf(ref?: string): string | null {
  const args =
    ref === undefined
      ? ['describe', '--always', '--dirty', '--exclude', '*']
      : ['rev-parse', '--short', '--verify', '--end-of-options', `${ref}^{commit}`];
  try {
    const stdio: 'pipe'[] = ['pipe', 'pipe', 'pipe'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio }).trim();
  } catch {
    return null;
  }
}
