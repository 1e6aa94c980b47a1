// needs: nothing
import t from 'tap';
import { isSameJson } from '../../src/presets/json.ts';

/** Lists within lists. */
function nested(levels: number, innermost: unknown): unknown {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = [{ a: value }];
  return value;
}

t.test('what says the same is the same, whatever the order of its keys', async (t) => {
  for (const [one, other] of [
    [1, 1],
    [null, null],
    [0, -0],
    [[], []],
    [
      { a: 1, b: [2, { c: null }] },
      { b: [2, { c: null }], a: 1 },
    ],
  ]) {
    t.ok(isSameJson(one, other), JSON.stringify(one));
  }
});

t.test('what says something else is not', async (t) => {
  for (const [one, other] of [
    [1, '1'],
    [null, {}],
    [[], {}],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 2]],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: { b: 1 } }, { a: { b: 2 } }],
    [{ toString: 1 }, { valueOf: 1 }],
  ]) {
    t.notOk(isSameJson(one, other), JSON.stringify(one));
    t.notOk(isSameJson(other, one), JSON.stringify(one));
  }
});

t.test('depth costs no stack', async (t) => {
  t.ok(isSameJson(nested(100_000, 1), nested(100_000, 1)));
  t.notOk(isSameJson(nested(100_000, 1), nested(100_000, 2)));
});
