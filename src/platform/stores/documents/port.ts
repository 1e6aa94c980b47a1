/**
 * Documents: the truth of the service. Accounts, money, assets, templates, presets, jobs, deliveries.
 * Nothing acknowledged here may be lost: a write resolves when it is on disk (embedded: a synced transaction;
 * MongoDB: majority and journal).
 *
 * The language is the subset of MongoDB's that both implementations have. There is no transaction over several
 * documents: one atomic update of one document carries each promise, unique indexes carry each law.
 * Documents are plain JSON (no Date, no undefined, no binary); instants are ISO-8601 strings in UTC with
 * milliseconds, which sort as text.
 */

/** Every document has a string `_id`, unique in its collection. */
export interface Document {
  _id: string;
}

/**
 * Supported: equality, dotted paths, $eq $ne $gt $gte $lt $lte $in $nin $exists $and $or $nor $not $elemMatch $size
 * $all, and $expr with $add $subtract $gte $gt $lte $lt $eq $ifNull over field paths. Null is equal to missing, but not
 * within $in. A filter that holds `undefined` is refused with a TypeError.
 */
export type Filter = Record<string, unknown>;

/**
 * Supported: $set $unset $inc $min $max $push (with $each, $slice) $pull $addToSet $setOnInsert. Never a whole
 * document.
 */
export type Update = {
  [operator in
    | '$set'
    | '$unset'
    | '$inc'
    | '$min'
    | '$max'
    | '$push'
    | '$pull'
    | '$addToSet'
    | '$setOnInsert']?: Record<string, unknown>;
};

/** Order of several fields, first one first: 1 ascending, -1 descending. Missing sorts before any value. */
export type Sort = ReadonlyArray<readonly [field: string, direction: 1 | -1]>;

/** The order of these fields: ascending, or descending behind a minus, as in `order('accountId', '-updatedAt')`. */
export function order(...fields: readonly string[]): Sort {
  return fields.map((field) => (field.startsWith('-') ? [field.slice(1), -1] : [field, 1]));
}

export interface IndexSpec {
  /** Stable name, which a DuplicateKeyError carries. */
  name: string;
  /** Each holds text, a number, true, false or null, or is missing; never a list or an object, nor lies in a list. */
  fields: Sort;
  unique?: boolean;
  /**
   * Only documents with every one of these fields present are in the index (MongoDB: partialFilterExpression $exists).
   */
  whenPresent?: readonly string[];
}

export interface CollectionSpec {
  name: string;
  indexes: readonly IndexSpec[];
}

/** A collection as the store that owns it declares it. `src/host/collections.ts` gathers them all. */
export interface DeclaredCollection extends CollectionSpec {
  /**
   * What becomes of an account's documents here, found by their `accountId`, when the account is deleted. `expire` ends
   * them now and leaves the rest to the sweep; `keep` is for the books and for what belongs to no account.
   */
  onAccountDeletion: 'delete' | 'expire' | 'keep';
}

export interface FindOptions {
  sort?: Sort;
  skip?: number;
  limit?: number;
  /** Top-level or dotted fields to return; `_id` always comes. */
  fields?: readonly string[];
}

export interface UpdateOptions {
  /**
   * Insert when nothing matches: the equality fields of the filter, then $setOnInsert and the update. One of the first
   * two names the `_id`.
   */
  upsert?: boolean;
}

export interface FindOneAndUpdateOptions extends UpdateOptions {
  sort?: Sort;
}

export interface UpdateResult {
  matched: number;
  modified: number;
  /** The `_id` inserted by an upsert, else null. */
  upsertedId: string | null;
}

export interface GroupSpec {
  filter: Filter;
  /** Names of the answer's key fields, each with the document field it reads. */
  by: Record<string, string>;
  /** Names of the answer's sums: the field summed (missing counts 0), or 1 to count documents. */
  sums: Record<string, string | 1>;
}

export interface Collection<T extends Document> {
  /** Throws DuplicateKeyError when `_id` or a unique index is taken. */
  insertOne(document: T): Promise<void>;
  /**
   * Inserts all that can be inserted (unordered). Resolves with the indexes into `documents` that broke a unique
   * index; the others are stored.
   */
  insertMany(documents: readonly T[]): Promise<{ duplicates: number[] }>;
  findOne(filter: Filter, options?: Pick<FindOptions, 'sort' | 'fields'>): Promise<T | null>;
  find(filter: Filter, options?: FindOptions): Promise<T[]>;
  /** Atomic: of racing conditional updates of one document, each sees the one before. Throws DuplicateKeyError. */
  updateOne(filter: Filter, update: Update, options?: UpdateOptions): Promise<UpdateResult>;
  /** Each document atomically, all of them not. */
  updateMany(filter: Filter, update: Update): Promise<UpdateResult>;
  /** The claim of every queue: select by sort, change and return in one atomic step, as it is then; null: no match. */
  findOneAndUpdate(filter: Filter, update: Update, options?: FindOneAndUpdateOptions): Promise<T | null>;
  /** Replaces the whole document when the filter (which may carry a version) matches it. */
  replaceOne(filter: Filter, document: T, options?: UpdateOptions): Promise<UpdateResult>;
  deleteOne(filter: Filter): Promise<number>;
  deleteMany(filter: Filter): Promise<number>;
  count(filter: Filter): Promise<number>;
  /** One row per distinct key, in no promised order. */
  group(spec: GroupSpec): Promise<Array<Record<string, string | number | null>>>;
}

export interface Documents {
  /**
   * Declares a collection and creates its indexes. Idempotent, and cheap to call at every start. An index of another
   * declaration than before is built again; indexes that are not named here stay, for another slice may have its own.
   */
  collection<T extends Document>(spec: CollectionSpec): Promise<Collection<T>>;
  /** Resolves when the store answers; rejects with StoreUnavailableError otherwise. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Documents that can say what they hold: for copies of a whole store. */
export interface ListedDocuments extends Documents {
  /** Every collection that was ever declared, with its indexes, sorted by name. */
  collections(): Promise<CollectionSpec[]>;
}

/** A unique index refused a write. */
export class DuplicateKeyError extends Error {
  override readonly name = 'DuplicateKeyError';
  /** The index's name, `_id_` for the primary key. */
  readonly index: string;
  constructor(index: string) {
    super(`A document with this key exists already (${index}).`);
    this.index = index;
  }
}

/**
 * The disk has no room left for uploads. Reads and deletes work; the HTTP boundary answers 500, reason storage_full.
 */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/**
 * The store did not answer within its deadline. The HTTP boundary answers it with 500 internal_error and Retry-After.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
