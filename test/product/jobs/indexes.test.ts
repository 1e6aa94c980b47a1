// needs: documents
import t from 'tap';
import { SqliteDatabase } from '../../../src/platform/stores/documents/embedded/database.ts';
import { declareTable } from '../../../src/platform/stores/documents/embedded/declare.ts';
import {
  filterCondition,
  orderByClause,
} from '../../../src/platform/stores/documents/embedded/filter-sql.ts';
import { quotedIdentifier, tableShapeOf } from '../../../src/platform/stores/documents/embedded/shape.ts';
import type { DocumentFilter, SortOrder } from '../../../src/platform/stores/documents/port.ts';
import { JOBS_COLLECTION } from '../../../src/product/jobs/store.ts';

const database = new SqliteDatabase(':memory:');
declareTable(database, JOBS_COLLECTION);
const shape = tableShapeOf(JOBS_COLLECTION);
t.teardown(() => database.close());

const seen = { accountId: 'acc_a', shown: 1, expiresAt: { $gt: 'now' } };
const NEWEST: SortOrder = [['_id', -1]];

function plan(columns: string, filter: DocumentFilter, rest = ''): string {
  const { sql: where, params } = filterCondition(filter, shape);
  const sql = `EXPLAIN QUERY PLAN SELECT ${columns} FROM jobs WHERE ${where} ${rest}`;
  return Array.from(database.iterate(sql, params), ({ detail }) => String(detail)).join('; ');
}

t.test('the total and the first page of a listing come from an index, whatever it filters by', (t) => {
  const filters: [index: string, filter: DocumentFilter][] = [
    ['newest', {}],
    ['status', { status: 'FAILED' }],
    ['type', { type: 'process' }],
    ['op', { op: 'resize' }],
    ['preset', { presetId: 'pre_1', presetVersion: 2 }],
    ['root', { rootJobId: 'job_1' }],
    ['created', { createdAt: { $gte: 'then' } }],
  ];
  for (const [index, filter] of filters) {
    const total = plan('count(*)', { ...seen, ...filter });
    t.match(total, new RegExp(`COVERING INDEX jobs\\.(${index}|counts) `), `${index}: ${total}`);
    if (index === 'created') continue;
    const page = plan('rowid, body', { ...seen, ...filter }, `${orderByClause(NEWEST, shape)} LIMIT 20`);
    t.match(page, new RegExp(`INDEX jobs\\.${index} `), `${index}: ${page}`);
    t.notMatch(page, /TEMP B-TREE/, index);
  }
  t.end();
});

t.test('counts by status and type come from an index alone', (t) => {
  const by = ['status', 'type', 'phase']
    .map((field) => quotedIdentifier(shape.keys.get(field) ?? field))
    .join(', ');
  t.match(plan(`${by}, count(*)`, seen, `GROUP BY ${by}`), /COVERING INDEX jobs\.counts /);
  t.end();
});

t.test('the usage of a window reads the jobs of that window, and no other', (t) => {
  const filter = { ...seen, createdAt: { $gte: 'then', $lt: 'now' } };
  const read = plan('body', filter, "GROUP BY json_extract(body, '$.day')");
  const bounds = 'key:accountId=? AND key:shown=? AND key:createdAt>? AND key:createdAt<?';
  t.match(read, `USING INDEX jobs.created (${bounds})`);
  t.end();
});
