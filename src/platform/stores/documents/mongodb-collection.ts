import type { Collection as MongoCollection, SortDirection, UpdateFilter } from 'mongodb';
import { present } from '../../values/present.ts';
import { checkFilter, upsertId } from './filter.ts';
import { duplicatesIn, withPortErrors } from './mongodb-errors.ts';
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type Filter,
  type FindOptions,
  type GroupSpec,
  type IndexSpec,
  type Sort,
  type Update,
  type UpdateResult,
} from './port.ts';

/** A document in the driver's type. */
export interface StoredDocument {
  _id: string;
  [field: string]: unknown;
}

const MAX_UPSERT_TRIES = 3;

export function mongoCollection<T extends Document>(
  collection: MongoCollection<StoredDocument>,
  indexes: readonly IndexSpec[],
): Collection<T> {
  const guarded = <R>(run: () => Promise<R>) => withPortErrors(run, indexes);
  const matching = <R>(filter: Filter, run: () => Promise<R>) =>
    guarded(async () => {
      checkFilter(filter);
      return run();
    });
  const changing = <R>(filter: Filter, upsert: boolean, run: () => Promise<R>) =>
    matching(filter, () => retried(upsert, run));
  const stored = (document: T) => document as unknown as StoredDocument;
  const changes = (update: Update) => update as UpdateFilter<StoredDocument>;
  const ours = (document: StoredDocument | null) => document as unknown as T | null;

  return {
    async insertOne(document) {
      await guarded(() => collection.insertOne(stored(document)));
    },
    insertMany: (documents) => guarded(() => insertMany(collection, documents.map(stored))),
    async findOne(filter, options = {}) {
      return ours(await matching(filter, () => collection.findOne(filter, findOptions(options))));
    },
    async find(filter, options = {}) {
      // A limit of 0 means no limit in MongoDB.
      if (options.limit === 0) return [];
      const found = await matching(filter, () => collection.find(filter, findOptions(options)).toArray());
      return found as unknown as T[];
    },
    async updateOne(filter, update, { upsert = false } = {}) {
      if (upsert) upsertId(filter, update);
      const run = () => collection.updateOne(filter, changes(update), { upsert });
      return resultOf(await changing(filter, upsert, run));
    },
    async updateMany(filter, update) {
      return resultOf(await matching(filter, () => collection.updateMany(filter, changes(update))));
    },
    async findOneAndUpdate(filter, update, { upsert = false, sort = [] } = {}) {
      if (upsert) upsertId(filter, update);
      const options = { upsert, sort: sortOf(sort), returnDocument: 'after' as const };
      const run = () => collection.findOneAndUpdate(filter, changes(update), options);
      return ours(await changing(filter, upsert, run));
    },
    async replaceOne(filter, document, { upsert = false } = {}) {
      const run = () => collection.replaceOne(filter, stored(document), { upsert });
      return resultOf(await changing(filter, upsert, run));
    },
    deleteOne: async (filter) => (await matching(filter, () => collection.deleteOne(filter))).deletedCount,
    deleteMany: async (filter) => (await matching(filter, () => collection.deleteMany(filter))).deletedCount,
    count: (filter) => matching(filter, () => collection.countDocuments(filter)),
    group: (spec) => matching(spec.filter, () => group(collection, spec)),
  };
}

/**
 * MongoDB may refuse the later of two racing upserts of a document as a duplicate; a second attempt then finds and
 * updates the document. A key of another document is refused again.
 */
async function retried<R>(upsert: boolean, run: () => Promise<R>): Promise<R> {
  for (let tried = 1; upsert && tried < MAX_UPSERT_TRIES; tried += 1) {
    try {
      return await withPortErrors(run);
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
    return { duplicates: duplicatesIn(error) };
  }
}

async function group(collection: MongoCollection<StoredDocument>, { filter, by, sums }: GroupSpec) {
  const keys = Object.entries(by).map(([name, field]) => [name, { $ifNull: [`$${field}`, null] }]);
  const totals = Object.entries(sums).map(([name, field]) => [name, { $sum: field === 1 ? 1 : `$${field}` }]);
  const stage = { $group: { _id: Object.fromEntries(keys), ...Object.fromEntries(totals) } };
  const rows = await collection.aggregate([{ $match: filter }, stage]).toArray();
  return rows.map(({ _id, ...summed }) => ({ ..._id, ...summed }));
}

function findOptions({ sort = [], skip = 0, limit, fields }: FindOptions) {
  const projection = fields && Object.fromEntries(['_id', ...fields].map((field) => [field, 1]));
  return { sort: sortOf(sort), skip, ...present({ limit, projection }) };
}

function sortOf(sort: Sort): Array<[string, SortDirection]> {
  return sort.map(([field, direction]) => [field, direction]);
}

function resultOf(result: {
  matchedCount: number;
  modifiedCount: number;
  upsertedId: unknown;
}): UpdateResult {
  const upsertedId = typeof result.upsertedId === 'string' ? result.upsertedId : null;
  return { matched: result.matchedCount, modified: result.modifiedCount, upsertedId };
}
