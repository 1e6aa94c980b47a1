import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const FOLDER = join(import.meta.dirname, 'results');

/** Writes a result as JSON and as a page, and prints their paths. @returns the path of the JSON. */
export async function writeResult(name: string, result: object, html: string): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(join(FOLDER, `${name}.html`), html);
  console.log(`→ ${relative(process.cwd(), file)} and .html`);
  return file;
}
