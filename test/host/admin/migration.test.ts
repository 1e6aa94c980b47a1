// needs: mongodb
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { dropDatabase, randomDatabase, startMongo } from '../../../bench/services/mongodb.ts';
import { type MigrationStores, migrateStores } from '../../../src/host/admin/migration.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import type { DocumentWithId } from '../../../src/platform/stores/documents/port.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';

interface Thing extends DocumentWithId {
  accountId: string;
  slug?: string;
  nested: { list: number[]; text: string };
}

const SPEC = {
  name: 'things',
  indexes: [
    {
      name: 'slug',
      fields: [
        ['accountId', 1],
        ['slug', 1],
      ] as const,
      unique: true,
      whenPresent: ['slug'],
    },
    { name: 'account', fields: [['accountId', 1]] as const },
  ],
};
const quiet = () => undefined;

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'darkroom-migration-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function embeddedSide(t: Test): Promise<MigrationStores> {
  const directory = await folder(t);
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  t.teardown(() => documents.close());
  return { documents, objects: new FileObjectStore(join(directory, 'objects')) };
}

async function filled(side: MigrationStores, count: number): Promise<void> {
  const things = side.documents.collection<Thing>(SPEC);
  await things.insertMany(
    Array.from({ length: count }, (_, n) => ({
      _id: `thing${String(n).padStart(6, '0')}`,
      accountId: `acc${n % 7}`,
      ...(n % 3 === 0 && { slug: `slug-${n}` }),
      nested: { list: [n, n + 1], text: `ä ${n} "quoted"` },
    })),
  );
  for (let n = 0; n < 12; n += 1)
    await side.objects.put(`assets/a${n}/file`, Buffer.alloc(1000 + n, n), 'image/png');
}

/** A target that dies after so many batches of documents. */
function dyingAfter(side: MigrationStores, batches: number): MigrationStores {
  let left = batches;
  return {
    objects: side.objects,
    documents: {
      ...side.documents,
      collection<T extends DocumentWithId>(spec: Parameters<MigrationStores['documents']['collection']>[0]) {
        const collection = side.documents.collection<T>(spec);
        return {
          ...collection,
          async insertMany(documents: readonly T[]) {
            left -= 1;
            if (left < 0) throw new Error('killed');
            return collection.insertMany(documents);
          },
        };
      },
    },
  };
}

t.test(
  'everything is copied from embedded to embedded, goes on after a death, and is the same',
  async (t) => {
    const [from, to] = [await embeddedSide(t), await embeddedSide(t)];
    await filled(from, 1_700);
    await t.rejects(migrateStores(from, dyingAfter(to, 2), quiet), /killed/);
    const report = await migrateStores(from, to, quiet);
    t.same(report, { collections: { things: 1_700 }, objects: 12, bytes: 12 * 1000 + 66 });
    const things = to.documents.collection<Thing>(SPEC);
    t.same(await things.findOne({ _id: 'thing000003' }), {
      _id: 'thing000003',
      accountId: 'acc3',
      slug: 'slug-3',
      nested: { list: [3, 4], text: 'ä 3 "quoted"' },
    });
    await t.rejects(
      things.insertOne({ _id: 'x', accountId: 'acc3', slug: 'slug-3', nested: { list: [], text: '' } }),
      { name: 'DuplicateKeyError' },
      'the laws of the indexes hold there too',
    );
    t.same(Buffer.from((await to.objects.read('assets/a5/file', 9_999)) ?? []), Buffer.alloc(1005, 5));
  },
);

t.test('a target that holds something else is refused, and what changed since is copied again', async (t) => {
  const [from, to, other] = [await embeddedSide(t), await embeddedSide(t), await embeddedSide(t)];
  await filled(from, 30);
  await filled(other, 1);
  await t.rejects(migrateStores(from, other, quiet), /The target holds things already/);
  await t.rejects(migrateStores(from, dyingAfter(to, 0), quiet), /killed/);
  const half = to.documents.collection<Thing>(SPEC);
  await half.insertOne({ _id: 'thing000001', accountId: 'old', nested: { list: [], text: 'old' } });
  await migrateStores(from, to, quiet);
  t.match(await half.findOne({ _id: 'thing000001' }), { accountId: 'acc1' });
});

t.test('a document that is there alone is told as a difference', async (t) => {
  const [from, to] = [await embeddedSide(t), await embeddedSide(t)];
  await filled(from, 5);
  await t.rejects(migrateStores(from, dyingAfter(to, 0), quiet), /killed/);
  const there = to.documents.collection<Thing>(SPEC);
  await there.insertOne({ _id: 'alone', accountId: 'a', nested: { list: [], text: '' } });
  await t.rejects(
    migrateStores(from, to, quiet),
    /things differs after the copy \(5 documents here, 6 there\)/,
  );
});

const mongo = await startMongo();
t.test('to MongoDB and back', { skip: mongo === null && 'no MongoDB' }, async (t) => {
  const url = randomDatabase(mongo?.url ?? '');
  const documents = connectMongoDocuments(url);
  t.teardown(async () => {
    await documents.close();
    await dropDatabase(url);
    await mongo?.stop();
  });
  const [from, back] = [await embeddedSide(t), await embeddedSide(t)];
  const cluster = { documents, objects: new FileObjectStore(await folder(t)) };
  await filled(from, 1_200);
  const there = await migrateStores(from, cluster, quiet);
  t.same(there.collections, { things: 1_200 });
  t.same((await migrateStores(cluster, back, quiet)).collections, { things: 1_200 });
  t.match(
    (await back.documents.collections())
      .find(({ name }) => name === 'things')
      ?.indexes.find(({ name }) => name === 'slug'),
    { unique: true, whenPresent: ['slug'] },
    'indexes come along',
  );
});
