import type { StoreTimeout } from '../store-timeout.ts';
import type { Collection, CollectionSpec, Document, Documents } from './port.ts';

type Method = keyof Collection<Document>;

/** Every method of a collection; one that is forgotten here does not compile. */
const METHODS = Object.keys({
  insertOne: true,
  insertMany: true,
  findOne: true,
  find: true,
  updateOne: true,
  updateMany: true,
  findOneAndUpdate: true,
  replaceOne: true,
  deleteOne: true,
  deleteMany: true,
  count: true,
  group: true,
} satisfies Record<Method, true>) as Method[];

/**
 * The same documents, whose every step is waited for with timeout. Declaring a collection may take as long as it takes.
 */
export function timedDocuments(documents: Documents, timeout: StoreTimeout): Documents {
  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      const collection = await documents.collection<T>(spec);
      const timed = METHODS.map((method) => {
        const step = collection[method].bind(collection) as (...args: unknown[]) => Promise<unknown>;
        return [method, (...args: unknown[]) => timeout.run(() => step(...args))];
      });
      return Object.fromEntries(timed) as Collection<T>;
    },
    ping: () => timeout.run(() => documents.ping()),
    close: () => documents.close(),
  };
}
