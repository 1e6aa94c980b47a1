import { type Db, MongoClient } from 'mongodb';
import { mongoCollection, type Stored } from './mongodb-collection.ts';
import { guard, isIndexConflict } from './mongodb-errors.ts';
import type { CollectionSpec, Document, Documents, IndexSpec } from './port.ts';

/**
 * For each step of a call: choosing a server, waiting for a connection, waiting for its answer. The driver tries a call
 * twice. The build of an index may take longer: it goes on without its asker, and the next start finds it done.
 */
const DEADLINE_MS = 5_000;
const NAMES_DATABASE = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

/**
 * Documents in the database that the URL names (`darkroom` when it names none). Connects at the first call, and again
 * by itself whenever the connection is lost: until then each call ends in StoreUnavailableError at its deadline.
 * Throws when the URL is none of MongoDB's.
 */
export async function connectMongoDocuments(url: string): Promise<Documents> {
  const client = new MongoClient(url, {
    appName: 'darkroom',
    serverSelectionTimeoutMS: DEADLINE_MS,
    connectTimeoutMS: DEADLINE_MS,
    socketTimeoutMS: DEADLINE_MS,
    waitQueueTimeoutMS: DEADLINE_MS,
    // Acknowledged is on disk, on most of the members: what a new primary cannot have lost.
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: DEADLINE_MS },
    readPreference: 'primary',
    ignoreUndefined: true,
  });
  const database = client.db(NAMES_DATABASE.test(url) ? undefined : 'darkroom');

  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      await guard(() => createIndexes(database, spec));
      return mongoCollection<T>(database.collection<Stored>(spec.name));
    },
    async ping() {
      await guard(() => database.command({ ping: 1 }));
    },
    close: () => client.close(),
  };
}

async function createIndexes(database: Db, spec: CollectionSpec): Promise<void> {
  const collection = database.collection(spec.name);
  for (const index of spec.indexes) {
    const description = describe(index);
    try {
      await collection.createIndexes([description]);
    } catch (error) {
      if (!isIndexConflict(error)) throw error;
      await collection.dropIndex(index.name);
      await collection.createIndexes([description]);
    }
  }
}

function describe({ name, fields, unique, whenPresent }: IndexSpec) {
  return {
    name,
    key: Object.fromEntries(fields),
    ...(unique ? { unique } : {}),
    ...(whenPresent === undefined
      ? {}
      : {
          partialFilterExpression: Object.fromEntries(whenPresent.map((field) => [field, { $exists: true }])),
        }),
  };
}
