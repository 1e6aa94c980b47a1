// needs: server, mongodb
import { MongoClient } from 'mongodb';
import t from 'tap';
import { judgeIndexes, lookAtIndexes, wantedCollections } from '../../src/doctor/indexes.ts';
import { randomText } from '../../src/names/ids.ts';
import { connectMongoDocuments } from '../../src/stores/documents/mongodb.ts';
import type { ListedDocuments } from '../../src/stores/documents/port.ts';
import { startServer } from '../harness.ts';

const wanted = await wantedCollections();
const withIndexes = wanted.filter(({ indexes }) => indexes.length > 0);

t.test('the doctor wants every index that the service makes', async (t) => {
  const server = await startServer(t);
  const made = await (server.stores.documents as ListedDocuments).collections();
  // Idempotency and places are coordination's, which has no documents on a cluster.
  const ofSlices = made.filter(
    ({ name, indexes }) => indexes.length > 0 && !/^(idempotency|coord)/.test(name),
  );
  t.same(
    withIndexes.map(({ name }) => name),
    ofSlices.map(({ name }) => name),
  );
  t.equal(judgeIndexes(wanted, made).state, 'ok');
});

t.test('indexes that are missing or declared otherwise are named, a unique one as a problem', async (t) => {
  const without = (name: string) =>
    wanted.map((spec) => ({ ...spec, indexes: spec.indexes.filter((index) => index.name !== name) }));
  const [law] = withIndexes.flatMap(({ name, indexes }) =>
    indexes.filter(({ unique }) => unique).map((index) => ({ collection: name, index: index.name })),
  );
  const [help] = withIndexes.flatMap(({ indexes }) => indexes.filter(({ unique }) => !unique));
  const broken = judgeIndexes(wanted, without(law?.index ?? ''));
  t.match(broken, { state: 'problem', mend: /Restart the service/ });
  t.match(broken.says, `${law?.collection}.${law?.index} (unique)`);
  t.equal(judgeIndexes(wanted, without(help?.name ?? '')).state, 'warning');
  const turned = wanted.map((spec) => ({
    ...spec,
    indexes: spec.indexes.map((index) => ({ ...index, unique: false })),
  }));
  t.match(judgeIndexes(wanted, turned), { state: 'problem', says: /declared otherwise/ });
  t.match(judgeIndexes(wanted, []), { state: 'ok', says: /nothing yet/ });
});

t.test('an index that was dropped in MongoDB is found', async (t) => {
  if (process.env.MONGODB_URL === undefined) return t.pass('skipped: there is no MongoDB');
  const url = new URL(process.env.MONGODB_URL);
  url.pathname = `/doctor-${randomText(8)}`;
  const documents = await connectMongoDocuments(url.href);
  t.teardown(() => documents.close());
  for (const spec of wanted) await documents.collection(spec);
  const found = () => lookAtIndexes(url.href);
  t.match(await found(), { state: 'ok', says: /has the \d+ indexes/ });
  const client = new MongoClient(url.href);
  t.teardown(() => client.close());
  const [first] = withIndexes;
  await client
    .db()
    .collection(first?.name ?? '')
    .dropIndex(first?.indexes[0]?.name ?? '');
  t.match(await found(), { says: new RegExp(`${first?.name}\\.${first?.indexes[0]?.name}`) });
});
