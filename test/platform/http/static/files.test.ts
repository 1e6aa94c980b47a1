// needs: nothing
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { StaticFiles } from '../../../../src/platform/http/static/files.ts';

const directory = await mkdtemp(join(tmpdir(), 'darkroom-static-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));
const urlOf = (name: string) => pathToFileURL(join(directory, name));
const ENTRIES = ['page.ts', 'other.ts', 'style.css', 'dot.png'];
const SOURCES = {
  'page.ts': [
    "import pack from 'pack';",
    "import { twice as doubled } from 'pack';",
    "import { count, type Counted } from './part.ts';",
    'export const counted: Counted = { value: doubled(count()), word: pack };',
    "export const later = () => import('./later.ts');",
  ],
  'other.ts': [
    "import { count as next } from './part.ts';",
    "export { twice } from 'pack';",
    'export class Other {',
    '  readonly value: number = next();',
    '}',
  ],
  'later.ts': [
    "import { own } from './own.ts';",
    "import { count } from './part.ts';",
    'export async function both(): Promise<number[]> {',
    '  return [own, count()];',
    '}',
  ],
  'own.ts': ['const hidden: number = 5;', 'export const own = hidden;'],
  'part.ts': [
    'let calls = 0;',
    'export interface Counted { value: number; word: string }',
    'export function count(): number {',
    '  calls += 1;',
    '  return calls + 0;',
    '}',
  ],
  'pack.mjs': [
    "import { word } from 'words';",
    'export { word as default };',
    'export const twice = (n) => 2 * n;',
  ],
  'words.mjs': ["export const word = 'pack';"],
  'style.css': ["@import './inner.css';", 'body { margin: 0 }'],
  'inner.css': ['p { margin: 1px }'],
};

/** Writes the sources, of which some are changed. */
async function write(changed: Partial<Record<keyof typeof SOURCES, string[]>> = {}): Promise<StaticFiles> {
  for (const [name, lines] of Object.entries({ ...SOURCES, ...changed }))
    await writeFile(join(directory, name), `${lines.join('\n')}\n`);
  await writeFile(join(directory, 'dot.png'), Buffer.from([1, 2, 255]));
  return new StaticFiles('/x', ENTRIES.map(urlOf), { pack: urlOf('pack.mjs'), words: urlOf('words.mjs') });
}

const nameOf = (address: string) => address.replace('/x/', '');
const bodyOf = (files: StaticFiles, address: string) => String(files.find(nameOf(address))?.body);

/** Every file that a file names, with its own, as a browser may load them. */
function addressesFrom(files: StaticFiles, address: string, found = new Set<string>()): Set<string> {
  if (found.has(address)) return found;
  found.add(address);
  for (const [named] of bodyOf(files, address).matchAll(/\/x\/[\w.]+\.js/g))
    addressesFrom(files, named, found);
  return found;
}

t.test('TypeScript is served without its types, and does what its modules do', async (t) => {
  const files = await write();
  const served = await mkdtemp(join(directory, 'served-'));
  for (const entry of ['page.ts', 'other.ts'])
    for (const address of addressesFrom(files, files.addressFor(entry))) {
      const text = bodyOf(files, address);
      t.notMatch(text, /: (?:number|Counted)|interface/, address);
      await writeFile(join(served, `${nameOf(address)}`), text.replaceAll('/x/', './'));
    }
  await writeFile(join(served, 'package.json'), '{"type":"module"}');
  const load = (name: string) => import(join(served, nameOf(files.addressFor(name))));
  const page = await load('page.ts');
  t.same(page.counted, { value: 2, word: 'pack' });
  const other = await load('other.ts');
  t.equal(new other.Other().value, 2, 'what several files import is evaluated once');
  t.equal(other.twice(4), 8);
  t.same(await (await page.later()).both(), [5, 3]);
});

t.test(
  'a page names at once each module that is loaded with it, and none that is loaded later',
  async (t) => {
    const files = await write();
    const addresses = files.addressesFor('page.ts');
    t.same(
      addresses.map((address) => nameOf(address).replace(/\.[0-9a-f]{12}\./, '.')),
      ['page.js', 'pack.js', 'part.js', 'words.js'],
    );
    const later = [...addressesFrom(files, addresses[0] ?? '')].filter(
      (address) => !addresses.includes(address),
    );
    t.match(later[0], /^\/x\/later\./);
    t.match(later[1], /^\/x\/own\./);
    t.match(files.find(nameOf(files.addressFor('page.ts')))?.type, /^text\/javascript/);
  },
);

t.test('the address changes with the content, also with that of an import', async (t) => {
  const before = await write();
  const [page, sheet] = [before.addressFor('page.ts'), before.addressFor('style.css')];
  for (const changed of ['part.ts', 'own.ts', 'words.mjs'] as const) {
    const lines = SOURCES[changed].map((line) =>
      line.replace('5', '6').replace("'pack'", "'word'").replace('+ 0', '- 0'),
    );
    t.not((await write({ [changed]: lines })).addressFor('page.ts'), page, changed);
  }
  t.not((await write({ 'inner.css': ['p { margin: 2px }'] })).addressFor('style.css'), sheet);
});

t.test('a style sheet has those that it imports in their places', async (t) => {
  const files = await write();
  t.equal(bodyOf(files, files.addressFor('style.css')), 'p { margin: 1px }\n\nbody { margin: 0 }\n');
});

t.test('a package that browsers do not get is told of', async (t) => {
  const files = await write({ 'own.ts': ["import lost from 'lost';", 'export const own = lost;'] });
  t.throws(() => files.addressFor('page.ts'), /own\.ts imports lost, which is not a package for browsers/);
});

t.test('an address that another process gave out is answered; one of other content is not', async (t) => {
  const [first, second] = [await write(), await write()];
  for (const address of [...addressesFrom(first, first.addressFor('page.ts')), first.addressFor('style.css')])
    t.ok(second.find(nameOf(address)), address);
  const page = first.addressFor('page.ts');
  t.equal((await write({ 'part.ts': ['export const count = () => 9;'] })).find(nameOf(page)), undefined);
  for (const name of ['page.ts', 'page.js', '../page.000000000000.js', 'x.000000000000.css'])
    t.equal(second.find(name), undefined, name);
});

t.test('bytes stay bytes', async (t) => {
  const files = await write();
  t.same(files.find(nameOf(files.addressFor('dot.png'))), {
    type: 'image/png',
    body: Buffer.from([1, 2, 255]),
  });
  t.throws(() => files.addressFor('nothing.css'), /none of the files/);
});
