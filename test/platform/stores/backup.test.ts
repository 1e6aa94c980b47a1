// needs: nothing
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { backUpEmbeddedStores } from '../../../src/platform/stores/backup.ts';

/** A data directory with one object and with a file in the place of its documents. */
function dataDirectory(folder: string, documents: 'whole' | 'damaged'): string {
  const directory = join(folder, documents);
  mkdirSync(join(directory, 'objects'), { recursive: true });
  writeFileSync(join(directory, 'objects/one'), 'bytes');
  const path = join(directory, 'documents.sqlite');
  if (documents === 'damaged') writeFileSync(path, 'no database'.repeat(500));
  else new DatabaseSync(path).exec('CREATE TABLE things (id TEXT)');
  return directory;
}

t.test('a backup gets its final name only when it is complete', async (t) => {
  const folder = t.testdir();
  const copy = join(folder, 'copy');
  const held: string[][] = [];
  const { objects } = await backUpEmbeddedStores(dataDirectory(folder, 'whole'), copy, () => {
    held.push(readdirSync(folder).filter((name) => name.startsWith('copy')));
  });
  t.equal(objects, 1);
  t.same(held, [['copy.partial'], ['copy.partial']]);
  t.same(readdirSync(copy).sort(), ['documents.sqlite', 'objects']);
  t.notOk(existsSync(`${copy}.partial`));
});

t.test('a failed backup leaves nothing, and the error names the rest of an interrupted one', async (t) => {
  const folder = t.testdir();
  const copy = join(folder, 'copy');
  await t.rejects(backUpEmbeddedStores(dataDirectory(folder, 'damaged'), copy), {
    message: /^The copy was not made, and nothing of it remains: .*not a database.* another directory\.$/,
  });
  t.same(readdirSync(folder), ['damaged']);
  mkdirSync(`${copy}.partial`);
  await t.rejects(backUpEmbeddedStores(dataDirectory(folder, 'whole'), copy), {
    message: /copy\.partial exists already: .* interrupted\. Delete it in that case\.$/,
  });
  t.notOk(existsSync(copy));
});
