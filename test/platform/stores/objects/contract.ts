import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import type { ObjectStore } from '../../../../src/platform/stores/objects/port.ts';

const MEGABYTE = 1_048_576;
const HOUR_MS = 3_600_000;

/** The promises of an object store, for every implementation of it. */
export function objectsContract(t: Test, open: () => ObjectStore): void {
  const key = () => `contract/${randomText(16)}`;

  t.test('bytes come back as they went, with their size and type', async (t) => {
    const objects = open();
    for (const sizeBytes of [0, 1, 70_000]) {
      const bytes = randomBytes(sizeBytes);
      const name = key();
      t.same(await objects.put(name, bytes, 'image/svg+xml; charset=utf-8'), { sizeBytes });
      const object = await objects.get(name);
      t.match(object, { sizeBytes, contentType: 'image/svg+xml; charset=utf-8' });
      t.ok(object && bytes.equals(await buffer(object.body)));
    }
  });

  t.test('a stream of any size is stored', async (t) => {
    const objects = open();
    for (const sizeBytes of [0, 5 * MEGABYTE, 16 * MEGABYTE, 20 * MEGABYTE + 1]) {
      const bytes = randomBytes(sizeBytes);
      const name = key();
      t.same(await objects.put(name, Readable.from(chunksOf(bytes)), 'image/png'), { sizeBytes });
      const read = await objects.read(name, sizeBytes);
      t.ok(read && bytes.equals(read), `${sizeBytes} bytes`);
    }
  });

  t.test('a whole read owns its memory and keeps to its limit', async (t) => {
    const objects = open();
    const name = key();
    await objects.put(name, randomBytes(1000), 'image/png');
    const read = await objects.read(name, 1000);
    t.equal(read?.byteOffset, 0);
    t.equal(read?.buffer.byteLength, 1000);
    await t.rejects(objects.read(name, 999), { name: 'RangeError' });
  });

  t.test('a range is inclusive, and cut at the end', async (t) => {
    const objects = open();
    const name = key();
    await objects.put(name, Buffer.from('0123456789'), 'text/plain');
    const ranged = async (start: number, end: number) => {
      const object = await objects.get(name, { start, end });
      return object && [object.sizeBytes, (await buffer(object.body)).toString()];
    };
    t.same(await ranged(0, 0), [10, '0']);
    t.same(await ranged(3, 5), [10, '345']);
    t.same(await ranged(8, 99), [10, '89']);
    await t.rejects(ranged(10, 12), { name: 'RangeError' });
  });

  t.test('a stream that fails leaves nothing, whatever was there stays', async (t) => {
    const objects = open();
    for (const sizeBytes of [100, 10 * MEGABYTE]) {
      const name = key();
      const failing = () => Readable.from(failingAfter(randomBytes(sizeBytes)));
      await t.rejects(objects.put(name, failing(), 'image/png'), { message: 'the sender went away' });
      t.equal(await objects.get(name), null);
      await objects.put(name, Buffer.from('before'), 'text/plain');
      await t.rejects(objects.put(name, failing(), 'image/png'));
      t.equal(Buffer.from((await objects.read(name, 100)) ?? []).toString(), 'before');
    }
  });

  t.test('an object is there when its note is, and never without it', async (t) => {
    const objects = open();
    for (const body of [() => randomBytes(1000), () => Readable.from(chunksOf(randomBytes(1000)))]) {
      const name = key();
      const note = Promise.withResolvers<void>();
      const putting = objects.put(name, body(), 'image/png', note.promise);
      // Others that begin after it have been stored long since.
      for (let others = 0; others < 3; others += 1) await objects.put(key(), randomBytes(1000), 'image/png');
      t.equal(await objects.get(name), null);
      note.resolve();
      t.same(await putting, { sizeBytes: 1000 });
      t.ok(await objects.read(name, 1000));

      const unnoted = key();
      const refused = Promise.reject(new Error('nobody noted it'));
      await t.rejects(objects.put(unnoted, body(), 'image/png', refused), { message: 'nobody noted it' });
      t.equal(await objects.get(unnoted), null);
    }
  });

  t.test('a second put replaces the first whole, for readers of the first too', async (t) => {
    const objects = open();
    const name = key();
    const first = randomBytes(300_000);
    await objects.put(name, first, 'image/png');
    const reading = await objects.get(name);
    await objects.put(name, Buffer.from('second'), 'text/plain');
    t.ok(reading && first.equals(await buffer(reading.body)));
    const now = await objects.get(name);
    t.match(now, { sizeBytes: 6, contentType: 'text/plain' });
    t.equal(now && (await buffer(now.body)).toString(), 'second');
  });

  t.test('what is deleted, or never was, is not there', async (t) => {
    const objects = open();
    const name = key();
    await objects.put(name, Buffer.from('x'), 'text/plain');
    await objects.delete(name);
    await objects.delete(name);
    t.equal(await objects.get(name), null);
    t.equal(await objects.read(name, 10), null);
    t.equal(await objects.get(name, { start: 0, end: 1 }), null);
  });

  t.test('older objects are listed by prefix, a page at a time', async (t) => {
    const objects = open();
    const prefix = `sweep-${randomText(8)}`;
    const names = Array.from({ length: 25 }, (_, i) => `${prefix}/deep/${i}`);
    await Promise.all(names.map((name) => objects.put(name, Buffer.from('x'), 'text/plain')));
    await objects.put(`${prefix}-other/1`, Buffer.from('x'), 'text/plain');
    const later = Date.now() + HOUR_MS;
    t.same(await objects.listOlder(`${prefix}/`, Date.now() - HOUR_MS, 100), [], 'all are young');
    t.same((await objects.listOlder(`${prefix}/`, later, 100)).toSorted(), names.toSorted());
    t.same(await objects.listOlder(`${prefix}-o`, later, 100), [`${prefix}-other/1`]);
    t.same(await objects.listOlder(`${prefix}/deep/7`, later, 100), [`${prefix}/deep/7`]);
    t.same(await objects.listOlder('nothing-here/', later, 100), []);

    const swept = [];
    for (let page = 0; page < 4; page++) {
      const keys = await objects.listOlder(`${prefix}/`, later, 10);
      t.ok(keys.length <= 10);
      swept.push(...keys);
      await Promise.all(keys.map((name) => objects.delete(name)));
    }
    t.same(swept.toSorted(), names.toSorted());
  });

  t.test('objects are listed by prefix, with their size and the instant of their put', async (t) => {
    const objects = open();
    const prefix = `list-${randomText(8)}`;
    const beforeMs = Date.now() - HOUR_MS;
    for (let index = 1; index <= 3; index += 1)
      await objects.put(`${prefix}/deep/${index}`, Buffer.alloc(1_000 * index), 'text/plain');
    await objects.put(`${prefix}-other/1`, Buffer.from('x'), 'text/plain');
    const listed = await objects.list(`${prefix}/`);
    t.same(
      listed.map(({ key }) => key).toSorted(),
      [1, 2, 3].map((index) => `${prefix}/deep/${index}`),
    );
    for (const { key, bytes, storedMs } of listed) {
      const contentBytes = 1_000 * Number(key.at(-1));
      t.ok(bytes >= contentBytes && bytes < contentBytes + 300, `${bytes} bytes`);
      t.ok(storedMs > beforeMs && storedMs < Date.now() + HOUR_MS);
    }
    t.same(await objects.list('nothing-here/'), []);
  });

  t.test('a key is a path within the store, or no key', async (t) => {
    const objects = open();
    for (const bad of [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '..',
      'a/../b',
      './a',
      'a b',
      'a\0b',
      '~tmp/a',
      'a'.repeat(201),
    ]) {
      await t.rejects(
        objects.put(bad, Buffer.from('x'), 'text/plain'),
        { name: 'TypeError' },
        JSON.stringify(bad),
      );
      await t.rejects(objects.get(bad), { name: 'TypeError' }, JSON.stringify(bad));
      await t.rejects(objects.delete(bad), { name: 'TypeError' }, JSON.stringify(bad));
    }
    for (const good of ['..a', 'a/b', 'a/b/c', '...', '3f/a.B-c_9']) {
      const name = `${key()}/${good}`;
      await objects.put(name, Buffer.from(good), 'text/plain');
      t.equal(Buffer.from((await objects.read(name, 100)) ?? []).toString(), good);
    }
  });

  t.test('writing bytes that were transferred is reported as a bug, not as a failed store', async (t) => {
    const objects = open();
    const name = key();
    const bytes = new Uint8Array(10);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    await t.rejects(objects.put(name, bytes, 'image/png'), { name: 'TypeError' });
    t.equal(await objects.get(name), null);
  });

  t.test('racing puts of one key leave one of them, whole', async (t) => {
    const objects = open();
    const name = key();
    const bodies = Array.from({ length: 8 }, () => randomBytes(100_000));
    await Promise.all(bodies.map((body) => objects.put(name, body, 'image/png')));
    const kept = await objects.read(name, 100_000);
    t.ok(bodies.some((body) => kept && body.equals(kept)));
  });

  t.test('it answers a ping', async (t) => {
    await t.resolves(open().ping());
  });
}

/** In pieces of an odd size, as sockets give them. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 65_537) yield bytes.subarray(start, start + 65_537);
}

function* failingAfter(bytes: Buffer): Generator<Buffer> {
  yield* chunksOf(bytes);
  throw new Error('the sender went away');
}
