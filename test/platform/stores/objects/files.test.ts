// needs: documents
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { FileObjectStore } from '../../../../src/platform/stores/objects/files.ts';
import { objectsContract } from './contract.ts';

const DAY_MS = 86_400_000;

t.test('as files', async (t) => {
  const objects = new FileObjectStore(join(t.testdir(), 'data/objects'));
  objectsContract(t, () => objects);
});

t.test('a failed put leaves no file behind', async (t) => {
  const directory = t.testdir();
  const objects = new FileObjectStore(directory);
  const failing = Readable.from(
    (async function* () {
      yield Buffer.alloc(100_000);
      throw new Error('the sender went away');
    })(),
  );
  await t.rejects(objects.put('a/b', failing, 'image/png'), /the sender went away/);
  const unnoted = Promise.reject(new Error('nobody noted it'));
  await t.rejects(objects.put('a/b', Buffer.alloc(1_000), 'image/png', unnoted), /nobody noted it/);
  t.same(await readdir(directory, { recursive: true }), ['~tmp']);
});

t.test('a small object that was read before is what another process made of it since', async (t) => {
  const directory = t.testdir();
  const [here, elsewhere] = [new FileObjectStore(directory), new FileObjectStore(directory)];
  const read = async () => {
    const bytes = await here.read('a/logo', 100);
    return bytes && Buffer.from(bytes).toString();
  };
  await elsewhere.put('a/logo', Buffer.from('one'), 'image/png');
  t.equal(await read(), 'one');
  const own = await here.read('a/logo', 100);
  own?.fill(0);
  t.equal(own?.buffer.byteLength, 3, 'it owns its memory');
  t.equal(await read(), 'one', 'what a reader does to its bytes stays its own');
  await t.rejects(here.read('a/logo', 2), RangeError);
  await elsewhere.put('a/logo', Buffer.from('two'), 'image/png');
  t.equal(await read(), 'two');
  await elsewhere.delete('a/logo');
  t.equal(await read(), null);
  await elsewhere.put('a/logo', Buffer.from('three'), 'image/png');
  t.equal(await read(), 'three');
  await here.delete('a/logo');
  t.equal(await read(), null);
});

t.test('what a process that died was writing is removed a day later, and no sooner', async (t) => {
  const directory = t.testdir();
  await mkdir(join(directory, '~tmp'));
  for (const name of ['left', 'in-use']) await writeFile(join(directory, '~tmp', name), 'half');
  const longAgo = new Date(Date.now() - 2 * DAY_MS);
  await utimes(join(directory, '~tmp', 'left'), longAgo, longAgo);
  await new FileObjectStore(directory).ping();
  t.same(await readdir(join(directory, '~tmp')), ['in-use']);
});

t.test('age is told from the instant of storing', async (t) => {
  const directory = t.testdir();
  const objects = new FileObjectStore(directory);
  await objects.put('tmp/old', Buffer.from('x'), 'text/plain');
  await objects.put('tmp/new', Buffer.from('x'), 'text/plain');
  const paths = await readdir(directory, { recursive: true });
  const old = paths.find((path) => path.endsWith('old')) ?? '';
  const longAgo = new Date(Date.now() - DAY_MS);
  await utimes(join(directory, old), longAgo, longAgo);
  t.same(await objects.listOlder('tmp/', Date.now() - DAY_MS / 2, 10), ['tmp/old']);
});

t.test('what the disk refuses is StoreUnavailableError', async (t) => {
  const directory = join(t.testdir({ file: 'not a directory' }), 'file');
  const objects = new FileObjectStore(directory);
  const unavailable = { name: 'StoreUnavailableError' };
  const body = Readable.from([Buffer.from('x')]);
  await t.rejects(objects.put('a', body, 'text/plain'), unavailable);
  t.ok(body.destroyed, 'the sender is let go');
  await t.rejects(objects.get('a'), unavailable);
  await t.rejects(objects.ping(), unavailable);
});
