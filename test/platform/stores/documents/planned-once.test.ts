// needs: documents
import { constants, DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { selectStatement } from '../../../../src/platform/stores/documents/embedded/filter-sql.ts';
import {
  LIMIT_OFFSET_CLAUSE,
  quotedIdentifier,
  tableShapeOf,
} from '../../../../src/platform/stores/documents/embedded/shape.ts';
import type { CollectionSpec } from '../../../../src/platform/stores/documents/port.ts';

const SPEC: CollectionSpec = {
  name: 'things',
  indexes: [
    {
      name: 'owner',
      fields: [
        ['owner', 1],
        ['_id', 1],
      ],
    },
  ],
};

/** A table of things, and how often SQLite has asked, while it planned a statement, whether that may be done. */
function open(t: Test) {
  const database = new DatabaseSync(':memory:');
  t.teardown(() => database.close());
  database.exec('CREATE TABLE things ("_id" PRIMARY KEY NOT NULL, body TEXT NOT NULL, "key:owner" NOT NULL)');
  for (const sql of tableShapeOf(SPEC).indexes.values()) database.exec(sql);
  database.exec(`INSERT INTO things VALUES ('a', '{}', 'one'), ('b', '{}', 'one'), ('c', '{}', 'one')`);
  const asked = { times: 0 };
  database.setAuthorizer(() => {
    asked.times += 1;
    return constants.SQLITE_OK;
  });
  return { database, asked };
}

t.test('a read by an index is planned once, however many rows are asked for', async (t) => {
  const { database, asked } = open(t);
  const questionOf = (limit: number) =>
    selectStatement('body', { owner: 'one' }, { sort: [['_id', 1]], limit }, tableShapeOf(SPEC));
  const statement = database.prepare(questionOf(1).sql);
  const planned = asked.times;
  for (const limit of [1, 2, 3, -1])
    t.equal(statement.all(...questionOf(limit).params).length, limit === -1 ? 3 : limit);
  t.ok(planned > 0);
  t.equal(asked.times, planned);
});

t.test('a page of rows is planned once, wherever it begins', async (t) => {
  const { database, asked } = open(t);
  const statement = database.prepare(
    `SELECT body FROM ${quotedIdentifier(SPEC.name)} ORDER BY "_id" ${LIMIT_OFFSET_CLAUSE}`,
  );
  const planned = asked.times;
  for (const skip of [0, 1, 2]) t.equal(statement.all(-1, skip).length, 3 - skip);
  t.equal(asked.times, planned);
});
