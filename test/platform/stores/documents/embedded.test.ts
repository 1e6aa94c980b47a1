// needs: documents
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { withDirectReads } from '../../../../src/platform/stores/documents/embedded/direct-reader.ts';
import {
  type DocumentFilter,
  StoreUnavailableError,
} from '../../../../src/platform/stores/documents/port.ts';
import { documentsOverChannel, provideDocuments } from '../../../../src/platform/stores/documents/remote.ts';
import { channelPair } from '../channel-pair.ts';
import { documentsContract } from './contract.ts';

/** A file of a test's own. */
function newFile(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-documents-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'documents.sqlite');
}

t.test('in the process that owns them', async (t) => {
  const file = newFile(t);
  let documents = openEmbeddedDocuments(file);
  documentsContract(t, {
    documents,
    async restart() {
      await documents.close();
      documents = openEmbeddedDocuments(file);
      return documents;
    },
  });
  t.test('closed', async (t) => {
    await documents.close();
    await documents.close();
    await t.rejects(documents.ping(), StoreUnavailableError);
  });
});

t.test('a write that SQLite cannot run is a fault of the code, and no outage', async (t) => {
  const documents = openEmbeddedDocuments(newFile(t));
  t.teardown(() => documents.close());
  const items = documents.collection<{ _id: string; rank: number }>({ name: 'items', indexes: [] });
  await items.insertOne({ _id: 'a', rank: 1 });
  let tooDeep: DocumentFilter = { _id: 'a' };
  for (let depth = 0; depth < 1_200; depth++) tooDeep = { $or: [{ rank: depth }, tooDeep] };
  await t.rejects(items.deleteMany(tooDeep), { name: /^Error$/ });
  t.equal(await items.count({}), 1);
});

t.test('over the channel, from an API process', async (t) => {
  const file = newFile(t);
  let owned = openEmbeddedDocuments(file);
  let pair = channelPair();
  provideDocuments(pair.host, owned);

  let documents = withDirectReads(documentsOverChannel(pair.channel), file);
  documentsContract(t, {
    documents,
    async restart() {
      pair.cut();
      await t.rejects(documents.ping(), StoreUnavailableError);
      await documents.close();
      await owned.close();
      owned = openEmbeddedDocuments(file);
      pair = channelPair();
      provideDocuments(pair.host, owned);
      documents = withDirectReads(documentsOverChannel(pair.channel), file);
      return documents;
    },
  });
  t.test('closed', async () => {
    await documents.close();
    await owned.close();
  });
});

t.test('an API process reads a document by its _id in the file, and others by an index', async (t) => {
  const file = newFile(t);
  const owned = openEmbeddedDocuments(file);
  const pair = channelPair();
  provideDocuments(pair.host, owned);
  const documents = withDirectReads(documentsOverChannel(pair.channel), file);
  t.teardown(async () => {
    await documents.close();
    await owned.close();
  });
  interface Thing {
    _id: string;
    owner?: string | string[];
    count?: number;
    nested?: { deep: number };
  }
  const things = documents.collection<Thing>({ name: 'things', indexes: [] });
  await things.insertOne({ _id: 'a', owner: 'one', count: 0, nested: { deep: 1 } });
  await things.insertOne({ _id: 'list', owner: ['one', 'two'] });

  t.test('an acknowledged write is seen by the next read, whoever wrote it', async (t) => {
    const elsewhere = owned.collection<Thing>({ name: 'things', indexes: [] });
    for (let count = 1; count <= 100; count += 1) {
      const writer = count % 2 === 0 ? things : elsewhere;
      await writer.updateOne({ _id: 'a' }, { $inc: { count: 1 } });
      t.equal((await things.findOne({ _id: 'a' }))?.count, count);
    }
    await things.deleteOne({ _id: 'gone' });
    t.equal(await things.findOne({ _id: 'gone' }), null);
  });

  t.test('an index that is added later leaves it reading', async (t) => {
    const fields = [['count', 1]] as const;
    await owned.prepare({ name: 'things', indexes: [{ name: 'count', fields }] });
    t.match(await things.findOne({ _id: 'a' }), { owner: 'one' });
  });

  t.test('a filter of operators is answered by the primary', async (t) => {
    t.match(await things.findOne({ _id: 'list', owner: { $elemMatch: { $eq: 'two' } } }), { _id: 'list' });
    t.match(await things.findOne({ _id: 'a', count: 100 }), { _id: 'a' });
    t.match(await things.findOne({ _id: 'a', 'nested.deep': 1 }), { _id: 'a' });
    t.match(await things.findOne({ _id: { $in: ['a'] } }), { _id: 'a' });
  });

  t.test('without the primary it is still read, and nothing else is', async (t) => {
    pair.cut();
    t.match(await things.findOne({ _id: 'a', owner: 'one' }), { count: 100 });
    t.same(await things.findOne({ _id: 'a' }, { fields: ['nested.deep'] }), {
      _id: 'a',
      nested: { deep: 1 },
    });
    t.equal(await things.findOne({ _id: 'a', owner: 'two' }), null);
    t.equal(await things.findOne({ _id: 'nobody' }), null);
    await t.rejects(things.findOne({ owner: 'one' }), StoreUnavailableError);
    t.match(await things.find({ _id: 'a' }), [{ count: 100 }]);
    await t.rejects(things.find({ owner: 'one' }), StoreUnavailableError);
  });
});

t.test('a file that cannot be read leaves the question to the primary', async (t) => {
  const owned = openEmbeddedDocuments(newFile(t));
  const pair = channelPair();
  provideDocuments(pair.host, owned);
  const documents = withDirectReads(documentsOverChannel(pair.channel), `${newFile(t)}.missing`);
  t.teardown(() => owned.close());
  const things = documents.collection({ name: 'things', indexes: [] });
  await things.insertOne({ _id: 'a' });
  t.same(await things.findOne({ _id: 'a' }), { _id: 'a' });
  await documents.close();
});
