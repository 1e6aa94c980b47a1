import type { Test } from 'tap';
import {
  type CollectionSpec,
  type DocumentStore,
  type DocumentWithId,
  DuplicateKeyError,
  sortBy,
} from '../../../../src/platform/stores/documents/port.ts';

interface Item extends DocumentWithId {
  [field: string]: unknown;
}

export interface OpenDocuments {
  documents: DocumentStore;
  /** Closes, and opens the same data as a start after it does. */
  restart(): Promise<DocumentStore>;
}

/** What every implementation of the documents port promises. Each test has its own collection. */
export function documentsContract(t: Test, { documents, restart }: OpenDocuments): void {
  async function prepared(spec: CollectionSpec) {
    await documents.prepare(spec);
    return documents.collection<Item>(spec);
  }
  const items = (name: string) =>
    prepared({
      name,
      indexes: [
        {
          name: 'queue',
          fields: [
            ['status', 1],
            ['rank', 1],
          ],
        },
        { name: 'email', fields: [['email', 1]], unique: true, whenPresent: ['email'] },
      ],
    });
  const ids = (found: Item[]) => found.map(({ _id }) => _id);

  t.test('120 racing claims of 100 items get 100 distinct ones, in order', async (t) => {
    const claims = await items('claims');
    const queued = Array.from({ length: 100 }, (_, rank) => ({ _id: `c${rank}`, status: 'QUEUED', rank }));
    await claims.insertMany(queued);
    const won = await Promise.all(
      Array.from({ length: 120 }, (_, racer) =>
        claims.findOneAndUpdate(
          { status: 'QUEUED' },
          { $set: { status: 'RUNNING', owner: racer }, $inc: { epoch: 1 } },
          { sort: [['rank', 1]] },
        ),
      ),
    );
    const claimed = won.filter((item) => item !== null);
    t.equal(claimed.length, 100);
    t.equal(new Set(ids(claimed)).size, 100);
    t.ok(claimed.every(({ epoch, status }) => epoch === 1 && status === 'RUNNING'));
    t.equal(await claims.count({ status: 'QUEUED' }), 0);
  });

  t.test('racing conditional updates never take a balance below zero', async (t) => {
    const accounts = await items('accounts');
    await accounts.insertOne({ _id: 'a', balance: 100, held: 10 });
    const results = await Promise.all(
      Array.from({ length: 50 }, () =>
        accounts.updateOne(
          { _id: 'a', $expr: { $gte: [{ $subtract: ['$balance', '$held'] }, 7] } },
          { $inc: { balance: -7 } },
        ),
      ),
    );
    t.equal(results.filter(({ modified }) => modified === 1).length, 12);
    t.match(await accounts.findOne({ _id: 'a' }), { balance: 16 });
  });

  t.test('a unique index holds the documents that have its fields, and names itself', async (t) => {
    const people = await items('people');
    await people.insertMany([{ _id: 'p1' }, { _id: 'p2' }, { _id: 'p3', email: 'ann@example.com' }]);
    const refused = (index: string) => ({ name: 'DuplicateKeyError', index });
    await t.rejects(people.insertOne({ _id: 'p4', email: 'ann@example.com' }), refused('email'));
    await t.rejects(people.insertOne({ _id: 'p1' }), refused('_id_'));
    await t.rejects(
      people.updateOne({ _id: 'p1' }, { $set: { email: 'ann@example.com' } }),
      refused('email'),
    );
    t.match(await people.findOne({ email: 'ann@example.com' }), { _id: 'p3' });

    await people.updateOne({ _id: 'p3' }, { $unset: { email: '' } });
    t.match(await people.updateOne({ _id: 'p1' }, { $set: { email: 'ann@example.com' } }), { modified: 1 });
    t.same(ids(await people.find({ email: { $exists: true } })), ['p1']);
  });

  t.test('a unique index of several fields takes a missing one as null', async (t) => {
    const slugs = await prepared({
      name: 'slugs',
      indexes: [
        {
          name: 'slug',
          fields: [
            ['account', 1],
            ['slug', 1],
          ],
          unique: true,
        },
      ],
    });
    await slugs.insertMany([
      { _id: '1', account: 'a' },
      { _id: '2', account: 'b' },
    ]);
    await t.rejects(slugs.insertOne({ _id: '3', account: 'a', slug: null }), {
      name: 'DuplicateKeyError',
      index: 'slug',
    });
    t.same(ids(await slugs.find({ account: 'a', slug: null })), ['1']);
  });

  t.test('insertMany stores what it can and returns the positions of the rest', async (t) => {
    const many = await items('many');
    await many.insertOne({ _id: 'm1' });
    const batch = [{ _id: 'm0' }, { _id: 'm1' }, { _id: 'm2', email: 'x' }, { _id: 'm3', email: 'x' }];
    t.same(await many.insertMany(batch), { duplicates: [1, 3] });
    t.equal(await many.count({}), 3);
    t.same(await many.insertMany([]), { duplicates: [] });
  });

  t.test('racing upserts make one document', async (t) => {
    const counters = await items('counters');
    const upsert = () =>
      counters.updateOne(
        { _id: 'day', kind: 'usage' },
        { $inc: { 'spent.credits': 2 }, $setOnInsert: { createdAt: 'then' } },
        { upsert: true },
      );
    const results = await Promise.all(Array.from({ length: 40 }, upsert));
    t.equal(results.filter(({ upsertedId }) => upsertedId === 'day').length, 1);
    t.same(await counters.find({}), [
      { _id: 'day', kind: 'usage', createdAt: 'then', spent: { credits: 80 } },
    ]);
    await t.rejects(counters.updateOne({ kind: 'x' }, { $set: { a: 1 } }, { upsert: true }), /needs an _id/);
    const conflicting = { $set: { email: 'y' } };
    await counters.updateOne({ _id: 'e1' }, conflicting, { upsert: true });
    await t.rejects(counters.updateOne({ _id: 'e2' }, conflicting, { upsert: true }), DuplicateKeyError);
  });

  t.test('sorts numbers before text and missing before both, and pages', async (t) => {
    const sorted = await items('sorted');
    const rank = (id: string, rank: unknown) => ({ _id: id, status: 's', rank, free: rank });
    await sorted.insertMany([
      rank('text', 'b'),
      rank('ten', 10),
      { _id: 'missing', status: 's' },
      rank('two', 2),
      rank('capital', 'B'),
      rank('yes', true),
      rank('half', 0.5),
      rank('below', -3),
    ]);
    const ascending = ['missing', 'below', 'half', 'two', 'ten', 'capital', 'text', 'yes'];
    t.same(ids(await sorted.find({ status: 's' }, { sort: [['rank', 1]] })), ascending);
    t.same(ids(await sorted.find({ status: 's' }, { sort: [['rank', -1]] })), ascending.toReversed());
    const page = { sort: [['rank', 1]], skip: 2, limit: 3 } as const;
    t.same(ids(await sorted.find({ status: 's' }, page)), ascending.slice(2, 5));
    t.same(ids(await sorted.find({ status: 's', free: { $ne: 2 } }, page)), ['half', 'ten', 'capital']);
    t.same(ids(await sorted.find({}, { sort: [['free', 1]], limit: 4 })), ascending.slice(0, 4));
    t.same(await sorted.find({}, { limit: 0 }), []);
  });

  t.test('every operator of a filter means the same with and without an index', async (t) => {
    const filters = await items('filters');
    await filters.insertMany(
      [1, 2, 3, 'a', 'b', null, undefined, true].map((value, at) => ({
        _id: `f${at}`,
        ...(value === undefined ? {} : { rank: value, free: value, email: value }),
      })),
    );
    const conditions: Array<[condition: unknown, expected: string[]]> = [
      [2, ['f1']],
      [{ $eq: 'b' }, ['f4']],
      [null, ['f5', 'f6']],
      [{ $ne: 2 }, ['f0', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7']],
      [{ $gt: 1 }, ['f1', 'f2']],
      [{ $gte: 2, $lt: 3 }, ['f1']],
      [{ $lte: 2 }, ['f0', 'f1']],
      [{ $gt: 'a' }, ['f4']],
      [{ $lt: 'b' }, ['f3']],
      [{ $gt: 1, $lt: 'b' }, []],
      [{ $in: [1, 'a', 'none'] }, ['f0', 'f3']],
      [{ $in: [3] }, ['f2']],
      [{ $in: [] }, []],
      [{ $exists: true }, ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f7']],
      [{ $exists: false }, ['f6']],
      [{ $not: { $gt: 1 } }, ['f0', 'f3', 'f4', 'f5', 'f6', 'f7']],
      [true, ['f7']],
    ];
    for (const [condition, expected] of conditions) {
      for (const field of ['rank', 'free', 'email']) {
        const filter = { [field]: condition };
        const text = JSON.stringify(filter);
        t.same(ids(await filters.find(filter, { sort: [['_id', 1]] })), expected, text);
        t.equal(await filters.count(filter), expected.length, `count of ${text}`);
      }
    }
    const either = { $or: [{ rank: 1 }, { email: 'b' }, { free: null, rank: null }] };
    t.same(ids(await filters.find(either, { sort: [['_id', 1]] })), ['f0', 'f4', 'f5', 'f6']);
    const both = { $and: [{ rank: { $gte: 1 } }, { free: { $lt: 3 } }], _id: { $ne: 'f0' } };
    t.same(ids(await filters.find(both)), ['f1']);
  });

  t.test('a filter that holds undefined is refused, not widened', async (t) => {
    const guarded = await items('guarded');
    await guarded.insertOne({ _id: 'g', account: 'theirs' });
    await t.rejects(guarded.find({ account: undefined }), /filter\.account is undefined/);
    await t.rejects(guarded.deleteMany({ $or: [{ account: undefined }] }), TypeError);
    t.equal(await guarded.count({}), 1);
  });

  t.test('lists are pushed to, cut, pulled from and searched', async (t) => {
    const lists = await items('lists');
    const entry = (name: string, rank: number) => ({ name, rank });
    await lists.insertOne({ _id: 'l', entries: [entry('a', 1)], tags: ['x'] });
    const push = { entries: { $each: [entry('b', 2), entry('c', 3)], $slice: -2 } };
    await lists.updateOne({ _id: 'l' }, { $push: push });
    t.match(await lists.findOne({ _id: 'l' }), { entries: [{ name: 'b' }, { name: 'c' }], tags: ['x'] });

    await lists.updateOne({ _id: 'l' }, { $pull: { entries: { name: 'b' } }, $push: { tags: 'y' } });
    t.same(await lists.findOne({ _id: 'l' }), { _id: 'l', entries: [entry('c', 3)], tags: ['x', 'y'] });

    const found = (filter: Record<string, unknown>) => lists.count({ _id: 'l', ...filter });
    t.equal(await found({ entries: { $elemMatch: { name: 'c', rank: { $gt: 2 } } } }), 1);
    t.equal(await found({ entries: { $elemMatch: { name: 'c', rank: { $gt: 3 } } } }), 0);
    t.equal(await found({ tags: { $elemMatch: { $eq: 'y' } } }), 1);
    t.equal(await found({ tags: { $elemMatch: { $eq: 'z' } } }), 0);
    t.equal(await found({ tags: { $not: { $elemMatch: { $eq: 'z' } } } }), 1);
    t.equal(await found({ none: { $not: { $elemMatch: { name: 'c' } } } }), 1, 'a missing list has no entry');
    t.equal(await found({ none: { $elemMatch: { $eq: null } } }), 0);
    await lists.updateOne({ _id: 'l' }, { $pull: { tags: 'y' } });
    t.match(await lists.findOne({ _id: 'l' }), { tags: ['x'] });
  });

  t.test('updates of numbers, fields and whole documents report what they did', async (t) => {
    const updates = await items('updates');
    await updates.insertOne({ _id: 'u', n: 5, low: 5, high: 5, gone: 1 });
    const update = { $inc: { n: 2, fresh: 1 }, $max: { low: 9, high: 4 }, $unset: { gone: '' } };
    t.same(await updates.updateOne({ _id: 'u' }, update), { matched: 1, modified: 1, upsertedId: null });
    t.same(await updates.findOne({ _id: 'u' }), { _id: 'u', n: 7, low: 9, high: 5, fresh: 1 });
    t.match(await updates.updateOne({ _id: 'u' }, { $set: { n: 7 } }), { matched: 1, modified: 0 });
    t.match(await updates.updateOne({ _id: 'none' }, { $set: { n: 7 } }), { matched: 0, modified: 0 });

    t.match(await updates.findOneAndUpdate({ _id: 'u' }, { $inc: { n: 1 } }), { n: 8 });
    t.equal(await updates.findOneAndUpdate({ _id: 'none' }, { $inc: { n: 1 } }), null);
    const created = await updates.findOneAndUpdate({ _id: 'v' }, { $inc: { n: 1 } }, { upsert: true });
    t.same(created, { _id: 'v', n: 1 });

    t.match(await updates.replaceOne({ _id: 'u', n: 8 }, { _id: 'u', version: 2 }), { matched: 1 });
    t.match(await updates.replaceOne({ _id: 'u', n: 8 }, { _id: 'u', version: 3 }), { matched: 0 });
    t.match(await updates.replaceOne({ _id: 'w' }, { _id: 'w' }, { upsert: true }), { upsertedId: 'w' });
    t.same(await updates.findOne({ _id: 'u' }), { _id: 'u', version: 2 });
    t.same(await updates.updateMany({}, { $set: { seen: true } }), {
      matched: 3,
      modified: 3,
      upsertedId: null,
    });
    t.equal(await updates.deleteOne({ _id: 'w', seen: true }), 1);
    t.equal(await updates.deleteMany({ seen: true }), 2);
    t.equal(await updates.count({}), 0);
  });

  t.test('a document comes back with the fields asked for', async (t) => {
    const picked = await items('picked');
    await picked.insertOne({ _id: 'p', a: { b: 1, c: 2 }, list: [{ x: 1, y: 2 }], secret: 's' });
    t.same(await picked.findOne({ _id: 'p' }, { fields: ['a.b', 'list.x', 'none'] }), {
      _id: 'p',
      a: { b: 1 },
      list: [{ x: 1 }],
    });
    t.same(await picked.find({}, { fields: [] }), [{ _id: 'p' }]);

    const keyed = await prepared({
      name: 'keyed',
      indexes: [{ name: 'all', fields: sortBy('n', 'deep.text', 'deep.flag') }],
    });
    const rows = [
      { _id: 'a', n: 1.5, deep: { text: 'x', flag: true, more: 1 } },
      { _id: 'b', n: -2, deep: { text: '', flag: false } },
      { _id: 'c', n: null, deep: { text: 'z' } },
    ];
    await keyed.insertMany(rows);
    t.same(await keyed.find({}, { fields: ['n', 'deep.text', 'deep.flag'], sort: sortBy('_id') }), [
      { _id: 'a', n: 1.5, deep: { text: 'x', flag: true } },
      { _id: 'b', n: -2, deep: { text: '', flag: false } },
      { _id: 'c', n: null, deep: { text: 'z' } },
    ]);
    t.same(await keyed.find({ n: { $gt: -5 } }, { fields: ['deep.text'], sort: sortBy('n'), skip: 1 }), [
      { _id: 'a', deep: { text: 'x' } },
    ]);
  });

  t.test('groups count and sum', async (t) => {
    const usage = await items('usage');
    await usage.insertMany([
      { _id: '1', status: 'done', op: 'resize', cost: { credits: 2 } },
      { _id: '2', status: 'done', op: 'resize', cost: { credits: 3 } },
      { _id: '3', status: 'done', op: 'crop' },
      { _id: '4', status: 'done' },
      { _id: '5', status: 'failed', op: 'crop', cost: { credits: 9 } },
    ]);
    const sums = { calls: 1, credits: 'cost.credits' } as const;
    const rows = await usage.group({ filter: { status: 'done' }, by: { operation: 'op' }, sums });
    t.same(
      new Set(rows.map((row) => JSON.stringify([row.operation, row.calls, row.credits]))),
      new Set(['["resize",2,5]', '["crop",1,0]', '[null,1,0]']),
    );
    t.same(await usage.group({ filter: {}, by: {}, sums }), [{ calls: 5, credits: 14 }]);
    t.same(await usage.group({ filter: { status: 'none' }, by: {}, sums }), []);
  });

  t.test('an index declared later holds the documents that are there', async (t) => {
    const plain = await prepared({ name: 'later', indexes: [] });
    const old = Array.from({ length: 30 }, (_, n) => ({ _id: `o${n}`, account: { id: `a${n % 3}` }, n }));
    await plain.insertMany(old);
    const spec = {
      name: 'later',
      indexes: [
        {
          name: 'n',
          fields: [
            ['account.id', 1],
            ['n', -1],
          ],
          unique: true,
        },
      ],
    } as const;
    const indexed = await prepared(spec);
    await prepared(spec);
    t.same(ids(await indexed.find({ 'account.id': 'a1' }, { sort: [['n', -1]], limit: 2 })), ['o28', 'o25']);
    await t.rejects(indexed.insertOne({ _id: 'new', account: { id: 'a1' }, n: 25 }), {
      name: 'DuplicateKeyError',
      index: 'n',
    });

    const changed = { name: 'later', indexes: [{ name: 'n', fields: [['n', 1]], unique: true }] } as const;
    await prepared(changed);
    await t.rejects(indexed.insertOne({ _id: 'new', account: { id: 'b' }, n: 25 }), {
      name: 'DuplicateKeyError',
      index: 'n',
    });
  });

  t.test('slices that share a collection each declare indexes of their own', async (t) => {
    const shared = await items('shared');
    const theirs = await prepared({
      name: 'shared',
      indexes: [{ name: 'code', fields: [['code', 1]], unique: true, whenPresent: ['code'] }],
    });
    await prepared({ name: 'shared', indexes: [] });
    await shared.insertOne({ _id: 's1', email: 'e', code: 'c' });
    await t.rejects(theirs.insertOne({ _id: 's2', email: 'e' }), {
      name: 'DuplicateKeyError',
      index: 'email',
    });
    await t.rejects(shared.insertOne({ _id: 's3', code: 'c' }), { name: 'DuplicateKeyError', index: 'code' });
  });

  t.test('a restart finds everything that was acknowledged', async (t) => {
    const before = await items('kept');
    await before.insertMany([
      { _id: 'k1', email: 'k' },
      { _id: 'k2', rank: 1 },
    ]);
    await before.updateOne({ _id: 'k2' }, { $inc: { rank: 1 } });
    const documentsAfter = await restart();
    await documentsAfter.ping();
    const after = documentsAfter.collection<Item>({
      name: 'kept',
      indexes: [{ name: 'email', fields: [['email', 1]], unique: true, whenPresent: ['email'] }],
    });
    t.same(await after.find({}, { sort: [['_id', 1]] }), [
      { _id: 'k1', email: 'k' },
      { _id: 'k2', rank: 2 },
    ]);
    await t.rejects(after.insertOne({ _id: 'k3', email: 'k' }), {
      name: 'DuplicateKeyError',
      index: 'email',
    });
  });
}
