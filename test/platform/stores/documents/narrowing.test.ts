// needs: documents
import t from 'tap';
import { Database } from '../../../../src/platform/stores/documents/embedded/database.ts';
import { declareTable } from '../../../../src/platform/stores/documents/embedded/declare.ts';
import { narrow, orderBy } from '../../../../src/platform/stores/documents/embedded/narrowing.ts';
import { shapeOf } from '../../../../src/platform/stores/documents/embedded/shape.ts';
import type { CollectionSpec, Filter, Sort } from '../../../../src/platform/stores/documents/port.ts';

const spec: CollectionSpec = {
  name: 'jobs',
  indexes: [
    {
      name: 'queue',
      fields: [
        ['status', 1],
        ['served', 1],
      ],
    },
    {
      name: 'listing',
      fields: [
        ['account', 1],
        ['createdAt', -1],
        ['_id', -1],
      ],
    },
    { name: 'lease', fields: [['lease.until', 1]], whenPresent: ['lease.until'] },
    {
      name: 'key',
      fields: [
        ['account', 1],
        ['key', 1],
      ],
      unique: true,
      whenPresent: ['key'],
    },
  ],
};
const database = new Database(':memory:');
declareTable(database, spec);
const shape = shapeOf(spec);
t.teardown(() => database.close());

function plan(filter: Filter, sort: Sort): string {
  const { where, params } = narrow(filter, shape);
  const sql = `EXPLAIN QUERY PLAN SELECT rowid, body FROM jobs WHERE ${where} ${orderBy(sort, shape)}`;
  return Array.from(database.iterate(sql, params), ({ detail }) => String(detail)).join('; ');
}

const LOOKUPS: Array<[promise: string, index: string, filter: Filter, sort: Sort]> = [
  ['by _id', 'sqlite_autoindex_jobs_1', { _id: 'j' }, []],
  ['several by _id', 'sqlite_autoindex_jobs_1', { _id: { $in: ['a', 'b'] }, other: 1 }, []],
  ['a claim in order', 'jobs.queue', { status: 'QUEUED', other: { $ne: 3 } }, [['served', 1]]],
  ['a claim below a bound', 'jobs.queue', { status: 'QUEUED', served: { $lt: 5 } }, [['served', 1]]],
  [
    'a listing',
    'jobs.listing',
    { account: 'a' },
    [
      ['createdAt', -1],
      ['_id', -1],
    ],
  ],
  [
    'a listing from its cursor',
    'jobs.listing',
    {
      account: 'a',
      createdAt: { $lte: 'then' },
      $or: [{ createdAt: { $lt: 'then' } }, { _id: { $lt: 'j' } }],
    },
    [
      ['createdAt', -1],
      ['_id', -1],
    ],
  ],
  ['expired leases', 'jobs.lease', { 'lease.until': { $lt: 'now' } }, [['lease.until', 1]]],
  ['within a partial unique index', 'jobs.key', { account: 'a', key: 'k' }, []],
  ['either of two', 'jobs.queue', { $or: [{ status: 'QUEUED' }, { 'lease.until': { $lt: 'now' } }] }, []],
];

for (const [promise, index, filter, sort] of LOOKUPS) {
  t.test(`a look-up by an indexed field reads no more than its part of the index: ${promise}`, async (t) => {
    const told = plan(filter, sort);
    t.match(told, new RegExp(`SEARCH jobs USING INDEX ${index} `));
    t.notMatch(told, /SCAN jobs|TEMP B-TREE/);
  });
}

t.test('a filter is left to be evaluated only where columns cannot say it', async (t) => {
  t.equal(narrow({ account: 'a', status: { $in: ['x', 'y'] }, key: { $exists: true } }, shape).exact, true);
  t.equal(narrow({ $or: [{ account: 'a' }, { $and: [{ status: { $ne: 's' } }] }] }, shape).exact, true);
  t.equal(narrow({ account: 'a', other: 1 }, shape).exact, false);
  t.equal(narrow({ $or: [{ account: 'a' }, { other: 1 }] }, shape).exact, false);
  t.equal(narrow({ account: { $not: { $eq: 'a' } } }, shape).exact, false);
  t.equal(narrow({ $nor: [{ account: 'a' }] }, shape).exact, false);
});
