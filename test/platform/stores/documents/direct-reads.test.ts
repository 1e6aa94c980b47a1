// needs: documents
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { withDirectReads } from '../../../../src/platform/stores/documents/embedded/direct-reader.ts';
import { type FindOptions, StoreUnavailableError } from '../../../../src/platform/stores/documents/port.ts';
import { documentsOverChannel, provideDocuments } from '../../../../src/platform/stores/documents/remote.ts';
import { channelPair } from '../channel-pair.ts';

interface Thing {
  _id: string;
  owner: string | null;
  rank?: number;
  code?: string;
  text?: string;
}

const SPEC = {
  name: 'things',
  indexes: [
    {
      name: 'owner',
      fields: [
        ['owner', 1],
        ['rank', -1],
        ['_id', 1],
      ],
    },
    { name: 'code', fields: [['code', 1]], unique: true, whenPresent: ['code'] },
  ],
} as const;

/** Things of two owners, and of nobody, behind a channel that can be cut. */
async function open(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-direct-'));
  const file = join(directory, 'documents.sqlite');
  const owned = openEmbeddedDocuments(file);
  const pair = channelPair();
  provideDocuments(pair.host, owned);
  const documents = withDirectReads(documentsOverChannel(pair.channel), file);
  t.teardown(async () => {
    await documents.close();
    await owned.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await owned.prepare(SPEC);
  const things = documents.collection<Thing>(SPEC);
  await things.insertMany([
    { _id: 'a', owner: 'one', rank: 1, code: 'x' },
    { _id: 'b', owner: 'one', rank: 2 },
    { _id: 'c', owner: 'one', rank: 2 },
    { _id: 'd', owner: 'two', rank: 1 },
    { _id: 'e', owner: null, rank: 7 },
  ]);
  return { things, owned: owned.collection<Thing>(SPEC), pair };
}

t.test('what one index leads to whole is read in the file, in the order of the index', async (t) => {
  const { things, pair } = await open(t);
  pair.cut();
  const ids = async (filter: object, options: FindOptions = {}) =>
    (await things.find({ ...filter }, options)).map(({ _id }) => _id);
  const byRank = [
    ['rank', -1],
    ['_id', 1],
  ] as const;
  const backwards = [
    ['rank', 1],
    ['_id', -1],
  ] as const;
  t.same(await ids({ owner: 'one' }, { sort: byRank }), ['b', 'c', 'a']);
  t.same(await ids({ owner: 'one' }, { sort: backwards }), ['a', 'c', 'b']);
  t.same(await ids({ owner: 'one' }, { sort: byRank, limit: 1 }), ['b']);
  t.same(await ids({ rank: 2, owner: 'one' }, { sort: [['_id', -1]] }), ['c', 'b']);
  t.same(await ids({ owner: null }), ['e']);
  t.same(await ids({ owner: 'nobody' }), []);
  t.match(await things.findOne({ owner: 'one', rank: 1 }), { _id: 'a' });
  t.equal(await things.findOne({ owner: 'three' }), null);
  t.same(await things.find({ owner: 'two' }, { fields: ['rank'] }), [{ _id: 'd', rank: 1 }]);
});

t.test('what would be sorted, filtered or skipped through is asked of the primary', async (t) => {
  const { things, pair } = await open(t);
  pair.cut();
  const asked: Array<[object, FindOptions?]> = [
    [{}],
    [{ rank: 1 }],
    [{ owner: 'one', text: 'not indexed' }],
    [{ owner: 'one' }, { sort: [['_id', 1]] }],
    [{ owner: 'one' }, { sort: [['rank', -1]], skip: 1 }],
    [{ owner: 'one' }, { sort: SPEC.indexes[0].fields.slice(1).map(([field]) => [field, 1] as const) }],
    [{ owner: { $gt: 'a' } }],
    [{ owner: { $in: ['one'] } }],
    [{ $or: [{ owner: 'one' }] }],
    [{ code: 'x' }],
  ];
  for (const [filter, options] of asked)
    await t.rejects(things.find({ ...filter }, options), StoreUnavailableError, JSON.stringify(filter));
  await t.rejects(things.find({ owner: undefined }), TypeError);
});

t.test('an acknowledged write is seen by the next read of a list, whoever wrote it', async (t) => {
  const { things, owned } = await open(t);
  for (let count = 1; count <= 50; count += 1) {
    const writer = count % 2 === 0 ? things : owned;
    await writer.insertOne({ _id: `n${count}`, owner: 'new' });
    t.equal((await things.find({ owner: 'new' })).length, count);
  }
  await owned.updateOne({ _id: 'n1' }, { $set: { owner: 'two' } });
  t.equal((await things.find({ owner: 'new' })).length, 49);
  await owned.deleteMany({ owner: 'new' });
  t.same(await things.find({ owner: 'new' }), []);
});

t.test('a list of long documents is left to the primary, a single one is not', async (t) => {
  const { things, pair } = await open(t);
  const text = 'x'.repeat(40_000);
  await things.insertMany(['1', '2'].map((_id) => ({ _id, owner: 'long', text })));
  t.equal((await things.find({ owner: 'long' })).length, 2);
  pair.cut();
  await t.rejects(things.find({ owner: 'long' }), StoreUnavailableError);
  t.match(await things.findOne({ owner: 'long' }), { text });
  t.match(await things.find({ owner: 'two' }), [{ _id: 'd' }], 'the next read finds its statement whole');
});
