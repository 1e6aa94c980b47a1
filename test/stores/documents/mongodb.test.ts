// needs: mongodb
import t from 'tap';
import { connectMongoDocuments } from '../../../src/stores/documents/mongodb.ts';
import { StoreUnavailableError } from '../../../src/stores/documents/port.ts';
import { dropDatabase, randomDatabase, startMongo } from '../../services/mongodb.ts';
import { startProxy } from '../../services/proxy.ts';
import { documentsContract } from './contract.ts';

const mongo = await startMongo();
if (mongo === null) {
  t.pass('MongoDB keeps the contract', { skip: 'there is no MongoDB' });
} else {
  const url = randomDatabase(mongo.url);
  let documents = await connectMongoDocuments(url);

  t.teardown(async () => {
    await documents.close();
    await dropDatabase(url).finally(() => mongo.stop());
  });

  t.test('a lost connection is StoreUnavailableError, and over when the server is back', async (t) => {
    const { hostname, port, pathname, search } = new URL(url);
    if (hostname !== '127.0.0.1')
      return t.pass('an outage is seen', { skip: 'the server is not on this host' });
    const proxy = await startProxy(Number(port));
    const lossy = await connectMongoDocuments(`mongodb://127.0.0.1:${proxy.port}${pathname}${search}`);
    const items = await lossy.collection<{ _id: string; n?: number }>({ name: 'lossy', indexes: [] });
    await items.insertOne({ _id: 'before' });

    await proxy.cut();
    const attempts = await Promise.allSettled([
      items.findOne({ _id: 'before' }),
      items.updateOne({ _id: 'before' }, { $inc: { n: 1 } }),
      lossy.ping(),
    ]);
    for (const attempt of attempts) {
      t.match(attempt, { status: 'rejected', reason: StoreUnavailableError });
    }

    await proxy.mend();
    await lossy.ping();
    t.same(await items.findOne({ _id: 'before' }), { _id: 'before' });
    await lossy.close();
    await proxy.stop();
  });

  t.test('a bulk write whose connection breaks is an outage, not a failure without a name', async (t) => {
    const { hostname, port, pathname, search } = new URL(url);
    if (hostname !== '127.0.0.1') return t.pass('skipped: the server is not on this host');
    const proxy = await startProxy(Number(port));
    const lossy = await connectMongoDocuments(`mongodb://127.0.0.1:${proxy.port}${pathname}${search}`);
    const items = await lossy.collection<{ _id: string; text: string }>({ name: 'bulk', indexes: [] });
    await items.insertOne({ _id: 'first', text: '' });
    proxy.cutAfter(100_000);
    const documents = Array.from({ length: 10 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(100_000) }));
    await t.rejects(items.insertMany(documents), { name: 'StoreUnavailableError' });
    await lossy.close();
    await proxy.stop();
  });

  t.test('the indexes of a collection are made by who is named for it, and by nobody else', async (t) => {
    const asked: string[] = [];
    const relying = await connectMongoDocuments(url, async ({ name }) => void asked.push(name));
    const indexes = [{ name: 'n', fields: [['n', 1]], unique: true }] as const;
    const items = await relying.collection<{ _id: string; n: number }>({ name: 'relied', indexes });
    await items.insertOne({ _id: 'a', n: 1 });
    await t.resolves(items.insertOne({ _id: 'b', n: 1 }), 'no index refuses it');
    t.same(asked, ['relied']);
    await relying.close();
  });

  documentsContract(t, {
    documents,
    async restart() {
      await documents.close();
      documents = await connectMongoDocuments(url);
      return documents;
    },
  });
}
