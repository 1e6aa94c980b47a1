import type { SQLInputValue } from 'node:sqlite';
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type Filter,
  type FindOneAndUpdateOptions,
  type FindOptions,
  type Sort,
  StoreUnavailableError,
  type Update,
  type UpdateResult,
} from '../port.ts';
import type { Database } from './database.ts';
import { groupedSums, pick, valueAt } from './fields.ts';
import { conditionOf, selectOf } from './filter-sql.ts';
import { type Key, keyOfField } from './keys.ts';
import { quoted, type TableShape } from './shape.ts';
import { applyUpdate, upserted } from './update.ts';

/** A collection in the thread that owns the database. There, all methods are synchronous. */
export type Table = Synchronous<Collection<Document>>;

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

export function openTable(database: Database, shape: TableShape): Table {
  const table = quoted(shape.table);

  /** Iterates over matches with one document in memory at a time. No row may be written meanwhile. */
  function* matches(filter: Filter, options: Omit<FindOptions, 'fields'> = {}): Generator<StoredRow, void> {
    const { sql, params } = selectOf('rowid, body', filter, options, shape);
    for (const row of database.iterate(sql, params)) yield rowOf(row);
  }

  function first(filter: Filter, sort: Sort = []): StoredRow | null {
    const [row] = matches(filter, { sort, limit: 1 });
    return row ?? null;
  }

  /**
   * Iterates over a fixed list of matches, so that rows may be written meanwhile: their row numbers are kept in memory.
   */
  function* fixedMatches(filter: Filter): Generator<Pick<StoredRow, 'rowid' | 'body'>> {
    const rowids = Array.from(matches(filter), ({ rowid }) => rowid);
    for (const rowid of rowids) {
      const row = database.get(`SELECT body FROM ${table} WHERE rowid = ?`, [rowid]);
      yield { rowid, body: String(row?.body) };
    }
  }

  function insertOne(document: Document): void {
    const columns = readColumns(document);
    const names = ['body', ...columns.keys()].map(quoted).join(', ');
    const placeholders = ['?', ...Array.from(columns, () => '?')].join(', ');
    const values = [JSON.stringify(document), ...columns.values()];
    write(`INSERT INTO ${table} (${names}) VALUES (${placeholders})`, values);
  }

  function updateFirst(
    filter: Filter,
    update: Update,
    { upsert, sort = [] }: FindOneAndUpdateOptions = {},
  ): RowChange {
    const row = first(filter, sort);
    if (row === null && !upsert) return NOTHING;
    if (row === null) {
      const after = upserted(filter, update);
      insertOne(after);
      return { after, result: { matched: 0, modified: 0, upsertedId: after._id } };
    }
    const after = JSON.parse(row.body) as Document;
    applyUpdate(after, update);
    return { after, result: { matched: 1, modified: store(row, after), upsertedId: null } };
  }

  /** Writes a changed document: its text and only the changed columns, so that other indexes are not updated. */
  function store(row: Pick<StoredRow, 'rowid' | 'body'>, document: Document): number {
    const body = JSON.stringify(document);
    if (body === row.body) return 0;
    const before = readColumns(JSON.parse(row.body) as Document);
    const changed = [...readColumns(document)].filter(([column, key]) => before.get(column) !== key);
    const assignments = ['body', ...changed.map(([column]) => column)].map(
      (column) => `${quoted(column)} = ?`,
    );
    return write(`UPDATE ${table} SET ${assignments.join(', ')} WHERE rowid = ?`, [
      body,
      ...changed.map(([, key]) => key),
      row.rowid,
    ]);
  }

  function remove({ rowid }: Pick<StoredRow, 'rowid'>): number {
    return write(`DELETE FROM ${table} WHERE rowid = ?`, [rowid]);
  }

  function readColumns(document: Document): Map<string, Key> {
    if (typeof document._id !== 'string') throw new TypeError('The _id of a document is text.');
    const columns = new Map<string, Key>();
    for (const [field, column] of shape.keys) columns.set(column, keyOfField(document, field));
    for (const [field, column] of shape.presences) {
      columns.set(column, valueAt(document, field) === undefined ? 0 : 1);
    }
    return columns;
  }

  function write(sql: string, params: SQLInputValue[]): number {
    try {
      return database.run(sql, params);
    } catch (error) {
      throw refusalOf(error, shape);
    }
  }

  function find(filter: Filter, { fields, ...options }: FindOptions = {}): Document[] {
    return Array.from(matches(filter, options), ({ document }) =>
      fields === undefined ? document : (pick(document, fields) as Document),
    );
  }

  return {
    insertOne,
    insertMany(documents) {
      const duplicates: number[] = [];
      for (const [index, document] of documents.entries()) {
        try {
          insertOne(document);
        } catch (error) {
          if (!(error instanceof DuplicateKeyError)) throw error;
          duplicates.push(index);
        }
      }
      return { duplicates };
    },
    findOne: (filter, options) => find(filter, { ...options, limit: 1 })[0] ?? null,
    find,
    updateOne: (filter, update, options) => updateFirst(filter, update, options).result,
    findOneAndUpdate: (filter, update, options) => updateFirst(filter, update, options).after,
    updateMany(filter, update) {
      const result = { matched: 0, modified: 0, upsertedId: null };
      for (const row of fixedMatches(filter)) {
        const document = JSON.parse(row.body) as Document;
        applyUpdate(document, update);
        result.matched += 1;
        result.modified += store(row, document);
      }
      return result;
    },
    replaceOne(filter, document, { upsert } = {}) {
      const row = first(filter);
      if (row !== null) {
        if (row.document._id !== document._id) throw new TypeError('The _id of a document does not change.');
        return { matched: 1, modified: store(row, document), upsertedId: null };
      }
      if (!upsert) return NOTHING.result;
      insertOne(document);
      return { matched: 0, modified: 0, upsertedId: document._id };
    },
    deleteOne(filter) {
      const row = first(filter);
      return row === null ? 0 : remove(row);
    },
    deleteMany(filter) {
      const { sql, params } = conditionOf(filter, shape);
      return write(`DELETE FROM ${table} WHERE ${sql}`, params);
    },
    count(filter) {
      const { sql, params } = conditionOf(filter, shape);
      return Number(database.get(`SELECT count(*) AS count FROM ${table} WHERE ${sql}`, params)?.count);
    },
    group: ({ filter, ...spec }) =>
      groupedSums(
        matches(filter).map(({ document }) => document),
        spec,
      ),
  };
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
