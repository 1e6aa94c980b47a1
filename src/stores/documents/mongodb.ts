import { type Db, MongoClient } from 'mongodb';
import { mongoCollection, type Stored } from './mongodb-collection.ts';
import { guard, isIndexConflict } from './mongodb-errors.ts';
import type { CollectionSpec, Document, IndexSpec, ListedDocuments } from './port.ts';

/**
 * For each step of a call: choosing a server, waiting for a connection, waiting for its answer. The driver tries a call
 * twice. The build of an index may take longer: it goes on without its asker, and the next start finds it done.
 */
const DEADLINE_MS = 5_000;
const NAMES_DATABASE = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

/** Makes the indexes of a collection, where they are not there yet. */
export type IndexMaker = (spec: CollectionSpec) => Promise<void>;

export interface MongoDocuments extends ListedDocuments {
  /** Of this connection; it tries once more, for two makers of one index may meet in a deadlock. */
  createIndexes: IndexMaker;
}

/**
 * Documents in the database that the URL names (`darkroom` when it names none). Connects at the first call, and again
 * by itself whenever the connection is lost: until then each call ends in StoreUnavailableError at its deadline.
 * Throws when the URL is none of MongoDB's.
 * @param makeIndexes who makes them instead: of all processes of a host one is enough.
 */
export async function connectMongoDocuments(url: string, makeIndexes?: IndexMaker): Promise<MongoDocuments> {
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
  const createIndexesTwice = (spec: CollectionSpec) =>
    guard(() => createIndexes(database, spec).catch(() => createIndexes(database, spec)));

  return {
    createIndexes: createIndexesTwice,
    async collection<T extends Document>(spec: CollectionSpec) {
      await (makeIndexes ?? createIndexesTwice)(spec);
      return mongoCollection<T>(database.collection<Stored>(spec.name), spec.indexes);
    },
    collections: () => guard(() => specsOf(database)),
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

async function specsOf(database: Db): Promise<CollectionSpec[]> {
  const listed = await database.listCollections({}, { nameOnly: true }).toArray();
  const names = listed.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
  const specs = names.sort().map(async (name): Promise<CollectionSpec> => {
    const indexes = await database.collection(name).listIndexes().toArray();
    return { name, indexes: indexes.filter((index) => index.name !== '_id_').map(specOf) };
  });
  return Promise.all(specs);
}

function specOf(index: Record<string, unknown>): IndexSpec {
  const partial = index.partialFilterExpression as Record<string, unknown> | undefined;
  return {
    name: String(index.name),
    fields: Object.entries(index.key as Record<string, 1 | -1>),
    ...(index.unique === true && { unique: true }),
    ...(partial !== undefined && { whenPresent: Object.keys(partial) }),
  };
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
