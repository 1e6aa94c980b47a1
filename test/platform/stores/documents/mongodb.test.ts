// needs: mongodb
import { type Db, MongoServerError } from 'mongodb';
import t from 'tap';
import { dropDatabase, randomDatabase, startMongo } from '../../../../bench/services/mongodb.ts';
import { connectMongoDocuments } from '../../../../src/platform/stores/documents/mongodb.ts';
import {
  verifyMongoDB,
  verifyUniqueIndexes,
} from '../../../../src/platform/stores/documents/mongodb-verification.ts';
import { DuplicateKeyError, StoreUnavailableError } from '../../../../src/platform/stores/documents/port.ts';
import { startProxy } from '../../../support/services/proxy.ts';
import { documentsContract } from './contract.ts';

const mongo = await startMongo();
if (mongo === null) {
  t.pass('MongoDB keeps the contract', { skip: 'there is no MongoDB' });
} else {
  const url = randomDatabase(mongo.url);
  let documents = connectMongoDocuments(url);

  t.teardown(async () => {
    await documents.close();
    await dropDatabase(url).finally(() => mongo.stop());
  });

  t.test('a lost connection is StoreUnavailableError, and over when the server is back', async (t) => {
    const { hostname, port, pathname, search } = new URL(url);
    if (hostname !== '127.0.0.1')
      return t.pass('an outage is seen', { skip: 'the server is not on this host' });
    const proxy = await startProxy(Number(port));
    const lossy = connectMongoDocuments(`mongodb://127.0.0.1:${proxy.port}${pathname}${search}`);
    const items = lossy.collection<{ _id: string; n?: number }>({ name: 'lossy', indexes: [] });
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

    await proxy.restore();
    await lossy.ping();
    t.same(await items.findOne({ _id: 'before' }), { _id: 'before' });
    await lossy.close();
    await proxy.stop();
  });

  t.test('a bulk write whose connection breaks is an outage, not a failure without a name', async (t) => {
    const { hostname, port, pathname, search } = new URL(url);
    if (hostname !== '127.0.0.1') return t.pass('skipped: the server is not on this host');
    const proxy = await startProxy(Number(port));
    const lossy = connectMongoDocuments(`mongodb://127.0.0.1:${proxy.port}${pathname}${search}`);
    const items = lossy.collection<{ _id: string; text: string }>({ name: 'bulk', indexes: [] });
    await items.insertOne({ _id: 'first', text: '' });
    proxy.cutAfter(100_000);
    const documents = Array.from({ length: 10 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(100_000) }));
    await t.rejects(items.insertMany(documents), { name: 'StoreUnavailableError' });
    await lossy.close();
    await proxy.stop();
  });

  t.test('a process relies on the indexes that its primary made, and makes none itself', async (t) => {
    const relying = connectMongoDocuments(url);
    const indexes = [{ name: 'n', fields: [['n', 1]], unique: true }] as const;
    const items = relying.collection<{ _id: string; n: number }>({ name: 'relied', indexes });
    await items.insertOne({ _id: 'a', n: 1 });
    await t.resolves(items.insertOne({ _id: 'b', n: 1 }), 'no index refuses it');
    await relying.close();
  });

  t.test('the build of an index may take longer than the deadline of a call', async (t) => {
    const { hostname, port, pathname, search } = new URL(url);
    if (hostname !== '127.0.0.1') return t.pass('skipped: the server is not on this host');
    const proxy = await startProxy(Number(port));
    const address = `mongodb://127.0.0.1:${proxy.port}${pathname}${search}`;
    const slow = connectMongoDocuments(address, 1_500);
    t.teardown(async () => {
      await slow.close();
      await proxy.stop();
    });
    const first = [{ name: 'a', fields: [['a', 1]] }] as const;
    await slow.prepare({ name: 'slow', indexes: first });
    const items = slow.collection<{ _id: string; a: number; b: number }>({ name: 'slow', indexes: first });
    await items.insertOne({ _id: 'a', a: 1, b: 1 });
    proxy.stall();
    const second = [...first, { name: 'b', fields: [['b', 1]], unique: true }] as const;
    const building = slow.prepare({ name: 'slow', indexes: second });
    await t.rejects(items.findOne({ _id: 'a' }), StoreUnavailableError, 'a call ends at its deadline');
    proxy.resume();
    await building;
    await t.rejects(items.insertOne({ _id: 'b', a: 2, b: 1 }), DuplicateKeyError, 'the index was built');
  });

  t.test(
    'a server that answers a broken unique index by another code, or takes it, is refused by name',
    async (t) => {
      const answers: Array<[says: RegExp, answer: () => Promise<unknown>]> = [
        [
          /answers code 1 instead of 11000/,
          () => Promise.reject(new MongoServerError({ message: 'exclusion', code: 1 })),
        ],
        [/accepts it/, async () => null],
      ];
      for (const [says, findOneAndUpdate] of answers) {
        let dropped = 0;
        const scratch = {
          createIndex: async () => 'value',
          insertMany: async () => ({}),
          findOneAndUpdate,
          drop: async () => (dropped += 1),
        };
        const database = { collection: () => scratch } as unknown as Db;
        await t.rejects(verifyUniqueIndexes(database), { message: says });
        await t.rejects(verifyUniqueIndexes(database), { message: /Use MongoDB 6 or later/ });
        t.equal(dropped, 2, 'its collection is dropped');
      }
    },
  );

  t.test('a server that keeps unique indexes as MongoDB does is accepted, and left as it was', async (t) => {
    const before = await documents.collections();
    await t.resolves(verifyMongoDB(url));
    t.same(await documents.collections(), before);
  });

  documentsContract(t, {
    documents,
    async restart() {
      await documents.close();
      documents = connectMongoDocuments(url);
      return documents;
    },
  });
}
