import type { SQLInputValue } from 'node:sqlite';
import {
  type DocumentCollection,
  type DocumentFilter,
  type DocumentUpdate,
  type DocumentWithId,
  DuplicateKeyError,
  type FindOneAndUpdateOptions,
  type FindOptions,
  type GroupSumsSpec,
  type SortOrder,
  type UpdateOptions,
  type UpdateResult,
} from '../port.ts';
import type { SqliteDatabase } from './database.ts';
import { unwrittenError } from './failures.ts';
import {
  ABSENT_INDEX_KEY,
  documentFromPathValues,
  groupedSums,
  type IndexKey,
  indexKeyOfField,
  pickFields,
  valueAtPath,
} from './fields.ts';
import { filterCondition, selectStatement } from './filter-sql.ts';
import { quotedIdentifier, type TableShape } from './shape.ts';
import { applyDocumentUpdate, upsertedDocument } from './update.ts';

/** The methods of a collection, which are synchronous in the thread that owns the database. */
type Synchronous<C> = {
  [M in keyof C]: C[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

interface StoredRow {
  rowid: number;
  /** The JSON text from which `document` was parsed. */
  body: string;
  document: DocumentWithId & Record<string, unknown>;
}

interface RowChange {
  after: DocumentWithId | null;
  result: UpdateResult;
}

const NO_CHANGE: RowChange = { after: null, result: { matched: 0, modified: 0, upsertedId: null } };
/**
 * The result codes of SQLite that mean a bug in this program: ERROR (a wrong statement), TOOBIG, CONSTRAINT, MISMATCH,
 * MISUSE and RANGE. After any other code the same statement may succeed later.
 */
const BUG_RESULT_CODES = [1, 18, 19, 20, 21, 25];

/** A collection in the thread that owns the database. */
export class SqliteCollection implements Synchronous<DocumentCollection<DocumentWithId>> {
  readonly #database: SqliteDatabase;
  readonly #shape: TableShape;
  /** The name of the table, quoted for SQL. */
  readonly #quotedName: string;

  constructor(database: SqliteDatabase, shape: TableShape) {
    this.#database = database;
    this.#shape = shape;
    this.#quotedName = quotedIdentifier(shape.table);
  }

  insertOne(document: DocumentWithId): void {
    const columns = this.#readColumns(document);
    const names = ['body', ...columns.keys()].map(quotedIdentifier).join(', ');
    const placeholders = ['?', ...Array.from(columns, () => '?')].join(', ');
    const values = [JSON.stringify(document), ...columns.values()];
    this.#write(`INSERT INTO ${this.#quotedName} (${names}) VALUES (${placeholders})`, values);
  }

  insertMany(documents: readonly DocumentWithId[]): { duplicates: number[] } {
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

  findOne(filter: DocumentFilter, options?: Pick<FindOptions, 'sort' | 'fields'>): DocumentWithId | null {
    return this.find(filter, { ...options, limit: 1 })[0] ?? null;
  }

  find(filter: DocumentFilter, { fields, ...options }: FindOptions = {}): DocumentWithId[] {
    if (fields?.every((field) => this.#shape.keys.has(field))) return this.#findKeys(filter, fields, options);
    return Array.from(this.#matches(filter, options), ({ document }) =>
      fields === undefined ? document : (pickFields(document, fields) as DocumentWithId),
    );
  }

  updateOne(filter: DocumentFilter, update: DocumentUpdate, options?: UpdateOptions): UpdateResult {
    return this.#updateFirst(filter, update, options).result;
  }

  findOneAndUpdate(
    filter: DocumentFilter,
    update: DocumentUpdate,
    options?: FindOneAndUpdateOptions,
  ): DocumentWithId | null {
    return this.#updateFirst(filter, update, options).after;
  }

  updateMany(filter: DocumentFilter, update: DocumentUpdate): UpdateResult {
    const result = { matched: 0, modified: 0, upsertedId: null };
    for (const row of this.#matchesAtStart(filter)) {
      const document = JSON.parse(row.body) as DocumentWithId;
      applyDocumentUpdate(document, update);
      result.matched += 1;
      result.modified += this.#writeChanged(row, document);
    }
    return result;
  }

  replaceOne(filter: DocumentFilter, document: DocumentWithId, { upsert }: UpdateOptions = {}): UpdateResult {
    const row = this.#findFirst(filter);
    if (row !== null) {
      if (row.document._id !== document._id) throw new TypeError('The _id of a document does not change.');
      return { matched: 1, modified: this.#writeChanged(row, document), upsertedId: null };
    }
    if (!upsert) return NO_CHANGE.result;
    this.insertOne(document);
    return { matched: 0, modified: 0, upsertedId: document._id };
  }

  deleteOne(filter: DocumentFilter): number {
    const row = this.#findFirst(filter);
    if (row === null) return 0;
    return this.#write(`DELETE FROM ${this.#quotedName} WHERE rowid = ?`, [row.rowid]);
  }

  deleteMany(filter: DocumentFilter): number {
    const { sql, params } = filterCondition(filter, this.#shape);
    return this.#write(`DELETE FROM ${this.#quotedName} WHERE ${sql}`, params);
  }

  count(filter: DocumentFilter): number {
    const { sql, params } = filterCondition(filter, this.#shape);
    const row = this.#database.get(`SELECT count(*) AS count FROM ${this.#quotedName} WHERE ${sql}`, params);
    return Number(row?.count);
  }

  group({ filter, ...spec }: GroupSumsSpec) {
    const documents = this.#matches(filter).map(({ document }) => document);
    return groupedSums(documents, spec);
  }

  /** Finds the values of indexed fields in their columns, which is faster than parsing the documents. */
  #findKeys(
    filter: DocumentFilter,
    fields: readonly string[],
    options: Omit<FindOptions, 'fields'>,
  ): DocumentWithId[] {
    const names = ['_id', ...fields];
    const columns = names.map((field) => quotedIdentifier(this.#shape.keys.get(field) ?? field));
    const { sql, params } = selectStatement(['rowid', ...columns].join(', '), filter, options, this.#shape);
    const rows = Array.from(this.#database.iterate(sql, params));
    return rows.map((row) => {
      const keys = names.map((field) => [field, row[this.#shape.keys.get(field) ?? field]] as const);
      // The key does not tell whether a field is null or missing.
      if (keys.some(([, key]) => key === ABSENT_INDEX_KEY)) {
        const { body } =
          this.#database.get(`SELECT body FROM ${this.#quotedName} WHERE rowid = ?`, [Number(row.rowid)]) ??
          {};
        return pickFields(JSON.parse(String(body)) as object, fields) as DocumentWithId;
      }
      return documentFromPathValues(keys);
    });
  }

  /** Iterates over matches with one document in memory at a time. No row may be written during the iteration. */
  *#matches(filter: DocumentFilter, options: Omit<FindOptions, 'fields'> = {}): Generator<StoredRow, void> {
    const { sql, params } = selectStatement('rowid, body', filter, options, this.#shape);
    for (const row of this.#database.iterate(sql, params)) yield toStoredRow(row);
  }

  /**
   * Iterates over the matches that existed at the start, so that rows may be written during the iteration. Their row
   * numbers are kept in memory.
   */
  *#matchesAtStart(filter: DocumentFilter): Generator<Pick<StoredRow, 'rowid' | 'body'>> {
    const rowids = Array.from(this.#matches(filter), ({ rowid }) => rowid);
    for (const rowid of rowids) {
      const row = this.#database.get(`SELECT body FROM ${this.#quotedName} WHERE rowid = ?`, [rowid]);
      yield { rowid, body: String(row?.body) };
    }
  }

  #findFirst(filter: DocumentFilter, sort: SortOrder = []): StoredRow | null {
    const [row] = this.#matches(filter, { sort, limit: 1 });
    return row ?? null;
  }

  #updateFirst(
    filter: DocumentFilter,
    update: DocumentUpdate,
    { upsert, sort = [] }: FindOneAndUpdateOptions = {},
  ): RowChange {
    const row = this.#findFirst(filter, sort);
    if (row === null && !upsert) return NO_CHANGE;
    if (row === null) {
      const after = upsertedDocument(filter, update);
      this.insertOne(after);
      return { after, result: { matched: 0, modified: 0, upsertedId: after._id } };
    }
    const after = JSON.parse(row.body) as DocumentWithId;
    applyDocumentUpdate(after, update);
    return { after, result: { matched: 1, modified: this.#writeChanged(row, after), upsertedId: null } };
  }

  /** Writes a changed document: its text and the changed columns only, so that other indexes are not updated. */
  #writeChanged(row: Pick<StoredRow, 'rowid' | 'body'>, document: DocumentWithId): number {
    const body = JSON.stringify(document);
    if (body === row.body) return 0;
    const before = this.#readColumns(JSON.parse(row.body) as DocumentWithId);
    const changed = [...this.#readColumns(document)].filter(([column, key]) => before.get(column) !== key);
    const assignments = ['body', ...changed.map(([column]) => column)].map(
      (column) => `${quotedIdentifier(column)} = ?`,
    );
    const sql = `UPDATE ${this.#quotedName} SET ${assignments.join(', ')} WHERE rowid = ?`;
    return this.#write(sql, [body, ...changed.map(([, key]) => key), row.rowid]);
  }

  #readColumns(document: DocumentWithId): Map<string, IndexKey> {
    if (typeof document._id !== 'string') throw new TypeError('The _id of a document is text.');
    const columns = new Map<string, IndexKey>();
    for (const [field, column] of this.#shape.keys) columns.set(column, indexKeyOfField(document, field));
    for (const [field, column] of this.#shape.presences) {
      columns.set(column, valueAtPath(document, field) === undefined ? 0 : 1);
    }
    return columns;
  }

  #write(sql: string, params: SQLInputValue[]): number {
    try {
      return this.#database.run(sql, params);
    } catch (error) {
      throw storeErrorOf(error, this.#shape);
    }
  }
}

function toStoredRow({ rowid, body }: Record<string, unknown>): StoredRow {
  const text = String(body);
  return { rowid: Number(rowid), body: text, document: JSON.parse(text) as StoredRow['document'] };
}

function storeErrorOf(error: unknown, shape: TableShape): unknown {
  const { errcode, message } = error as { errcode?: number; message: string };
  const index = shape.refusals.get(message);
  if (index !== undefined) return new DuplicateKeyError(index);
  const isOutage = errcode !== undefined && !BUG_RESULT_CODES.includes(errcode & 0xff);
  return isOutage ? unwrittenError(`The documents could not be written: ${message}.`) : error;
}
