import type { CollectionSpec, IndexSpec } from '../port.ts';

/** The table of a collection in SQLite: `_id`, the JSON text, and a column for each value that an index needs. */
export interface TableShape {
  table: string;
  /** For each indexed field, the name of the column that holds its key. */
  keys: ReadonlyMap<string, string>;
  /** For each field that an index requires, the column that tells whether the field is present (1 or 0). */
  presences: ReadonlyMap<string, string>;
  /** The CREATE INDEX statement of each declared index, keyed by its name. */
  indexes: ReadonlyMap<string, string>;
  /** The names of the unique indexes, keyed by the message with which SQLite refuses a violation of each. */
  refusals: ReadonlyMap<string, string>;
}

export function tableShapeOf(spec: CollectionSpec): TableShape {
  const keys = new Map([['_id', '_id']]);
  const presences = new Map<string, string>();
  for (const index of spec.indexes) {
    for (const [field] of index.fields) if (field !== '_id') keys.set(field, `key:${field}`);
    for (const field of index.whenPresent ?? []) presences.set(field, `has:${field}`);
  }
  const refusals = new Map([[uniqueViolationMessage(spec.name, ['_id']), '_id_']]);
  const indexes = new Map<string, string>();
  for (const index of spec.indexes) {
    const columns = index.fields.map(([field]) => keys.get(field) ?? field);
    if (index.unique) refusals.set(uniqueViolationMessage(spec.name, columns), index.name);
    indexes.set(`${spec.name}.${index.name}`, createIndexStatement(spec.name, index, columns));
  }
  return { table: spec.name, keys, presences, indexes, refusals };
}

function uniqueViolationMessage(table: string, columns: string[]): string {
  return `UNIQUE constraint failed: ${columns.map((column) => `${table}.${column}`).join(', ')}`;
}

function createIndexStatement(table: string, index: IndexSpec, columns: string[]): string {
  const ordered = columns.map(
    (column, at) => `${quotedIdentifier(column)} ${index.fields[at]?.[1] === -1 ? 'DESC' : 'ASC'}`,
  );
  const partial = (index.whenPresent ?? []).map((field) => `${quotedIdentifier(`has:${field}`)} = 1`);
  return [
    `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quotedIdentifier(`${table}.${index.name}`)}`,
    `ON ${quotedIdentifier(table)} (${ordered.join(', ')})`,
    ...(partial.length > 0 ? [`WHERE ${partial.join(' AND ')}`] : []),
  ].join(' ');
}

/**
 * The clauses for the number of rows (-1 for all), and for the number of rows to skip. SQLite plans a statement with a
 * bare `LIMIT ?` again at every execution, because the plan depends on the bound number. That costs several times the
 * read. The sums `? + 0` avoid it.
 */
export const LIMIT_OFFSET_CLAUSE = 'LIMIT ? + 0 OFFSET ? + 0';

/** Quotes a name for a statement. */
export function quotedIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
