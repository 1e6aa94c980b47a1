// needs: documents
import fc from 'fast-check';
import { Query } from 'mingo';
import t from 'tap';
import { SqliteDatabase } from '../../../../src/platform/stores/documents/embedded/database.ts';
import { declareTable } from '../../../../src/platform/stores/documents/embedded/declare.ts';
import {
  filterCondition,
  selectStatement,
} from '../../../../src/platform/stores/documents/embedded/filter-sql.ts';
import { tableShapeOf } from '../../../../src/platform/stores/documents/embedded/shape.ts';
import type {
  CollectionSpec,
  DocumentFilter,
  SortOrder,
} from '../../../../src/platform/stores/documents/port.ts';

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
const database = new SqliteDatabase(':memory:');
declareTable(database, spec);
const shape = tableShapeOf(spec);
t.teardown(() => database.close());

function plan(filter: DocumentFilter, sort: SortOrder): string {
  const { sql, params } = selectStatement('rowid, body', filter, { sort }, shape);
  return Array.from(database.iterate(`EXPLAIN QUERY PLAN ${sql}`, params), ({ detail }) =>
    String(detail),
  ).join('; ');
}

const LOOKUPS: Array<[promise: string, index: string, filter: DocumentFilter, sort: SortOrder]> = [
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

const scalar = fc.constantFrom<unknown[]>(0, 1, 2, 2.5, -1, 'a', 'b', '', '["x"]', true, false, null);
const entry = fc.record({ name: scalar, rank: scalar, list: fc.array(scalar) }, { requiredKeys: [] });
const entries = fc.array(entry, { maxLength: 3 });
const words = fc.array(scalar, { maxLength: 3 });
const indexed = { status: scalar, account: scalar, 'lease.until': scalar };
const free = { any: fc.oneof(scalar, entry, entries), entries, words, deep: fc.record({ any: scalar }) };
const contents = fc.record(
  { status: scalar, account: scalar, lease: fc.record({ until: scalar }, { requiredKeys: [] }), ...free },
  { requiredKeys: [] },
);

const comparable = fc.constantFrom(0, 1, 2, 2.5, 'a', 'b', '');
const comparison = fc.oneof(
  scalar,
  fc.tuple(fc.constantFrom('$eq', '$ne'), scalar).map(([name, operand]) => ({ [name]: operand })),
  fc
    .tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), comparable)
    .map(([name, operand]) => ({ [name]: operand })),
  fc.tuple(comparable, comparable).map(([from, to]) => ({ $gte: from, $lt: to })),
  fc.array(comparable, { maxLength: 3 }).map((operands) => ({ $in: operands })),
  fc.boolean().map((operand) => ({ $exists: operand })),
);
const condition = fc.oneof(
  comparison,
  comparison.map((negated) => ({ $not: Object(negated) === negated ? negated : { $eq: negated } })),
);
const match = fc.oneof(
  fc.tuple(
    fc.constantFrom('entries', 'any', 'missing'),
    fc.oneof(
      fc.record({ name: comparison, rank: condition }, { requiredKeys: ['name'] }),
      fc.record({ list: comparable.map((operand) => ({ $elemMatch: { $eq: operand } })) }),
    ),
  ),
  fc.tuple(
    fc.constantFrom('words', 'missing'),
    comparable.map((operand) => ({ $eq: operand })),
  ),
);
const ofEntries = match.chain(([name, wanted]) =>
  fc.constantFrom<DocumentFilter>(
    { [name]: { $elemMatch: wanted } },
    { [name]: { $not: { $elemMatch: wanted } } },
  ),
);
const part = fc.oneof(
  fc
    .tuple(fc.constantFrom(...Object.keys(indexed), 'deep.any', 'missing'), condition)
    .map(([name, wanted]) => ({ [name]: wanted })),
  ofEntries,
);
const filters = fc.oneof(
  part,
  fc.array(part, { maxLength: 3 }).map((parts) => Object.assign({}, ...parts)),
  fc
    .tuple(fc.constantFrom('$or', '$and'), fc.array(part, { minLength: 1, maxLength: 3 }))
    .map(([name, parts]) => ({ [name]: parts })),
);

t.test('a filter selects what the language of MongoDB makes of it', async (t) => {
  const things = declareTable(database, { ...spec, name: 'things' });
  let selected = 0;
  fc.assert(
    fc.property(fc.array(contents, { minLength: 1, maxLength: 8 }), filters, (bodies, filter) => {
      things.deleteMany({});
      const documents = bodies.map((body, at) => ({ _id: String(at), ...body }));
      things.insertMany(documents);
      const query = new Query(filter);
      const expected = documents.filter((document) => query.test(document)).map(({ _id }) => _id);
      const found = things.find(filter, { sort: [['_id', 1]] }).map(({ _id }) => _id);
      selected += found.length;
      t.strictSame(found, expected, JSON.stringify([filter, documents]));
      t.equal(things.count(filter), expected.length);
    }),
    { numRuns: 2_000 },
  );
  t.ok(selected > 500, `${selected} documents were selected`);
});

t.test('what SQL cannot say is refused, and never answered with other documents', async (t) => {
  const refused: Array<[filter: DocumentFilter, message: RegExp]> = [
    [{ other: { a: 1 } }, /\$eq takes text/],
    [{ other: ['a'] }, /\$eq takes text/],
    [{ other: { $in: [null] } }, /\$in takes/],
    [{ other: { $gt: true } }, /\$gt takes/],
    [{ other: { $nin: ['a'] } }, /no filter operator \$nin/],
    [{ $nor: [{ other: 1 }] }, /no filter operator \$nor/],
    [{ $expr: { $eq: ['$a', 1] } }, /\$expr takes/],
    [{ $expr: { $gte: [{ $size: '$a' }, 1] } }, /A sum of \$expr/],
    [{ 'a"b': 1 }, /not the name of a field/],
  ];
  for (const [filter, message] of refused)
    t.throws(() => filterCondition(filter, shape), { name: 'TypeError', message }, JSON.stringify(filter));
});
