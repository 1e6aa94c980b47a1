// needs: both stores
import t from 'tap';
import type {
  CollectionSpec,
  DocumentCollection,
  DocumentStore,
  DocumentWithId,
} from '../../../src/platform/stores/documents/port.ts';
import { openTestStores } from '../../support/harness.ts';
import { addEndpoint, newAccountId, startProcess } from './processes.ts';
import { leaveInOutbox, outcome, startReceiver } from './receiver.ts';

const stores = await openTestStores(t.testdir(), () => new Date());
t.teardown(() => stores.close());

/** Documents that count the bodies in each of their messages. */
function countingBodies(documents: DocumentStore) {
  const largest = { read: 0, written: 0 };
  const bodiesIn = (found: readonly object[]) =>
    found.filter((one) => 'body' in one && one.body !== undefined).length;
  const countRead = (found: readonly object[]) => {
    largest.read = Math.max(largest.read, bodiesIn(found));
  };
  const counted: DocumentStore = {
    ...documents,
    collection<T extends DocumentWithId>(spec: CollectionSpec): DocumentCollection<T> {
      const collection = documents.collection<T>(spec);
      return {
        ...collection,
        async find(...query) {
          const found = await collection.find(...query);
          countRead(found);
          return found;
        },
        async findOne(...query) {
          const found = await collection.findOne(...query);
          if (found !== null) countRead([found]);
          return found;
        },
        insertMany(inserted) {
          largest.written = Math.max(largest.written, bodiesIn(inserted));
          return collection.insertMany(inserted);
        },
      };
    },
  };
  return { largest, documents: counted };
}

t.test('ten endpoints and many events make no large message, and a worker holds one body', async (t) => {
  const [endpoints, events] = [10, 30];
  const receiver = await startReceiver(t);
  const accountId = newAccountId();
  for (let nth = 0; nth < endpoints; nth += 1)
    await addEndpoint(stores.documents, accountId, `${receiver.url}?${nth}`);
  const { largest, documents } = countingBodies(stores.documents);
  const host = await startProcess(t, { ...stores, documents });
  await host.events.write(Array.from({ length: events }, (_, sequence) => outcome(accountId, { sequence })));
  await receiver.until(endpoints * events);
  t.ok(largest.written <= 64, `${largest.written} bodies of at most 256 KB were written at once`);
  t.equal(largest.read, 1);
});

t.test('what other processes left in the outbox is read a part at a time', async (t) => {
  const receiver = await startReceiver(t);
  const accountId = newAccountId();
  await addEndpoint(stores.documents, accountId, receiver.url);
  const { largest, documents } = countingBodies(stores.documents);
  const events = Array.from({ length: 150 }, (_, sequence) => outcome(accountId, { sequence }));
  const host = await startProcess(t, { ...stores, documents }, () => new Date(Date.now() + 10_000));
  await leaveInOutbox(stores, events);
  await host.sweep();
  await receiver.until(events.length);
  t.ok(largest.read <= 64, `${largest.read} bodies were read at once`);
});
