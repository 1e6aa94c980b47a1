/**
 * The document store, which holds the durable state of the service: accounts, credits, assets, templates, presets, jobs
 * and deliveries. An acknowledged write is never lost: it resolves when it is on disk (embedded: a synced transaction;
 * MongoDB: majority and journal).
 *
 * The query language is the subset of MongoDB's that both implementations have. There are no transactions over several
 * documents: the service relies on atomic updates of single documents and on unique indexes. Documents are plain JSON
 * (no Date, no undefined, no binary); instants are ISO-8601 strings in UTC with milliseconds, which sort as text.
 */

/** Every document has a string `_id`, unique in its collection. */
export interface DocumentWithId {
  _id: string;
}

/**
 * A filter of documents. A field, dotted if it is within an object, equals text, a number, true, false or null, or
 * fulfils $eq $ne $gt $gte $lt $lte $in $exists $not. Null is equal to missing. Only $elemMatch searches a list:
 * `{$elemMatch: {id: 'a'}}` for the fields of an entry, `{$elemMatch: {$eq: 'a'}}` for the entry itself. Filters are
 * joined by $and and $or. $expr compares two sums of numbers and fields: the sums are made by $add and $subtract, and
 * compared by $gt $gte $lt or $lte. The embedded documents refuse any other filter, and `undefined` in a filter, with a
 * TypeError.
 */
export type DocumentFilter = Record<string, unknown>;

/**
 * Update operators: $set $unset $inc $max $push (with $each, $slice), $pull of the entries that equal a value or have
 * the fields of an object, and $setOnInsert. An update never replaces a whole document.
 */
export type DocumentUpdate = {
  [operator in '$set' | '$unset' | '$inc' | '$max' | '$push' | '$pull' | '$setOnInsert']?: Record<
    string,
    unknown
  >;
};

/** The fields to sort by, the first field first: 1 ascending, -1 descending. Missing values sort before all others. */
export type SortOrder = ReadonlyArray<readonly [field: string, direction: 1 | -1]>;

/** Makes a sort by these fields: ascending, or descending after a minus, as in `sortBy('accountId', '-updatedAt')`. */
export function sortBy(...fields: readonly string[]): SortOrder {
  return fields.map((field) => (field.startsWith('-') ? [field.slice(1), -1] : [field, 1]));
}

export interface IndexSpec {
  /** Stable name, which a DuplicateKeyError contains. */
  name: string;
  /**
   * The indexed fields. A field holds text, a number, true, false or null, or is missing. It is never a list or an
   * object, and never within a list.
   */
  fields: SortOrder;
  unique?: boolean;
  /**
   * The fields that a document must have to be in the index. (In MongoDB, this is a partialFilterExpression with
   * $exists.)
   */
  whenPresent?: readonly string[];
}

export interface CollectionSpec {
  name: string;
  indexes: readonly IndexSpec[];
}

/** A collection as its store declares it. `src/host/collections.ts` lists all of them. */
export interface DeclaredCollection extends CollectionSpec {
  /**
   * The treatment of an account's documents, found by their `accountId`, when the account is deleted. `expire` makes
   * them expire now and leaves their removal to the sweep; `keep` is for accounting and for documents without an
   * account.
   */
  onAccountDeletion: 'delete' | 'expire' | 'keep';
}

export interface FindOptions {
  sort?: SortOrder;
  skip?: number;
  limit?: number;
  /** Top-level or dotted fields to return; `_id` is always returned. */
  fields?: readonly string[];
}

export interface UpdateOptions {
  /**
   * Whether a document is inserted when none matches. It gets the equality fields of the filter, then those of
   * $setOnInsert and of the update. The filter or $setOnInsert must name the `_id`.
   */
  upsert?: boolean;
}

export interface FindOneAndUpdateOptions extends UpdateOptions {
  sort?: SortOrder;
}

export interface UpdateResult {
  matched: number;
  modified: number;
  /** The `_id` of the document that an upsert inserted; null if it inserted none. */
  upsertedId: string | null;
}

export interface GroupSumsSpec {
  filter: DocumentFilter;
  /** The key fields of the result: for each name, the document field that it reads. */
  by: Record<string, string>;
  /**
   * The sums of the result: for each name, the field to add up (a missing one counts as 0), or 1 to count documents.
   */
  sums: Record<string, string | 1>;
}

export interface DocumentCollection<T extends DocumentWithId> {
  /** Throws DuplicateKeyError when `_id` or a unique index is taken. */
  insertOne(document: T): Promise<void>;
  /**
   * Inserts all documents that can be inserted, in any order. Resolves with the positions in `documents` of those that
   * a unique index refused. The others are stored.
   */
  insertMany(documents: readonly T[]): Promise<{ duplicates: number[] }>;
  findOne(filter: DocumentFilter, options?: Pick<FindOptions, 'sort' | 'fields'>): Promise<T | null>;
  find(filter: DocumentFilter, options?: FindOptions): Promise<T[]>;
  /**
   * Atomic: each of several racing updates of a document sees the result of the previous one. Throws DuplicateKeyError.
   */
  updateOne(filter: DocumentFilter, update: DocumentUpdate, options?: UpdateOptions): Promise<UpdateResult>;
  /** Each document is updated atomically, but not all of them together. */
  updateMany(filter: DocumentFilter, update: DocumentUpdate): Promise<UpdateResult>;
  /**
   * Selects one document by the sort, updates it and returns the updated document, in one atomic step. Queues claim an
   * item in this way. Null without a match.
   */
  findOneAndUpdate(
    filter: DocumentFilter,
    update: DocumentUpdate,
    options?: FindOneAndUpdateOptions,
  ): Promise<T | null>;
  /** Replaces the whole document when the filter (which may carry a version) matches it. */
  replaceOne(filter: DocumentFilter, document: T, options?: UpdateOptions): Promise<UpdateResult>;
  deleteOne(filter: DocumentFilter): Promise<number>;
  deleteMany(filter: DocumentFilter): Promise<number>;
  count(filter: DocumentFilter): Promise<number>;
  /** Sums by group: one row per distinct key, in no particular order. */
  group(spec: GroupSumsSpec): Promise<Array<Record<string, string | number | null>>>;
}

export interface DocumentStore {
  /** The collection of a declaration. The primary has created its indexes by `prepare`. */
  collection<T extends DocumentWithId>(spec: CollectionSpec): DocumentCollection<T>;
  /**
   * Creates a collection with its indexes. Idempotent, and cheap to call at every start. An index whose declaration has
   * changed is built again; other indexes stay, because another slice may have declared them.
   */
  prepare(spec: CollectionSpec): Promise<void>;
  /** Resolves when the store responds; otherwise rejects with StoreUnavailableError. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A document store that can list its collections, so that all of it can be copied. */
export interface ListableDocumentStore extends DocumentStore {
  /** Every collection that was ever declared, with its indexes, sorted by name. */
  collections(): Promise<CollectionSpec[]>;
}

/** Thrown when a unique index refused a write. */
export class DuplicateKeyError extends Error {
  override readonly name = 'DuplicateKeyError';
  /** The name of the index, `_id_` for the primary key. */
  readonly index: string;
  constructor(index: string) {
    super(`A document with this key exists already (${index}).`);
    this.index = index;
  }
}

/** Thrown when the disk is full. Reads and deletes still work. The HTTP response is 500 with reason storage_full. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/** Thrown when a store did not respond within its timeout. The HTTP response is 500 internal_error with Retry-After. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}

/**
 * Thrown when the disk of the embedded documents has no room at all, because another program has filled it. No document
 * can be written until there is room, so this counts as an outage. The HTTP response is 500 with reason storage_full.
 */
export class DocumentsFullError extends StoreUnavailableError {
  override readonly name = 'DocumentsFullError';
}

/**
 * Refuses a filter with `undefined`. JSON would drop such a field, and the remaining filter would match documents that
 * were not meant, such as those of other accounts.
 */
export function assertNoUndefined(filter: unknown, path = 'filter'): void {
  if (filter === undefined) throw new TypeError(`The value at ${path} is undefined.`);
  if (typeof filter !== 'object' || filter === null) return;
  for (const [key, value] of Object.entries(filter)) assertNoUndefined(value, `${path}.${key}`);
}

/** The fields for which a filter requires one value. A document that an upsert inserts begins with these fields. */
export function equalityFieldsOf(filter: DocumentFilter): Record<string, unknown> {
  const fixed: Record<string, unknown> = {};
  for (const [field, condition] of Object.entries(filter)) {
    if (field === '$and') Object.assign(fixed, ...(condition as DocumentFilter[]).map(equalityFieldsOf));
    else if (field.startsWith('$')) continue;
    else if (!isOperatorCondition(condition)) fixed[field] = condition;
    else if ('$eq' in condition) fixed[field] = condition.$eq;
  }
  return fixed;
}

/** The `_id` that an upsert would insert. Throws when neither the filter nor $setOnInsert names one. */
export function upsertId(filter: DocumentFilter, update: DocumentUpdate): string {
  const id = update.$setOnInsert?._id ?? equalityFieldsOf(filter)._id;
  if (typeof id === 'string') return id;
  throw new TypeError('An upsert needs an _id in its filter or in $setOnInsert.');
}

/** True for operators such as `{$gt: 1}`, false for a value to compare with. */
export function isOperatorCondition(condition: unknown): condition is Record<string, unknown> {
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) return false;
  const [first] = Object.keys(condition);
  return first?.startsWith('$') ?? false;
}
