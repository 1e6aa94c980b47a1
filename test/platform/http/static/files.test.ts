// needs: nothing
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { StaticFiles } from '../../../../src/platform/http/static/files.ts';

const directory = await mkdtemp(join(tmpdir(), 'darkroom-static-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));
const urls = ['page.ts', 'part.ts', 'style.css', 'dot.png'].map((name) =>
  pathToFileURL(join(directory, name)),
);

async function write(part: string): Promise<StaticFiles> {
  await writeFile(
    join(directory, 'page.ts'),
    "import { one } from './part.ts';\nconst two: number = one;\nconsole.log(two);\n",
  );
  await writeFile(join(directory, 'part.ts'), `export const one: number = ${part};\n`);
  await writeFile(join(directory, 'style.css'), 'body { margin: 0 }\n');
  await writeFile(join(directory, 'dot.png'), Buffer.from([1, 2, 255]));
  return new StaticFiles('/x', urls);
}

const nameOf = (address: string) => address.replace('/x/', '');

t.test('TypeScript is served without its types, and its imports lead to addresses', async (t) => {
  const files = await write('1');
  const address = files.addressFor('page.ts');
  t.match(address, /^\/x\/page\.[0-9a-f]{12}\.js$/);
  const { type, body } = files.find(nameOf(address)) ?? {};
  t.match(type, /^text\/javascript/);
  t.notMatch(String(body), ': number');
  t.match(String(body), `from '${files.addressFor('part.ts')}'`);
});

t.test('the address changes with the content, also with that of an import', async (t) => {
  const before = (await write('1')).addressFor('page.ts');
  const after = (await write('2')).addressFor('page.ts');
  t.not(before, after);
});

t.test('an address that another process gave out is answered; one of other content is not', async (t) => {
  const address = (await write('1')).addressFor('page.ts');
  const second = await write('1');
  t.ok(second.find(nameOf(address)));
  t.equal((await write('3')).find(nameOf(address)), undefined);
  for (const name of ['page.ts', 'page.js', '../page.000000000000.js', 'x.000000000000.css'])
    t.equal(second.find(name), undefined, name);
});

t.test('bytes stay bytes', async (t) => {
  const files = await write('1');
  t.same(files.find(nameOf(files.addressFor('dot.png'))), {
    type: 'image/png',
    body: Buffer.from([1, 2, 255]),
  });
  t.throws(() => files.addressFor('nothing.css'), /none of the files/);
});
