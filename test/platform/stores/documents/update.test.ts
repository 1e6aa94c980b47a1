// needs: nothing
import fc from 'fast-check';
import { update as reference } from 'mingo/updater';
import t from 'tap';
import {
  applyDocumentUpdate,
  upsertedDocument,
} from '../../../../src/platform/stores/documents/embedded/update.ts';
import type { DocumentUpdate, DocumentWithId } from '../../../../src/platform/stores/documents/port.ts';

const value = fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom('a', 'b', true, null));
const entry = fc.oneof(
  value,
  fc.record({ name: fc.constantFrom('x', 'y'), rank: fc.integer({ min: 0, max: 3 }) }),
);
const list = fc.array(entry, { maxLength: 4 });

/** A document of which each field has its kind, and some are missing. */
const documents = fc.record(
  {
    n: fc.integer({ min: -9, max: 9 }),
    word: fc.constantFrom('a', 'b', 'c'),
    list,
    deep: fc.record({ n: fc.integer({ min: -9, max: 9 }), list }, { requiredKeys: [] }),
    any: fc.oneof(entry, list),
  },
  { requiredKeys: [] },
);

/** One change of one field, by an operator that its kind takes. */
const numbers = fc.constantFrom('n', 'deep.n', 'fresh', 'made.on.the.way');
const lists = fc.constantFrom('list', 'deep.list', 'fresh', 'made.list');
const changes = fc.oneof(
  fc.tuple(fc.constantFrom('$inc', '$max'), numbers, fc.integer({ min: -9, max: 9 })),
  fc.tuple(fc.constantFrom('$max'), fc.constantFrom('word', 'fresh'), fc.constantFrom('a', 'b', 'd')),
  fc.tuple(
    fc.constantFrom('$set'),
    fc.constantFrom('n', 'any', 'deep', 'deep.n', 'fresh', 'made.way'),
    entry,
  ),
  fc.tuple(
    fc.constantFrom('$unset'),
    fc.constantFrom('n', 'any', 'deep', 'deep.n', 'none.of.it'),
    fc.constant(''),
  ),
  fc.tuple(fc.constantFrom('$push'), lists, entry),
  fc.tuple(
    fc.constantFrom('$push'),
    lists,
    fc.tuple(list, fc.integer({ min: -3, max: 3 })).map(([$each, $slice]) => ({ $each, $slice })),
  ),
  fc.tuple(
    fc.constantFrom('$pull'),
    lists,
    fc.oneof(value, fc.constantFrom({ name: 'x' }, { name: 'y', rank: 2 })),
  ),
);

t.test('every operator does what the library of filters makes of it', async (t) => {
  let compared = 0;
  fc.assert(
    fc.property(documents, changes, (fields, [operator, path, argument]) => {
      const [ours, theirs] = [
        structuredClone({ _id: 'd', ...fields }),
        structuredClone({ _id: 'd', ...fields }),
      ];
      const update = { [operator]: { [path]: argument } } as DocumentUpdate;
      reference(theirs, structuredClone(update) as Parameters<typeof reference>[1]);
      applyDocumentUpdate(ours, structuredClone(update));
      // What is new in a list that is not there yet is cut like any other; the library forgets that.
      const isCutNew = operator === '$push' && Object.hasOwn(Object(argument), '$slice');
      if (isCutNew && listAt(fields, path) === undefined) return;
      compared += 1;
      t.strictSame(stored(ours), stored(theirs), JSON.stringify([fields, update]));
    }),
    { numRuns: 2_000 },
  );
  t.ok(compared > 1_000);
});

/** A document as it is kept. */
function stored(document: object): unknown {
  return JSON.parse(JSON.stringify(document));
}

function listAt(fields: Record<string, unknown>, path: string): unknown[] | undefined {
  const found = path
    .split('.')
    .reduce<unknown>((part, name) => (part as Record<string, unknown>)?.[name], fields);
  return Array.isArray(found) ? found : undefined;
}

t.test('a list that is new is cut like any other', async (t) => {
  const document: DocumentWithId & { list?: number[] } = { _id: 'd' };
  applyDocumentUpdate(document, { $push: { list: { $each: [1, 2, 3], $slice: -2 } } });
  t.same(document, { _id: 'd', list: [2, 3] });
});

t.test('what MongoDB refuses is refused, and says which field it is', async (t) => {
  const refused: Array<[DocumentUpdate, RegExp]> = [
    [{ $set: { _id: 'other' } }, /_id/],
    [{ $set: { a: 1 }, $inc: { a: 1 } }, /a would be changed twice/],
    [{ $set: { 'deep.n': 1 }, $unset: { deep: '' } }, /would be changed twice/],
    [{ $inc: { word: 1 } }, /word is not a number/],
    [{ $inc: { empty: 1 } }, /empty is not a number/],
    [{ $push: { word: 1 } }, /word is not a list/],
    [{ $set: { 'word.in': 1 } }, /word\.in leads through/],
    [{ $set: { 'list.name': 1 } }, /list\.name leads through/],
    [{ $set: { '__proto__.seen': 1 } }, /not a path/],
    [{ $set: { 'list.$': 1 } }, /not a path/],
    [{ $rename: { word: 'other' } } as DocumentUpdate, /no update operator \$rename/],
  ];
  for (const [update, message] of refused) {
    const document = { _id: 'd', word: 'w', empty: null, list: [{ name: 1 }], deep: { n: 1 } };
    t.throws(
      () => applyDocumentUpdate(document, update),
      { name: 'TypeError', message },
      JSON.stringify(update),
    );
  }
  const document = { _id: 'd' } as DocumentWithId & Record<string, unknown>;
  applyDocumentUpdate(document, { $inc: { toString: 1 }, $set: { none: undefined } });
  t.same({ ...document }, { _id: 'd', toString: 1 });
});

t.test('an upsert begins with what its filter fixes', async (t) => {
  const update = { $setOnInsert: { born: 1 }, $inc: { 'deep.n': 2 }, $push: { list: 'x' } };
  const made = upsertedDocument({ _id: 'd', owner: 'o', $and: [{ kind: 'k' }], n: { $gt: 1 } }, update);
  t.same(made, { _id: 'd', owner: 'o', kind: 'k', born: 1, deep: { n: 2 }, list: ['x'] });
});
