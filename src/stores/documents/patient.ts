import type { Patience } from '../patience.ts';
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

/** The same documents, whose every step is waited for with patience. Declaring a collection may take as long as it takes. */
export function patientDocuments(documents: Documents, patience: Patience): Documents {
  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      const collection = await documents.collection<T>(spec);
      const patient = METHODS.map((method) => {
        const step = collection[method].bind(collection) as (...args: unknown[]) => Promise<unknown>;
        return [method, (...args: unknown[]) => patience.run(() => step(...args))];
      });
      return Object.fromEntries(patient) as Collection<T>;
    },
    ping: () => patience.run(() => documents.ping()),
    close: () => documents.close(),
  };
}
