// needs: nothing
import { type TSchema, Type } from '@sinclair/typebox';
import t from 'tap';
import { mismatchedValueDiagnosis } from '../../src/platform/http/errors/violations.ts';
import { truncatedJson } from '../../src/platform/values/json.ts';

const contract = { owner: 'this call', noun: 'field' } as const;

t.test('the start of a value as JSON is that of the whole', async (t) => {
  const values = [null, true, 1.5, 'a "b"\n', [], {}, [1, [2, { a: [3] }]], { 'a b': { c: null }, d: ['e'] }];
  for (const value of values) {
    const whole = JSON.stringify(value);
    t.equal(truncatedJson(value, 100), whole);
    for (let characters = 1; characters <= whole.length; characters++)
      t.equal(truncatedJson(value, characters).slice(0, characters), whole.slice(0, characters), whole);
  }
});

t.test('a refusal of a long value reads no more of it than it shows', async (t) => {
  let read = 0;
  const entry = {
    get a() {
      read += 1;
      return read;
    },
  };
  const long = Array.from({ length: 10_000 }, () => entry);
  const { message, corrections } = mismatchedValueDiagnosis(
    { path: 'items' },
    long,
    Type.Array(Type.Object({}), { maxItems: 100 }),
    contract,
  );
  t.match(message, /^items is \[\{"a":1\},\{"a":2\}.*…, but/);
  t.same(corrections, []);
  t.ok(read < 20, `${read} entries were read`);
});

t.test(
  'a list of words is corrected where the field takes a list, and becomes its one word where it does not',
  async (t) => {
    const words = [Type.Literal('cover'), Type.Literal('contain')];
    const fit = Type.Union(words);
    const fits = Type.Union([...words, Type.Array(fit)]);
    const correctionsOf = (sent: string[], schema: TSchema) =>
      mismatchedValueDiagnosis({ path: 'fit' }, sent, schema, contract).corrections;
    t.same(correctionsOf(['Cover', 'contian'], fits), [{ param: 'fit', replace: ['cover', 'contain'] }]);
    t.same(correctionsOf(['cover', 'contain', 'Cover'], fits), [], 'a longer list than there are words');
    t.same(correctionsOf(['cover', 'cover'], fit), [{ param: 'fit', replace: 'cover' }]);
    t.same(correctionsOf(['cover', 'contain'], fit), [], 'two words where one is taken');
  },
);
