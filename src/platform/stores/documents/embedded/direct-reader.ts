import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type {
  CollectionSpec,
  DocumentCollection,
  DocumentFilter,
  DocumentStore,
  DocumentWithId,
  FindOptions,
  SortOrder,
} from '../port.ts';
import { type IndexKey, indexKeyOfValue, pickFields } from './fields.ts';
import { selectStatement } from './filter-sql.ts';
import { tableShapeOf } from './shape.ts';

/**
 * The most text that several rows of one direct read may have together. Parsing it takes some tenths of a millisecond.
 * Larger reads are left to the primary.
 */
const MAX_DIRECT_READ_BYTES = 64 * 1024;

/**
 * The documents of the primary, with direct reads: an API process reads rows that an index finds from the file itself.
 * That takes some ten microseconds, while a call to the primary costs both processes ten times as much. A write is
 * visible as soon as it is on disk, even before it is acknowledged. All other calls go to the primary, and so do reads
 * that fail here. A direct read blocks this process while the disk reads rows that are not in memory.
 */
export function withDirectReads(documents: DocumentStore, path: string): DocumentStore {
  let database: DatabaseSync | null = null;
  /** Prepared statements by their text. A collection has a few. */
  const statements = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    database ??= new DatabaseSync(path, { readOnly: true });
    const statement = database.prepare(sql);
    // Rows are returned as arrays, because creating an object costs as much as finding the row.
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs a prepared statement; undefined when the read fails. */
  function withStatement<A>(sql: string, use: (statement: StatementSync) => A): A | undefined {
    try {
      const statement = statements.get(sql) ?? prepare(sql);
      statements.set(sql, statement);
      return use(statement);
    } catch {
      // The statement is dropped, because it would report the same failure again.
      statements.delete(sql);
      return undefined;
    }
  }

  return {
    collection<T extends DocumentWithId>(spec: CollectionSpec): DocumentCollection<T> {
      const collection = documents.collection<T>(spec);
      const shape = tableShapeOf(spec);

      /**
       * The text of the statement for each shape of a query (see `queryShapeOf`); null for a shape that is not read
       * directly.
       */
      const known = new Map<string, string | null>();

      /**
       * The SQL statement for a query in which each field has to equal one value. Null if no index answers the query
       * completely.
       */
      function statementFor(filter: DocumentFilter, options: FindOptions): string | null {
        const kind = queryShapeOf(filter, options);
        const found = known.get(kind);
        if (found !== undefined) return found;
        const isAnswered = isAnsweredByIndex(spec, Object.keys(filter), options.sort ?? []);
        const sql = isAnswered ? selectStatement('body', filter, options, shape).sql : null;
        known.set(kind, sql);
        return sql;
      }

      /** The documents that match a filter. Undefined when they are not read directly, or the read fails. */
      function readDirectly(filter: DocumentFilter, options: FindOptions): T[] | undefined {
        const keys = filterKeysOf(filter);
        if (keys === undefined || (options.skip ?? 0) > 0) return undefined;
        const sql = statementFor(filter, options);
        if (sql === null) return undefined;
        const params = [...keys, options.limit ?? -1, 0];
        const bodies = withStatement(sql, (statement) =>
          bodiesOfRows(rowsOfStatement(statement, params, options.limit === 1)),
        );
        return bodies?.map((body) => withFields(JSON.parse(body) as T, options.fields));
      }

      return {
        ...collection,
        async findOne(filter, options = {}) {
          const found = readDirectly(filter, { ...options, limit: 1 });
          return found === undefined ? collection.findOne(filter, options) : (found[0] ?? null);
        },
        async find(filter, options = {}) {
          return readDirectly(filter, options) ?? collection.find(filter, options);
        },
      };
    },
    prepare: (spec) => documents.prepare(spec),
    ping: () => documents.ping(),
    async close() {
      statements.clear();
      database?.close();
      database = null;
      await documents.close();
    },
  };
}

/** The rows of a statement. An iterator for a single row would take longer than the search for the row. */
function rowsOfStatement(statement: StatementSync, params: IndexKey[], isOne: boolean): Iterable<unknown> {
  if (!isOne) return statement.iterate(...params);
  const row = statement.get(...params);
  return row === undefined ? [] : [row];
}

/** The texts of rows; undefined when they are too long in total. */
function bodiesOfRows(rows: Iterable<unknown>): string[] | undefined {
  const bodies: string[] = [];
  let length = 0;
  for (const row of rows) {
    const body = String((row as unknown[])[0]);
    length += body.length;
    if (length > MAX_DIRECT_READ_BYTES && bodies.length > 0) return undefined;
    bodies.push(body);
  }
  return bodies;
}

function withFields<T extends DocumentWithId>(document: T, fields: readonly string[] | undefined): T {
  return fields === undefined ? document : (pickFields(document, fields) as T);
}

/** The values that a filter requires, in the order of its fields. Undefined if a field has another condition. */
function filterKeysOf(filter: DocumentFilter): IndexKey[] | undefined {
  const keys: IndexKey[] = [];
  for (const field in filter) {
    const key = filter[field] === undefined ? undefined : indexKeyOfValue(filter[field]);
    if (key === undefined) return undefined;
    keys.push(key);
  }
  return keys;
}

/**
 * The parts of a query that decide the text of its statement: the fields of the filter, which of them are null, and the
 * sort.
 */
function queryShapeOf(filter: DocumentFilter, { sort = [] }: FindOptions): string {
  let kind = '';
  for (const field in filter) kind += filter[field] === null ? `${field}=null,` : `${field},`;
  for (const [field, direction] of sort) kind += ` ${field} ${direction}`;
  return kind;
}

/**
 * Whether one index answers a query completely, so that SQLite reads only rows of the result and sorts nothing. It does
 * if the filter requires one value for the `_id`, or for exactly the first fields of an index, and the sort is that of
 * its next fields.
 */
function isAnsweredByIndex(spec: CollectionSpec, fixed: readonly string[], sort: SortOrder): boolean {
  if (fixed.length === 0) return false;
  if (fixed.includes('_id')) return true;
  // A partial index never answers a query completely, because it lacks some documents.
  return spec.indexes.some(({ fields, whenPresent }) => !whenPresent && isIndexOrder(fields, fixed, sort));
}

/**
 * Whether an index begins with the fields that the filter fixes to one value, in any order, followed by the fields of
 * the sort, all forwards or all backwards.
 */
function isIndexOrder(fields: SortOrder, fixed: readonly string[], sort: SortOrder): boolean {
  const first = fields.slice(0, fixed.length).map(([field]) => field);
  if (first.length < fixed.length || !first.every((field) => fixed.includes(field))) return false;
  const next = fields.slice(fixed.length, fixed.length + sort.length);
  const directions = sort.map(([field, direction], at) => {
    const [name, kept] = next[at] ?? [];
    return name === field && kept !== undefined ? direction * kept : 0;
  });
  return [1, -1].some((direction) => directions.every((one) => one === direction));
}
