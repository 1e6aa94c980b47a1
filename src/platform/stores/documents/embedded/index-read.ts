import {
  type CollectionSpec,
  type Filter,
  type FindOptions,
  type IndexSpec,
  order,
  type Sort,
} from '../port.ts';
import { type Key, keyOfValue } from './keys.ts';
import { FIRST_ROWS, quoted, shapeOf } from './shape.ts';

/** A query that one index answers completely: the rows of the index are the results, in its order. */
interface IndexRead {
  /** The statement, which returns `body` and is the same for all queries of its kind. */
  sql: string;
  params: Array<Key | number>;
}

type IndexReads = (filter: Filter, options: FindOptions) => IndexRead | null;

const PRIMARY: Pick<IndexSpec, 'fields'> = { fields: order('_id') };
/** The most cached plans. A collection has a few kinds of queries; the limit protects against invented field names. */
const MOST_KINDS = 100;

/**
 * Plans the reads of a collection by its indexes; null for a query that no index answers completely. An index
 * answers a query if the filter fixes exactly its first fields, each to one value, and the sort is that of its next
 * fields. SQLite then reads only rows of the result, and sorts nothing.
 */
export function indexReadsOf(spec: CollectionSpec): IndexReads {
  const shape = shapeOf(spec);
  const column = (field: string) => quoted(shape.keys.get(field) ?? field);
  // A partial index lacks some documents.
  const fullIndexes = spec.indexes.filter(({ whenPresent }) => whenPresent === undefined);
  /** The plans by fixed fields and sort; null when no index answers the query. */
  const statements = new Map<string, string | null>();

  function statementOf(fixed: readonly string[], sort: Sort): string | null {
    const index = [PRIMARY, ...fullIndexes].find(({ fields }) => answers(fields, fixed, sort));
    if (index === undefined) return null;
    const named = 'name' in index ? ` INDEXED BY ${quoted(`${spec.name}.${index.name}`)}` : '';
    const where = fixed.map((field) => `${column(field)} = ?`).join(' AND ');
    const order = sort.map(([field, direction]) => `${column(field)} ${direction === 1 ? 'ASC' : 'DESC'}`);
    const ordered = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
    return `SELECT body FROM ${quoted(spec.name)}${named} WHERE ${where}${ordered} ${FIRST_ROWS}`;
  }

  function knownStatementOf(fixed: readonly string[], sort: Sort): string | null {
    const kind = JSON.stringify([fixed, sort]);
    const known = statements.get(kind);
    if (known !== undefined) return known;
    const statement = statementOf(fixed, sort);
    if (statements.size < MOST_KINDS) statements.set(kind, statement);
    return statement;
  }

  return (filter, { sort = [], skip = 0, limit = -1 }) => {
    if (skip > 0) return null;
    const fixed = Object.keys(filter);
    const keys = fixed.map((field) => keyOf(filter[field]));
    if (fixed.length === 0 || keys.includes(undefined)) return null;
    const sql = knownStatementOf(fixed, sort);
    return sql === null ? null : { sql, params: [...(keys as Key[]), limit] };
  };
}

/** The key that a field is fixed to; undefined for operators, lists and invalid values. */
function keyOf(condition: unknown): Key | undefined {
  return condition === undefined ? undefined : keyOfValue(condition);
}

/** Whether the fixed fields come first in an index, and the sort after them, forwards or backwards. */
function answers(fields: Sort, fixed: readonly string[], sort: Sort): boolean {
  const first = fields.slice(0, fixed.length).map(([field]) => field);
  if (first.length < fixed.length || !first.every((field) => fixed.includes(field))) return false;
  const next = fields.slice(fixed.length, fixed.length + sort.length);
  const directions = sort.map(([field, direction], at) => {
    const [name, kept] = next[at] ?? [];
    return name === field && kept !== undefined ? direction * kept : 0;
  });
  return [1, -1].some((direction) => directions.every((one) => one === direction));
}
