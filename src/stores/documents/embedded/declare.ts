import type { CollectionSpec } from '../port.ts';
import type { Database } from './database.ts';
import { quoted, type Shape, shapeOf } from './shape.ts';
import { Table } from './table.ts';

/**
 * Gives a collection's table the shape of its declaration, whatever shape an earlier version left: columns and indexes
 * that are no longer declared go, new ones are filled from the documents. Does nothing when the shape is there.
 */
export function declareTable(database: Database, spec: CollectionSpec): Table {
  const shape = shapeOf(spec);
  database.exec('SAVEPOINT declare');
  try {
    if (reshape(database, shape)) database.forgetStatements();
    database.exec('RELEASE declare');
  } catch (error) {
    database.exec('ROLLBACK TO declare; RELEASE declare');
    database.forgetStatements();
    throw error;
  }
  return new Table(database, shape);
}

function reshape(database: Database, shape: Shape): boolean {
  const table = quoted(shape.table);
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} ("_id" PRIMARY KEY NOT NULL, body TEXT NOT NULL)`);
  const columns = namesOf(database, 'SELECT name, type AS detail FROM pragma_table_info(?)', shape.table);
  const indexes = namesOf(
    database,
    "SELECT name, sql AS detail FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?",
    shape.table,
  );
  const fills = fillsOf(shape);

  const statements = [
    ...[...indexes]
      .filter(([name, sql]) => shape.indexes.get(name) !== sql)
      .map(([name]) => `DROP INDEX ${quoted(name)}`),
    ...[...columns.keys()]
      .filter((name) => name !== 'body' && name !== '_id' && !fills.has(name))
      .map((name) => `ALTER TABLE ${table} DROP COLUMN ${quoted(name)}`),
    ...[...fills.keys()]
      .filter((name) => !columns.has(name))
      .map((name) => `ALTER TABLE ${table} ADD COLUMN ${quoted(name)}`),
    ...fillMissing(
      table,
      [...fills].filter(([name]) => !columns.has(name)),
    ),
    ...[...shape.indexes].filter(([name, sql]) => indexes.get(name) !== sql).map(([, sql]) => sql),
  ];
  for (const statement of statements) database.exec(statement);
  return statements.length > 0;
}

/** The expression that computes each column from the JSON text. */
function fillsOf({ keys, presences }: Shape): Map<string, string> {
  const of = (expression: string, columns: ReadonlyMap<string, string>): Array<[string, string]> =>
    [...columns]
      .filter(([, column]) => column !== '_id')
      .map(([field, column]) => [column, `${expression}(body, '${field.replaceAll("'", "''")}')`]);
  return new Map([...of('key_of', keys), ...of('has_field', presences)]);
}

function fillMissing(table: string, missing: Array<[column: string, expression: string]>): string[] {
  if (missing.length === 0) return [];
  const assignments = missing.map(([column, expression]) => `${quoted(column)} = ${expression}`);
  return [`UPDATE ${table} SET ${assignments.join(', ')}`];
}

function namesOf(database: Database, sql: string, table: string): Map<string, string> {
  return new Map(
    Array.from(database.iterate(sql, [table]), ({ name, detail }) => [String(name), String(detail)]),
  );
}
