import type { SQLInputValue } from 'node:sqlite';
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type Filter,
  type FindOneAndUpdateOptions,
  type FindOptions,
  type GroupSpec,
  type Sort,
  StoreUnavailableError,
  type Update,
  type UpdateOptions,
  type UpdateResult,
} from '../port.ts';
import type { Database } from './database.ts';
import { groupedSums, pick, valueAt } from './fields.ts';
import { conditionOf, selectOf } from './filter-sql.ts';
import { type Key, keyOfField } from './keys.ts';
import { quoted, type TableShape } from './shape.ts';
import { applyUpdate, upserted } from './update.ts';

/** The methods of a collection, which are synchronous in the thread that owns the database. */
type Synchronous<C> = {
  [M in keyof C]: C[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

interface StoredRow {
  rowid: number;
  /** The JSON text of `document` as read. */
  body: string;
  document: Document & Record<string, unknown>;
}

interface RowChange {
  after: Document | null;
  result: UpdateResult;
}

const NOTHING: RowChange = { after: null, result: { matched: 0, modified: 0, upsertedId: null } };
const SQLITE_CONSTRAINT = 19;

/** A collection in the thread that owns the database. */
export class Table implements Synchronous<Collection<Document>> {
  readonly #database: Database;
  readonly #shape: TableShape;
  /** The name, as SQL writes it. */
  readonly #name: string;

  constructor(database: Database, shape: TableShape) {
    this.#database = database;
    this.#shape = shape;
    this.#name = quoted(shape.table);
  }

  insertOne(document: Document): void {
    const columns = this.#readColumns(document);
    const names = ['body', ...columns.keys()].map(quoted).join(', ');
    const placeholders = ['?', ...Array.from(columns, () => '?')].join(', ');
    const values = [JSON.stringify(document), ...columns.values()];
    this.#write(`INSERT INTO ${this.#name} (${names}) VALUES (${placeholders})`, values);
  }

  insertMany(documents: readonly Document[]): { duplicates: number[] } {
    const duplicates: number[] = [];
    for (const [index, document] of documents.entries()) {
      try {
        this.insertOne(document);
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        duplicates.push(index);
      }
    }
    return { duplicates };
  }

  findOne(filter: Filter, options?: Pick<FindOptions, 'sort' | 'fields'>): Document | null {
    return this.find(filter, { ...options, limit: 1 })[0] ?? null;
  }

  find(filter: Filter, { fields, ...options }: FindOptions = {}): Document[] {
    return Array.from(this.#matches(filter, options), ({ document }) =>
      fields === undefined ? document : (pick(document, fields) as Document),
    );
  }

  updateOne(filter: Filter, update: Update, options?: UpdateOptions): UpdateResult {
    return this.#updateFirst(filter, update, options).result;
  }

  findOneAndUpdate(filter: Filter, update: Update, options?: FindOneAndUpdateOptions): Document | null {
    return this.#updateFirst(filter, update, options).after;
  }

  updateMany(filter: Filter, update: Update): UpdateResult {
    const result = { matched: 0, modified: 0, upsertedId: null };
    for (const row of this.#fixedMatches(filter)) {
      const document = JSON.parse(row.body) as Document;
      applyUpdate(document, update);
      result.matched += 1;
      result.modified += this.#store(row, document);
    }
    return result;
  }

  replaceOne(filter: Filter, document: Document, { upsert }: UpdateOptions = {}): UpdateResult {
    const row = this.#first(filter);
    if (row !== null) {
      if (row.document._id !== document._id) throw new TypeError('The _id of a document does not change.');
      return { matched: 1, modified: this.#store(row, document), upsertedId: null };
    }
    if (!upsert) return NOTHING.result;
    this.insertOne(document);
    return { matched: 0, modified: 0, upsertedId: document._id };
  }

  deleteOne(filter: Filter): number {
    const row = this.#first(filter);
    if (row === null) return 0;
    return this.#write(`DELETE FROM ${this.#name} WHERE rowid = ?`, [row.rowid]);
  }

  deleteMany(filter: Filter): number {
    const { sql, params } = conditionOf(filter, this.#shape);
    return this.#write(`DELETE FROM ${this.#name} WHERE ${sql}`, params);
  }

  count(filter: Filter): number {
    const { sql, params } = conditionOf(filter, this.#shape);
    const row = this.#database.get(`SELECT count(*) AS count FROM ${this.#name} WHERE ${sql}`, params);
    return Number(row?.count);
  }

  group({ filter, ...spec }: GroupSpec) {
    return groupedSums(
      this.#matches(filter).map(({ document }) => document),
      spec,
    );
  }

  /** Iterates over matches with one document in memory at a time. No row may be written meanwhile. */
  *#matches(filter: Filter, options: Omit<FindOptions, 'fields'> = {}): Generator<StoredRow, void> {
    const { sql, params } = selectOf('rowid, body', filter, options, this.#shape);
    for (const row of this.#database.iterate(sql, params)) yield rowOf(row);
  }

  /**
   * Iterates over the matches that existed at the start, so that rows may be written meanwhile. Their row numbers are
   * kept in memory.
   */
  *#fixedMatches(filter: Filter): Generator<Pick<StoredRow, 'rowid' | 'body'>> {
    const rowids = Array.from(this.#matches(filter), ({ rowid }) => rowid);
    for (const rowid of rowids) {
      const row = this.#database.get(`SELECT body FROM ${this.#name} WHERE rowid = ?`, [rowid]);
      yield { rowid, body: String(row?.body) };
    }
  }

  #first(filter: Filter, sort: Sort = []): StoredRow | null {
    const [row] = this.#matches(filter, { sort, limit: 1 });
    return row ?? null;
  }

  #updateFirst(
    filter: Filter,
    update: Update,
    { upsert, sort = [] }: FindOneAndUpdateOptions = {},
  ): RowChange {
    const row = this.#first(filter, sort);
    if (row === null && !upsert) return NOTHING;
    if (row === null) {
      const after = upserted(filter, update);
      this.insertOne(after);
      return { after, result: { matched: 0, modified: 0, upsertedId: after._id } };
    }
    const after = JSON.parse(row.body) as Document;
    applyUpdate(after, update);
    return { after, result: { matched: 1, modified: this.#store(row, after), upsertedId: null } };
  }

  /** Writes a changed document: its text and the changed columns only, so that other indexes are not updated. */
  #store(row: Pick<StoredRow, 'rowid' | 'body'>, document: Document): number {
    const body = JSON.stringify(document);
    if (body === row.body) return 0;
    const before = this.#readColumns(JSON.parse(row.body) as Document);
    const changed = [...this.#readColumns(document)].filter(([column, key]) => before.get(column) !== key);
    const assignments = ['body', ...changed.map(([column]) => column)].map(
      (column) => `${quoted(column)} = ?`,
    );
    return this.#write(`UPDATE ${this.#name} SET ${assignments.join(', ')} WHERE rowid = ?`, [
      body,
      ...changed.map(([, key]) => key),
      row.rowid,
    ]);
  }

  #readColumns(document: Document): Map<string, Key> {
    if (typeof document._id !== 'string') throw new TypeError('The _id of a document is text.');
    const columns = new Map<string, Key>();
    for (const [field, column] of this.#shape.keys) columns.set(column, keyOfField(document, field));
    for (const [field, column] of this.#shape.presences) {
      columns.set(column, valueAt(document, field) === undefined ? 0 : 1);
    }
    return columns;
  }

  #write(sql: string, params: SQLInputValue[]): number {
    try {
      return this.#database.run(sql, params);
    } catch (error) {
      throw refusalOf(error, this.#shape);
    }
  }
}

function rowOf({ rowid, body }: Record<string, unknown>): StoredRow {
  const text = String(body);
  return { rowid: Number(rowid), body: text, document: JSON.parse(text) as StoredRow['document'] };
}

function refusalOf(error: unknown, shape: TableShape): unknown {
  const { errcode, message } = error as { errcode?: number; message: string };
  const index = shape.refusals.get(message);
  if (index !== undefined) return new DuplicateKeyError(index);
  const failed = errcode !== undefined && (errcode & 0xff) !== SQLITE_CONSTRAINT;
  return failed ? new StoreUnavailableError(`The documents could not be written: ${message}.`) : error;
}
