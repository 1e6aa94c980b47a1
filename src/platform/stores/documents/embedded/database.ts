import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { MEGABYTE_BYTES } from '../../../values/units.ts';
import { indexKeyOfField, valueAtPath } from './fields.ts';

/** The most cached prepared statements. The service uses some dozens. */
const MAX_PREPARED_STATEMENTS = 300;

/** The size to which the write-ahead log is truncated after a long read, such as a backup, has made it grow. */
const MAX_WRITE_AHEAD_LOG_BYTES = 8 * MEGABYTE_BYTES;

/** A SQLite file whose commits are on disk when they return. */
export class SqliteDatabase {
  readonly #sqlite: DatabaseSync;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_PREPARED_STATEMENTS });

  constructor(path: string) {
    this.#sqlite = new DatabaseSync(path);
    this.#sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000;');
    this.#sqlite.exec(`PRAGMA journal_size_limit = ${MAX_WRITE_AHEAD_LOG_BYTES};`);
    // These functions fill the columns of an index that is created for existing documents.
    const pure = { deterministic: true };
    this.#sqlite.function('key_of', pure, (body, path) =>
      indexKeyOfField(JSON.parse(String(body)), String(path)),
    );
    this.#sqlite.function('has_field', pure, (body, path) =>
      valueAtPath(JSON.parse(String(body)), String(path)) === undefined ? 0 : 1,
    );
  }

  /** Whether a transaction is open. SQLite rolls one back by itself after a full disk or an I/O error. */
  get inTransaction(): boolean {
    return this.#sqlite.isTransaction;
  }

  /** Runs a statement without caching it, such as the beginning of a transaction or a change of a table. */
  exec(sql: string): void {
    this.#sqlite.exec(sql);
  }

  /** Runs a statement, and returns the number of changed rows. */
  run(sql: string, params: SQLInputValue[]): number {
    return this.#withStatement(sql, (statement) => Number(statement.run(...params).changes));
  }

  get(sql: string, params: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#withStatement(sql, (statement) => statement.get(...params));
  }

  /** Iterates over rows with one row in memory at a time. */
  *iterate(sql: string, params: SQLInputValue[]): Iterable<Record<string, unknown>> {
    try {
      yield* this.#prepare(sql).iterate(...params);
    } catch (error) {
      this.#statements.delete(sql);
      throw error;
    }
  }

  /** Drops the prepared statements, because the tables have changed. */
  forgetStatements(): void {
    this.#statements.clear();
  }

  close(): void {
    this.#sqlite.close();
  }

  /**
   * Uses a prepared statement. After a failure the statement is prepared again, because it would report the same
   * failure at its next use.
   */
  #withStatement<T>(sql: string, use: (statement: StatementSync) => T): T {
    try {
      return use(this.#prepare(sql));
    } catch (error) {
      this.#statements.delete(sql);
      throw error;
    }
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#sqlite.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
