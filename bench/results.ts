import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const FOLDER = join(import.meta.dirname, 'results');

/**
 * Writes a result as JSON and as a page under a name of its own, and prints their paths.
 * @param folder of `--out`; empty: bench/results.
 * @returns the path of the JSON.
 */
export async function writeResult(
  name: string,
  { result, html, folder = '' }: { result: object; html: string; folder?: string },
): Promise<string> {
  const target = folder || FOLDER;
  await mkdir(target, { recursive: true });
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const file = await writeNew(join(target, `${name}-${stamp}`), `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(file.replace(/json$/, 'html'), html);
  console.log(`→ ${relative(process.cwd(), file)} and .html`);
  return file;
}

/** Writes a file that is not there yet: two results of one second get two names. */
async function writeNew(path: string, text: string): Promise<string> {
  for (let turn = 1; ; turn += 1) {
    const file = `${path}${turn === 1 ? '' : `-${turn}`}.json`;
    try {
      await writeFile(file, text, { flag: 'wx' });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
