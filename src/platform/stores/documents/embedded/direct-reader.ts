import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Collection, CollectionSpec, Document, Documents, Filter, FindOptions } from '../port.ts';
import { indexReadsOf } from './index-read.ts';
import { pick } from './pick.ts';
import { quoted } from './shape.ts';

/** A filter of equalities with texts, including `_id`. */
type ById = { _id: string } & Record<string, string>;

/**
 * The most text of several rows together, which takes some tenths of a millisecond to parse. Larger reads are left to
 * the primary.
 */
const LONGEST_READ = 64 * 1024;

/**
 * The documents of the primary, with direct reads: an API process reads rows that an index finds from the file itself.
 * That takes some ten microseconds, while a call to the primary costs both processes ten times as much. A write is
 * visible as soon as it is on disk, which is before it is acknowledged; until then, the previous version is read. All
 * other calls go to the primary, and so do reads that fail here. A direct read blocks this process, for as long as the
 * disk takes if the rows are not in memory.
 */
export function readingDirectly(documents: Documents, path: string): Documents {
  let database: DatabaseSync | null = null;
  /** The statements by kind of query, of which a collection has a few. */
  const statements = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    database ??= new DatabaseSync(path, { readOnly: true });
    const statement = database.prepare(sql);
    // Rows are returned as arrays, because creating an object costs as much as finding the row.
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs a prepared statement; undefined when the read fails. */
  function using<A>(sql: string, use: (statement: StatementSync) => A): A | undefined {
    try {
      const statement = statements.get(sql) ?? prepare(sql);
      statements.set(sql, statement);
      return use(statement);
    } catch {
      // A failed statement would report the same failure again.
      statements.delete(sql);
      return undefined;
    }
  }

  return {
    async collection<T extends Document>(spec: CollectionSpec): Promise<Collection<T>> {
      const collection = await documents.collection<T>(spec);
      const readOf = indexReadsOf(spec);
      const byId = `SELECT body FROM ${quoted(spec.name)} WHERE "_id" = ?`;

      /** The document of a filter; null when there is none, undefined when the read fails. */
      function readOne(filter: Filter, options: FindOptions): T | null | undefined {
        if (isById(filter) && options.sort === undefined) {
          const body = using(byId, (statement) => bodyOf(statement.get(filter._id)));
          if (body === undefined || body === null) return body;
          return matches(JSON.parse(body) as T & Record<string, unknown>, filter);
        }
        const found = readMany(filter, { ...options, limit: 1 });
        return found && (found[0] ?? null);
      }

      function readMany(filter: Filter, options: FindOptions): T[] | undefined {
        const read = readOf(filter, options);
        if (read === null) return undefined;
        const bodies = using(read.sql, (statement) => bodiesOf(statement.iterate(...read.params)));
        return bodies?.map((body) => JSON.parse(body) as T);
      }

      return {
        ...collection,
        async findOne(filter, options = {}) {
          const document = readOne(filter, options);
          if (document === undefined) return collection.findOne(filter, options);
          return document && picked(document, options.fields);
        },
        async find(filter, options = {}) {
          const found = readMany(filter, options);
          if (found === undefined) return collection.find(filter, options);
          return found.map((document) => picked(document, options.fields));
        },
      };
    },
    ping: () => documents.ping(),
    async close() {
      statements.clear();
      database?.close();
      database = null;
      await documents.close();
    },
  };
}

/** The text of a row, which is a list of its only column; null when there is no row. */
function bodyOf(row: unknown): string | null {
  return row === undefined ? null : String((row as unknown[])[0]);
}

/** The texts of rows; undefined when they are too long in total. */
function bodiesOf(rows: Iterable<unknown>): string[] | undefined {
  const bodies: string[] = [];
  let length = 0;
  for (const row of rows) {
    const body = bodyOf(row) ?? '';
    length += body.length;
    if (length > LONGEST_READ && bodies.length > 0) return undefined;
    bodies.push(body);
  }
  return bodies;
}

function picked<T extends Document>(document: T, fields: readonly string[] | undefined): T {
  return fields === undefined ? document : (pick(document, fields) as T);
}

function isById(filter: Filter): filter is ById {
  if (typeof filter._id !== 'string') return false;
  for (const name in filter)
    if (typeof filter[name] !== 'string' || name.startsWith('$') || name.includes('.')) return false;
  return true;
}

/** A list matches by its elements, which is left to the evaluation of filters. */
function matches<T extends Record<string, unknown>>(document: T, filter: ById): T | null | undefined {
  let isMatch = true;
  for (const name in filter) {
    if (Array.isArray(document[name])) return undefined;
    isMatch &&= document[name] === filter[name];
  }
  return isMatch ? document : null;
}
