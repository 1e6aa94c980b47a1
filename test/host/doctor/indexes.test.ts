// needs: server, mongodb
import { MongoClient } from 'mongodb';
import t from 'tap';
import { COLLECTIONS } from '../../../src/host/collections.ts';
import { checkDocuments, indexesFinding } from '../../../src/host/doctor/mongodb.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import type { ListableDocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { prepared } from '../../support/documents.ts';
import { startServer } from '../../support/harness.ts';

const withIndexes = COLLECTIONS.filter(({ indexes }) => indexes.length > 0);

t.test('every collection that a running service made is declared, with its indexes', async (t) => {
  const server = await startServer(t);
  const made = await (server.stores.documents as ListableDocumentStore).collections();
  // Records of Idempotency-Keys are the embedded coordination's.
  const ofSlices = made.filter(({ name }) => name !== 'idempotency');
  const declared = COLLECTIONS.map(({ name, indexes }) => ({
    name,
    indexes: indexes.map(({ name }) => name),
  }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  t.same(
    ofSlices
      .map(({ name, indexes }) => ({ name, indexes: indexes.map((index) => index.name).toSorted() }))
      .toSorted(byName),
    declared.map(({ name, indexes }) => ({ name, indexes: indexes.toSorted() })).toSorted(byName),
  );
  t.equal(indexesFinding(COLLECTIONS, made).state, 'ok');
});

t.test('indexes that are missing or declared otherwise are named, a unique one as a problem', async (t) => {
  const without = (name: string) =>
    COLLECTIONS.map((spec) => ({ ...spec, indexes: spec.indexes.filter((index) => index.name !== name) }));
  const [law] = withIndexes.flatMap(({ name, indexes }) =>
    indexes.filter(({ unique }) => unique).map((index) => ({ collection: name, index: index.name })),
  );
  const [help] = withIndexes.flatMap(({ indexes }) => indexes.filter(({ unique }) => !unique));
  const broken = indexesFinding(COLLECTIONS, without(law?.index ?? ''));
  t.match(broken, { state: 'problem', remedy: /Restart the service/ });
  t.match(broken.message, `${law?.collection}.${law?.index} (unique)`);
  t.equal(indexesFinding(COLLECTIONS, without(help?.name ?? '')).state, 'warning');
  const turned = COLLECTIONS.map((spec) => ({
    ...spec,
    indexes: spec.indexes.map((index) => ({ ...index, unique: false })),
  }));
  t.match(indexesFinding(COLLECTIONS, turned), { state: 'problem', message: /declares them differently/ });
  t.match(indexesFinding(COLLECTIONS, []), { state: 'ok', message: /is empty/ });
});

t.test('an index that was dropped in MongoDB is found', async (t) => {
  if (process.env.MONGODB_URL === undefined) return t.pass('skipped: there is no MongoDB');
  const url = new URL(process.env.MONGODB_URL);
  url.pathname = `/doctor-${randomText(8)}`;
  const documents = await prepared(connectMongoDocuments(url.href));
  t.teardown(() => documents.close());
  const found = () => checkDocuments(url.href);
  t.match(await found(), [{ state: 'ok', message: /has the \d+ indexes/ }]);
  const client = new MongoClient(url.href);
  t.teardown(() => client.close());
  const [first] = withIndexes;
  await client
    .db()
    .collection(first?.name ?? '')
    .dropIndex(first?.indexes[0]?.name ?? '');
  t.match(await found(), [{ message: new RegExp(`${first?.name}\\.${first?.indexes[0]?.name}`) }]);
});
