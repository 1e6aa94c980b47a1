import type { CollectionSpec, IndexSpec } from '../port.ts';
import type { SqliteDatabase } from './database.ts';
import { quotedIdentifier, type TableShape, tableShapeOf } from './shape.ts';
import { SqliteCollection } from './table.ts';

const ROWS_PER_FILL = 1_000;
const CREATE_INDEXES_TABLE =
  'CREATE TABLE IF NOT EXISTS _indexes (collection PRIMARY KEY, specs TEXT NOT NULL)';

/**
 * Creates the declared indexes of a collection's table, and fills them from the existing documents. As with MongoDB, an
 * index whose declaration has changed is built again, and other indexes stay, because two slices may share a
 * collection. It does nothing when all indexes exist.
 */
export function declareTable(database: SqliteDatabase, { name, indexes }: CollectionSpec): SqliteCollection {
  database.exec('SAVEPOINT declare');
  try {
    const shape = tableShapeOf({ name, indexes: recordIndexes(database, name, indexes) });
    if (changeTable(database, shape)) database.forgetStatements();
    database.exec('RELEASE declare');
    return new SqliteCollection(database, shape);
  } catch (error) {
    database.exec('ROLLBACK TO declare; RELEASE declare');
    database.forgetStatements();
    throw error;
  }
}

/** The collections that were declared in this database, sorted by name. */
export function readDeclaredCollections(database: SqliteDatabase): CollectionSpec[] {
  database.exec(CREATE_INDEXES_TABLE);
  const rows = database.iterate('SELECT collection, specs FROM _indexes ORDER BY collection', []);
  return Array.from(rows, ({ collection, specs }) => ({
    name: String(collection),
    indexes: JSON.parse(String(specs)) as IndexSpec[],
  }));
}

/**
 * Records the declared indexes in a table of the database, and returns every index that was ever recorded for the
 * collection, each in its latest declaration. The table's name begins with an underscore, so that no collection has it.
 */
function recordIndexes(
  database: SqliteDatabase,
  collection: string,
  declared: readonly IndexSpec[],
): IndexSpec[] {
  database.exec(CREATE_INDEXES_TABLE);
  const row = database.get('SELECT specs FROM _indexes WHERE collection = ?', [collection]);
  const before = String(row?.specs ?? '[]');
  const byName = new Map((JSON.parse(before) as IndexSpec[]).map((index) => [index.name, index]));
  for (const index of declared) byName.set(index.name, index);
  const specs = [...byName.values()];
  const after = JSON.stringify(specs);
  if (after !== before || row === undefined)
    database.run('REPLACE INTO _indexes VALUES (?, ?)', [collection, after]);
  return specs;
}

function changeTable(database: SqliteDatabase, shape: TableShape): boolean {
  const table = quotedIdentifier(shape.table);
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} ("_id" PRIMARY KEY NOT NULL, body TEXT NOT NULL)`);
  const columns = readColumnNames(database, shape);
  const indexes = readIndexStatements(database, shape);
  const expressions = columnExpressionsOf(shape);

  const staleIndexes = [...indexes].filter(([name, sql]) => shape.indexes.get(name) !== sql);
  const staleColumns = columns.filter((name) => name !== 'body' && name !== '_id' && !expressions.has(name));
  const newColumns = [...expressions].filter(([name]) => !columns.includes(name));
  const newIndexes = [...shape.indexes].filter(([name, sql]) => indexes.get(name) !== sql);

  for (const [name] of staleIndexes) database.exec(`DROP INDEX ${quotedIdentifier(name)}`);
  for (const name of staleColumns)
    database.exec(`ALTER TABLE ${table} DROP COLUMN ${quotedIdentifier(name)}`);
  for (const [name] of newColumns) database.exec(`ALTER TABLE ${table} ADD COLUMN ${quotedIdentifier(name)}`);
  if (newColumns.length > 0) fillColumns(database, table, newColumns);
  for (const [, sql] of newIndexes) database.exec(sql);
  return [staleIndexes, staleColumns, newColumns, newIndexes].some((changes) => changes.length > 0);
}

/** The SQL expression that computes each column from the JSON text. */
function columnExpressionsOf({ keys, presences }: TableShape): Map<string, string> {
  const of = (expression: string, columns: ReadonlyMap<string, string>): Array<[string, string]> =>
    [...columns]
      .filter(([, column]) => column !== '_id')
      .map(([field, column]) => [column, `${expression}(body, '${field.replaceAll("'", "''")}')`]);
  return new Map([...of('key_of', keys), ...of('has_field', presences)]);
}

/**
 * Fills the columns in batches. A statement passes texts to a function, and SQLite keeps all of them in memory until
 * the statement ends.
 */
function fillColumns(
  database: SqliteDatabase,
  table: string,
  columns: Array<[column: string, expression: string]>,
): void {
  const assignments = columns
    .map(([column, expression]) => `${quotedIdentifier(column)} = ${expression}`)
    .join(', ');
  const range = database.get(`SELECT min(rowid) AS first, max(rowid) AS last FROM ${table}`, []);
  const last = Number(range?.last ?? -1);
  for (let first = Number(range?.first ?? 0); first <= last; first += ROWS_PER_FILL) {
    const sql = `UPDATE ${table} SET ${assignments} WHERE rowid BETWEEN ? AND ?`;
    database.run(sql, [first, first + ROWS_PER_FILL - 1]);
  }
}

function readColumnNames(database: SqliteDatabase, { table }: TableShape): string[] {
  const rows = database.iterate('SELECT name FROM pragma_table_info(?)', [table]);
  return Array.from(rows, ({ name }) => String(name));
}

/** The CREATE INDEX statement of each index that the table has, keyed by its name. */
function readIndexStatements(database: SqliteDatabase, { table }: TableShape): Map<string, string> {
  const rows = database.iterate(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?",
    [table],
  );
  return new Map(Array.from(rows, ({ name, sql }) => [String(name), String(sql)]));
}
