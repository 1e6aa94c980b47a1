import {
  type Db,
  MongoClient,
  type Collection as MongoCollection,
  type SortDirection,
  type UpdateFilter,
} from 'mongodb';
import { withoutAbsentFields } from '../../values/present.ts';
import { DEFAULT_DATABASE } from '../config.ts';
import { duplicatePositionsIn, isIndexConflict, withStoreErrors } from './mongodb-errors.ts';
import {
  assertNoUndefined,
  type CollectionSpec,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentUpdate,
  type DocumentWithId,
  DuplicateKeyError,
  type FindOptions,
  type GroupSumsSpec,
  type IndexSpec,
  type ListableDocumentStore,
  type SortOrder,
  type UpdateResult,
  upsertId,
} from './port.ts';

/**
 * The timeout of each step of a call: selecting a server, waiting for a connection, waiting for the response. The
 * driver tries a call twice.
 */
const DEFAULT_STEP_TIMEOUT_MS = 5_000;
const URL_WITH_DATABASE_PATTERN = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

/** The database that holds the documents. The driver's own default is `test`. */
export function databaseOf(client: MongoClient, url: string): Db {
  return client.db(URL_WITH_DATABASE_PATTERN.test(url) ? undefined : DEFAULT_DATABASE);
}

/**
 * Documents in the database of the URL (`darkroom` by default). It connects at the first call and reconnects by itself.
 * Without a connection, each call fails with StoreUnavailableError at its timeout. Throws for a URL of another kind
 * than `mongodb:` and `mongodb+srv:`.
 * @param deadlineMs the timeout of each step of a call.
 */
export function connectMongoDocuments(
  url: string,
  deadlineMs = DEFAULT_STEP_TIMEOUT_MS,
): ListableDocumentStore {
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
  const client = connect(deadlineMs);
  const database = databaseOf(client, url);
  /** A connection without a timeout, because building the index of a large collection takes minutes. */
  let indexBuilder: MongoClient | null = null;

  return {
    collection: <T extends DocumentWithId>({ name, indexes }: CollectionSpec) =>
      mongoCollection<T>(database.collection<StoredDocument>(name), indexes),
    async prepare(spec) {
      if (spec.indexes.length === 0) return;
      indexBuilder ??= connect(0);
      const target = databaseOf(indexBuilder, url);
      // It tries twice, because two processes that create the same index may cause a deadlock.
      await withStoreErrors(() => createIndexes(target, spec).catch(() => createIndexes(target, spec)));
    },
    collections: () => withStoreErrors(() => readCollectionSpecs(database)),
    async ping() {
      await withStoreErrors(() => database.command({ ping: 1 }));
    },
    async close() {
      await Promise.all([client.close(), indexBuilder?.close()]);
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
    ...withoutAbsentFields({ whenPresent: partial && Object.keys(partial) }),
  };
}

function toMongoIndex({ name, fields, unique, whenPresent }: IndexSpec) {
  const exist = whenPresent?.map((field) => [field, { $exists: true }]);
  return {
    name,
    key: Object.fromEntries(fields),
    ...(unique && { unique }),
    ...withoutAbsentFields({ partialFilterExpression: exist && Object.fromEntries(exist) }),
  };
}

/** A document as the driver's types expect it. */
interface StoredDocument {
  _id: string;
  [field: string]: unknown;
}

const MAX_UPSERT_TRIES = 3;

function mongoCollection<T extends DocumentWithId>(
  collection: MongoCollection<StoredDocument>,
  indexes: readonly IndexSpec[],
): DocumentCollection<T> {
  const guarded = <R>(run: () => Promise<R>) => withStoreErrors(run, indexes);
  const matching = <R>(filter: DocumentFilter, run: () => Promise<R>) =>
    guarded(async () => {
      assertNoUndefined(filter);
      return run();
    });
  const changing = <R>(filter: DocumentFilter, upsert: boolean, run: () => Promise<R>) =>
    matching(filter, () => retryUpsert(upsert, run));
  const toStored = (document: T) => document as unknown as StoredDocument;
  const toMongoUpdate = (update: DocumentUpdate) => update as UpdateFilter<StoredDocument>;
  const fromStored = (document: StoredDocument | null) => document as unknown as T | null;

  return {
    async insertOne(document) {
      await guarded(() => collection.insertOne(toStored(document)));
    },
    insertMany: (documents) => guarded(() => insertMany(collection, documents.map(toStored))),
    async findOne(filter, options = {}) {
      return fromStored(
        await matching(filter, () => collection.findOne(filter, toMongoFindOptions(options))),
      );
    },
    async find(filter, options = {}) {
      // A limit of 0 means no limit in MongoDB.
      if (options.limit === 0) return [];
      const found = await matching(filter, () =>
        collection.find(filter, toMongoFindOptions(options)).toArray(),
      );
      return found as unknown as T[];
    },
    async updateOne(filter, update, { upsert = false } = {}) {
      if (upsert) upsertId(filter, update);
      const run = () => collection.updateOne(filter, toMongoUpdate(update), { upsert });
      return toUpdateResult(await changing(filter, upsert, run));
    },
    async updateMany(filter, update) {
      return toUpdateResult(
        await matching(filter, () => collection.updateMany(filter, toMongoUpdate(update))),
      );
    },
    async findOneAndUpdate(filter, update, { upsert = false, sort = [] } = {}) {
      if (upsert) upsertId(filter, update);
      const options = { upsert, sort: toMongoSort(sort), returnDocument: 'after' as const };
      const run = () => collection.findOneAndUpdate(filter, toMongoUpdate(update), options);
      return fromStored(await changing(filter, upsert, run));
    },
    async replaceOne(filter, document, { upsert = false } = {}) {
      const run = () => collection.replaceOne(filter, toStored(document), { upsert });
      return toUpdateResult(await changing(filter, upsert, run));
    },
    deleteOne: async (filter) => (await matching(filter, () => collection.deleteOne(filter))).deletedCount,
    deleteMany: async (filter) => (await matching(filter, () => collection.deleteMany(filter))).deletedCount,
    count: (filter) => matching(filter, () => collection.countDocuments(filter)),
    group: (spec) => matching(spec.filter, () => groupSums(collection, spec)),
  };
}

/**
 * Runs a write. An upsert that is refused as a duplicate is tried again: MongoDB may refuse the later of two racing
 * upserts of a document, and the next attempt then finds and updates the document. If another document has the key,
 * every attempt is refused.
 */
async function retryUpsert<R>(upsert: boolean, run: () => Promise<R>): Promise<R> {
  for (let tried = 1; upsert && tried < MAX_UPSERT_TRIES; tried += 1) {
    try {
      return await withStoreErrors(run);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
    }
  }
  return run();
}

async function insertMany(
  collection: MongoCollection<StoredDocument>,
  documents: StoredDocument[],
): Promise<{ duplicates: number[] }> {
  if (documents.length === 0) return { duplicates: [] };
  try {
    await collection.insertMany(documents, { ordered: false });
    return { duplicates: [] };
  } catch (error) {
    return { duplicates: duplicatePositionsIn(error) };
  }
}

async function groupSums(collection: MongoCollection<StoredDocument>, { filter, by, sums }: GroupSumsSpec) {
  const keys = Object.entries(by).map(([name, field]) => [name, { $ifNull: [`$${field}`, null] }]);
  const totals = Object.entries(sums).map(([name, field]) => [name, { $sum: field === 1 ? 1 : `$${field}` }]);
  const stage = { $group: { _id: Object.fromEntries(keys), ...Object.fromEntries(totals) } };
  const rows = await collection.aggregate([{ $match: filter }, stage]).toArray();
  return rows.map(({ _id, ...summed }) => ({ ..._id, ...summed }));
}

function toMongoFindOptions({ sort = [], skip = 0, limit, fields }: FindOptions) {
  const projection = fields && Object.fromEntries(['_id', ...fields].map((field) => [field, 1]));
  return { sort: toMongoSort(sort), skip, ...withoutAbsentFields({ limit, projection }) };
}

function toMongoSort(sort: SortOrder): Array<[string, SortDirection]> {
  return sort.map(([field, direction]) => [field, direction]);
}

function toUpdateResult(result: {
  matchedCount: number;
  modifiedCount: number;
  upsertedId: unknown;
}): UpdateResult {
  const upsertedId = typeof result.upsertedId === 'string' ? result.upsertedId : null;
  return { matched: result.matchedCount, modified: result.modifiedCount, upsertedId };
}
