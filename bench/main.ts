import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { page } from './page.ts';
import type { Suite } from './suite.ts';

/**
 * `npm run bench -- transform render …`: runs suites by name, all of them without one. Prints tables, and writes each
 * result as JSON and as an HTML page into bench/results/.
 */
const SUITES: Record<string, () => Promise<Suite>> = {
  transform: () => import('./transform.ts'),
  stores: () => import('./stores.ts'),
  render: () => import('./render.ts'),
  presets: () => import('./presets.ts'),
  memory: () => import('./memory.ts'),
};

const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const names = asked.length === 0 ? Object.keys(SUITES) : asked;
for (const name of names) {
  const load = SUITES[name];
  if (load === undefined) {
    console.error(`There is no suite ${name}: ${Object.keys(SUITES).join(', ')}.`);
    process.exit(1);
  }
  const { run } = await load();
  const result = {
    suite: name,
    at: new Date().toISOString(),
    cores: cpus().length,
    node: process.version,
    ...(await run()),
  };
  const folder = join(import.meta.dirname, 'results');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(join(folder, `${name}.html`), page(result));
  console.log(`→ bench/results/${name}.json and .html`);
}
process.exit(0);
