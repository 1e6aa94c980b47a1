// needs: nothing
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeWritableFolder } from '../../bench/results.ts';
import { makeFolder } from '../../src/platform/folders.ts';

t.test('a folder is made with its parents, and one that is there stays', async (t) => {
  const path = join(t.testdir(), 'a', 'b');
  makeFolder(path, 0o700);
  makeFolder(path);
  t.equal(statSync(path).mode & 0o777, 0o700);
});

t.test('a folder that cannot be made is an error of the system, in /proc too', async (t) => {
  const file = join(t.testdir(), 'file');
  writeFileSync(file, '');
  t.throws(() => makeFolder(file), { code: 'EEXIST' });
  t.throws(() => makeFolder(join(file, 'a', 'b')), { code: 'ENOTDIR' });
  for (const path of ['/proc/nothing', '/proc/nothing/here'])
    t.throws(() => makeFolder(path), { code: 'ENOENT' });
});

t.test('the folder of results is refused with the option that names another', async (t) => {
  for (const folder of ['/proc/nothing', '~/results'])
    t.throws(() => makeWritableFolder(folder, '--out'), {
      message: /cannot be written: .*another folder by --out/,
    });
});
