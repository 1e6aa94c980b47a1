// needs: nothing
import t from 'tap';
import { findSmallestAnswerProblem } from '../../../src/product/models/schema-bounds.ts';

/** Lists within lists, each of at least so many entries. */
function lists(levels: number, minItems: number): object {
  return levels === 0 ? { type: 'integer' } : { type: 'array', minItems, items: lists(levels - 1, minItems) };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`);
const all = (count: number, schema: object) => Object.fromEntries(names(count).map((name) => [name, schema]));
const self = { $ref: '#/$defs/a' };
const requiring = (a: object, more: object = {}) => ({
  ...{ type: 'object', properties: { x: self }, required: ['x'], $defs: { a, ...more } },
});

t.test('a schema whose smallest answer is too large is known before any model is asked', (t) => {
  const refused: object[] = [
    { type: 'object', properties: { x: lists(6, 100) }, required: ['x'] },
    { properties: { x: lists(2, 100) }, required: ['x'] },
    requiring({ type: 'object', properties: all(20, self), required: names(20) }),
    requiring({ type: 'object', properties: { b: { $ref: '#/$defs/b' } }, required: ['b'] }, { b: self }),
    requiring({ type: 'array', minItems: 1e300, items: { type: 'string' } }),
    requiring({ allOf: [lists(3, 50)] }),
    requiring({ anyOf: [lists(3, 50), self] }),
  ];
  for (const schema of refused)
    t.match(
      findSmallestAnswerProblem(schema as Record<string, unknown>),
      /more than 10000 values/,
      JSON.stringify(schema).slice(0, 80),
    );
  t.end();
});

t.test('one that can be answered is none of these, whatever it refers to', (t) => {
  const taken: object[] = [
    {},
    { type: 'object', properties: { x: lists(1, 9_000) }, required: ['x'] },
    { type: 'object', properties: { x: lists(6, 100) } },
    requiring({
      type: 'object',
      properties: { next: { anyOf: [self, { type: 'null' }] } },
      required: ['next'],
    }),
    requiring({ type: 'object', properties: { below: { type: 'array', items: self } }, required: ['below'] }),
    requiring(
      { anyOf: [{ $ref: '#/$defs/b' }, { type: 'null' }] },
      { b: { type: 'array', minItems: 1, items: self } },
    ),
    requiring({ $ref: '#name' }, { b: { $anchor: 'name', type: 'string' } }),
    { properties: { a: { $ref: '#' } }, required: ['a'] },
    { enum: [{ $ref: '#/%', type: 'object', required: [{ toString: 1 }, null], properties: null }] },
    requiring({ $id: 'https://example.test/a', $defs: { a: { type: 'string' } }, $ref: '#/$defs/a' }),
  ];
  for (const schema of taken)
    t.equal(findSmallestAnswerProblem(schema as Record<string, unknown>), undefined, JSON.stringify(schema));
  t.end();
});
