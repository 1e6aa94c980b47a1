import { type Db, MongoClient } from 'mongodb';
import { present } from '../../values/present.ts';
import { mongoCollection, type StoredDocument } from './mongodb-collection.ts';
import { isIndexConflict, withPortErrors } from './mongodb-errors.ts';
import type { CollectionSpec, Document, IndexSpec, ListedDocuments } from './port.ts';

/**
 * The timeout of each step of a call: selecting a server, waiting for a connection, waiting for the response. The
 * driver tries a call twice.
 */
const DEADLINE_MS = 5_000;
const NAMES_DATABASE = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

interface MongoOptions {
  /**
   * Whether the declaration of a collection creates its indexes (default), or relies on the primary of the host, which
   * has created them before it started its processes.
   */
  makesIndexes?: boolean;
  /** Default 5,000: see DEADLINE_MS. */
  deadlineMs?: number;
}

/**
 * Documents in the database of the URL (`darkroom` by default). It connects at the first call, and reconnects by
 * itself; meanwhile each call ends with StoreUnavailableError at its timeout. Throws for a URL that is not of MongoDB.
 */
export async function connectMongoDocuments(
  url: string,
  { makesIndexes = true, deadlineMs = DEADLINE_MS }: MongoOptions = {},
): Promise<ListedDocuments> {
  const connect = (socketTimeoutMS: number) =>
    new MongoClient(url, {
      appName: 'darkroom',
      serverSelectionTimeoutMS: deadlineMs,
      connectTimeoutMS: deadlineMs,
      socketTimeoutMS,
      waitQueueTimeoutMS: deadlineMs,
      // An acknowledged write is on the disks of the majority, so that a new primary has it.
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: deadlineMs },
      readPreference: 'primary',
      ignoreUndefined: true,
    });
  const databaseOf = (client: MongoClient) => client.db(NAMES_DATABASE.test(url) ? undefined : 'darkroom');
  const client = connect(deadlineMs);
  const database = databaseOf(client);
  /** Building the index of a large collection takes minutes, so this connection has no timeout. */
  let builder: MongoClient | null = null;

  /** Repeats once, because two processes that create the same index may cause a deadlock. */
  async function makeIndexes(spec: CollectionSpec): Promise<void> {
    if (spec.indexes.length === 0) return;
    builder ??= connect(0);
    const target = databaseOf(builder);
    await withPortErrors(() => createIndexes(target, spec).catch(() => createIndexes(target, spec)));
  }

  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      if (makesIndexes) await makeIndexes(spec);
      return mongoCollection<T>(database.collection<StoredDocument>(spec.name), spec.indexes);
    },
    collections: () => withPortErrors(() => readCollectionSpecs(database)),
    async ping() {
      await withPortErrors(() => database.command({ ping: 1 }));
    },
    async close() {
      await Promise.all([client.close(), builder?.close()]);
    },
  };
}

async function createIndexes(database: Db, spec: CollectionSpec): Promise<void> {
  const collection = database.collection(spec.name);
  for (const index of spec.indexes) {
    const description = toMongoIndex(index);
    try {
      await collection.createIndexes([description]);
    } catch (error) {
      if (!isIndexConflict(error)) throw error;
      await collection.dropIndex(index.name);
      await collection.createIndexes([description]);
    }
  }
}

async function readCollectionSpecs(database: Db): Promise<CollectionSpec[]> {
  const listed = await database.listCollections({}, { nameOnly: true }).toArray();
  const names = listed.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
  const specs = names.sort().map(async (name): Promise<CollectionSpec> => {
    const indexes = await database.collection(name).listIndexes().toArray();
    return { name, indexes: indexes.filter((index) => index.name !== '_id_').map(fromMongoIndex) };
  });
  return Promise.all(specs);
}

function fromMongoIndex(index: Record<string, unknown>): IndexSpec {
  const partial = index.partialFilterExpression as Record<string, unknown> | undefined;
  return {
    name: String(index.name),
    fields: Object.entries(index.key as Record<string, 1 | -1>),
    ...(index.unique === true && { unique: true }),
    ...present({ whenPresent: partial && Object.keys(partial) }),
  };
}

function toMongoIndex({ name, fields, unique, whenPresent }: IndexSpec) {
  const exist = whenPresent?.map((field) => [field, { $exists: true }]);
  return {
    name,
    key: Object.fromEntries(fields),
    ...(unique && { unique }),
    ...present({ partialFilterExpression: exist && Object.fromEntries(exist) }),
  };
}
