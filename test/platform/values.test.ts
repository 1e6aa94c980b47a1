// needs: nothing
import { Type } from '@sinclair/typebox';
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
  'a list of words is corrected where it can be one of them, and not looked at where it is longer',
  async (t) => {
    const fits = Type.Union([Type.Literal('cover'), Type.Literal('contain')]);
    t.same(mismatchedValueDiagnosis({ path: 'fit' }, ['Cover', 'contian'], fits, contract).corrections, [
      { param: 'fit', replace: ['cover', 'contain'] },
    ]);
    t.same(
      mismatchedValueDiagnosis({ path: 'fit' }, ['cover', 'cover', 'cover'], fits, contract).corrections,
      [],
    );
  },
);
