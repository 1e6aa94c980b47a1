import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Collection, CollectionSpec, Document, Documents, Filter } from '../port.ts';
import { pick } from './pick.ts';
import { quoted } from './shape.ts';

/** Equalities of text, the `_id` among them. */
type ById = { _id: string } & Record<string, string>;

/**
 * The documents of the primary, of which an API process reads a single one by its `_id` in the file itself: a row that
 * SQLite finds in some ten microseconds, where a question to the primary costs both processes ten times as much.
 * A write is seen as soon as it is on disk, which is before it is acknowledged; a row that the primary is just writing is
 * read as it was. Whatever else is asked goes to the primary, and so does a read that the file refuses.
 * What it costs: the read blocks this process, for as long as the disk takes where the row is not in memory.
 */
export function readingDirectly(documents: Documents, path: string): Documents {
  let database: DatabaseSync | null = null;

  function prepare(name: string): StatementSync {
    database ??= new DatabaseSync(path, { readOnly: true });
    return database.prepare(`SELECT body FROM ${quoted(name)} WHERE "_id" = ?`);
  }

  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      const collection = await documents.collection<T>(spec);
      const read = readerOf<T>(() => prepare(spec.name));
      const findOne: Collection<T>['findOne'] = async (filter, options = {}) => {
        const document = isById(filter) && options.sort === undefined ? read(filter) : undefined;
        if (document === undefined) return collection.findOne(filter, options);
        return document === null || options.fields === undefined
          ? document
          : (pick(document, options.fields) as T);
      };
      return { ...collection, findOne };
    },
    ping: () => documents.ping(),
    async close() {
      database?.close();
      database = null;
      await documents.close();
    },
  };
}

/** Answers the document that a filter names, null when there is none, undefined when the file does not say. */
function readerOf<T extends Document>(prepare: () => StatementSync) {
  let statement: StatementSync | null = null;
  return (filter: ById): T | null | undefined => {
    try {
      statement ??= prepare();
      const row = statement.get(filter._id);
      if (row === undefined) return null;
      const document = JSON.parse(String(row.body)) as T & Record<string, unknown>;
      return matches(document, filter);
    } catch {
      // A statement that failed would report the same failure again.
      statement = null;
      return undefined;
    }
  };
}

function isById(filter: Filter): filter is ById {
  if (typeof filter._id !== 'string') return false;
  return Object.entries(filter).every(
    ([name, value]) => typeof value === 'string' && !name.startsWith('$') && !name.includes('.'),
  );
}

/** A list matches by its elements, which is left to the language's own evaluation. */
function matches<T extends Record<string, unknown>>(document: T, filter: ById): T | null | undefined {
  const names = Object.keys(filter);
  if (names.some((name) => Array.isArray(document[name]))) return undefined;
  return names.every((name) => document[name] === filter[name]) ? document : null;
}
