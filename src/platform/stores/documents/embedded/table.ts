import type { SQLInputValue } from 'node:sqlite';
import { Query } from 'mingo';
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
import { GroupedSums } from './grouped-sums.ts';
import { type Key, keyOfField, valueAt } from './keys.ts';
import { narrow, orderBy } from './narrowing.ts';
import { pick } from './pick.ts';
import { LIMIT_OFFSET, quoted, type Shape } from './shape.ts';
import { applyUpdate, upserted } from './update.ts';

/** A collection in the thread that owns the database, where all methods are synchronous. */
type Synchronous<C> = {
  [M in keyof C]: C[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

interface Row {
  rowid: number;
  /** The JSON text of `document` as read. */
  body: string;
  document: Document & Record<string, unknown>;
}

interface Change {
  after: Document | null;
  result: UpdateResult;
}

const NOTHING: Change = { after: null, result: { matched: 0, modified: 0, upsertedId: null } };
const SQLITE_CONSTRAINT = 19;

export class Table implements Synchronous<Collection<Document>> {
  readonly #database: Database;
  readonly #shape: Shape;

  constructor(database: Database, shape: Shape) {
    this.#database = database;
    this.#shape = shape;
  }

  insertOne(document: Document): void {
    const columns = this.#columnsOf(document);
    const names = ['body', ...columns.keys()].map(quoted).join(', ');
    const places = ['?', ...Array.from(columns, () => '?')].join(', ');
    this.#write(`INSERT INTO ${this.#name} (${names}) VALUES (${places})`, [
      JSON.stringify(document),
      ...columns.values(),
    ]);
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

  findOne(filter: Filter, options: Pick<FindOptions, 'sort' | 'fields'> = {}): Document | null {
    return this.find(filter, { ...options, limit: 1 })[0] ?? null;
  }

  find(filter: Filter, { fields, ...options }: FindOptions = {}): Document[] {
    return Array.from(this.#matches(filter, options), ({ document }) =>
      fields === undefined ? document : (pick(document, fields) as Document),
    );
  }

  updateOne(filter: Filter, update: Update, options: UpdateOptions = {}): UpdateResult {
    return this.#updateFirst(filter, update, options).result;
  }

  findOneAndUpdate(filter: Filter, update: Update, options: FindOneAndUpdateOptions = {}): Document | null {
    return this.#updateFirst(filter, update, options).after;
  }

  updateMany(filter: Filter, update: Update): UpdateResult {
    const result = { matched: 0, modified: 0, upsertedId: null };
    for (const row of this.#settled(filter)) {
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
    return row === null ? 0 : this.#delete(row.rowid);
  }

  deleteMany(filter: Filter): number {
    const { where, params, exact } = narrow(filter, this.#shape);
    if (exact) return this.#write(`DELETE FROM ${this.#name} WHERE ${where}`, params);
    let deleted = 0;
    for (const { rowid } of this.#settled(filter)) deleted += this.#delete(rowid);
    return deleted;
  }

  count(filter: Filter): number {
    const { where, params, exact } = narrow(filter, this.#shape);
    if (exact) {
      const row = this.#database.get(`SELECT count(*) AS count FROM ${this.#name} WHERE ${where}`, params);
      return Number(row?.count);
    }
    let count = 0;
    for (const _match of this.#matches(filter)) count += 1;
    return count;
  }

  group({ filter, by, sums }: GroupSpec): Array<Record<string, string | number | null>> {
    const groups = new GroupedSums(by, sums);
    for (const { document } of this.#matches(filter)) groups.add(document);
    return groups.rows();
  }

  get #name(): string {
    return quoted(this.#shape.table);
  }

  /** Iterates over matches with one document in memory at a time. No row may be written meanwhile. */
  *#matches(
    filter: Filter,
    { sort = [], skip = 0, limit }: Omit<FindOptions, 'fields'> = {},
  ): Generator<Row> {
    const { where, params, exact } = narrow(filter, this.#shape);
    const sql = `SELECT rowid, body FROM ${this.#name} WHERE ${where} ${orderBy(sort, this.#shape)}`;
    if (exact) {
      const page = [...params, limit ?? -1, skip];
      for (const row of this.#database.iterate(`${sql} ${LIMIT_OFFSET}`, page)) yield rowOf(row);
      return;
    }
    const query = new Query(filter);
    let passed = 0;
    if (limit === 0) return;
    for (const found of this.#database.iterate(sql, params)) {
      const row = rowOf(found);
      if (!query.test(row.document)) continue;
      passed += 1;
      if (passed > skip) yield row;
      if (limit !== undefined && passed === skip + limit) return;
    }
  }

  #first(filter: Filter, sort: Sort = []): Row | null {
    const [row] = this.#matches(filter, { sort, limit: 1 });
    return row ?? null;
  }

  /**
   * Iterates over a fixed list of matches, so that rows may be written meanwhile: their row numbers are kept in memory.
   */
  *#settled(filter: Filter): Generator<Pick<Row, 'rowid' | 'body'>> {
    const rowids = Array.from(this.#matches(filter), ({ rowid }) => rowid);
    for (const rowid of rowids) {
      const row = this.#database.get(`SELECT body FROM ${this.#name} WHERE rowid = ?`, [rowid]);
      yield { rowid, body: String(row?.body) };
    }
  }

  #updateFirst(filter: Filter, update: Update, { upsert, sort }: FindOneAndUpdateOptions): Change {
    const row = this.#first(filter, sort);
    if (row === null && !upsert) return NOTHING;
    if (row === null) {
      const after = upserted(filter, update);
      this.insertOne(after);
      return { after, result: { matched: 0, modified: 0, upsertedId: after._id } };
    }
    const after = JSON.parse(row.body) as Document;
    applyUpdate(after, update);
    const modified = this.#store(row, after);
    return { after, result: { matched: 1, modified, upsertedId: null } };
  }

  /** Writes a changed document: its text and only the changed columns, so that other indexes are not updated. */
  #store(row: Pick<Row, 'rowid' | 'body'>, document: Document): number {
    const body = JSON.stringify(document);
    if (body === row.body) return 0;
    const before = this.#columnsOf(JSON.parse(row.body) as Document);
    const changed = [...this.#columnsOf(document)].filter(([column, key]) => before.get(column) !== key);
    const assignments = ['body', ...changed.map(([column]) => column)].map(
      (column) => `${quoted(column)} = ?`,
    );
    return this.#write(`UPDATE ${this.#name} SET ${assignments.join(', ')} WHERE rowid = ?`, [
      body,
      ...changed.map(([, key]) => key),
      row.rowid,
    ]);
  }

  #delete(rowid: number): number {
    return this.#write(`DELETE FROM ${this.#name} WHERE rowid = ?`, [rowid]);
  }

  #columnsOf(document: Document): Map<string, Key> {
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

function rowOf({ rowid, body }: Record<string, unknown>): Row {
  const text = String(body);
  return { rowid: Number(rowid), body: text, document: JSON.parse(text) as Row['document'] };
}

function refusalOf(error: unknown, shape: Shape): unknown {
  const { errcode, message } = error as { errcode?: number; message: string };
  const index = shape.refusals.get(message);
  if (index !== undefined) return new DuplicateKeyError(index);
  const failed = errcode !== undefined && (errcode & 0xff) !== SQLITE_CONSTRAINT;
  return failed ? new StoreUnavailableError(`The documents could not be written: ${message}.`) : error;
}
