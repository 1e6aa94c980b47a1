// needs: nothing
import t from 'tap';
import { answerProblem, schemaProblem } from '../../src/models/answer-schema.ts';

/** Schemas within schemas, so many levels deep. */
function nested(levels: number): object {
  return levels === 1 ? { type: 'object' } : { type: 'object', properties: { inner: nested(levels - 1) } };
}

/** Definitions that each refer twice to the next one: the steps of a check double with each. */
function doubling(times: number): object {
  const definitions = Array.from({ length: times }, (_, index) => [
    `level${index}`,
    { anyOf: [{ $ref: `#/$defs/level${index + 1}` }, { $ref: `#/$defs/level${index + 1}` }] },
  ]);
  return {
    $defs: { ...Object.fromEntries(definitions), [`level${times}`]: { type: 'string' } },
    $ref: '#/$defs/level0',
  };
}

t.test('schemas that are used are those that compile, in bounded size and depth', (t) => {
  const refused: [unknown, RegExp][] = [
    ['text', /not a JSON object/],
    [[], /JSON object/],
    [{ type: 'nonsense' }, /does not compile/],
    [{ $ref: '#/$defs/none' }, /does not compile/],
    [{ $ref: 'https://example.test/schema' }, /another document/],
    [{ properties: { a: { $dynamicRef: 'other.json#a' } } }, /another document/],
    [{ $async: true }, /\$async/],
    [{ type: 'string', pattern: '(?=a)b' }, /does not compile/],
    [{ type: 'string', pattern: '(a)\\1' }, /does not compile/],
    [{ description: 'x'.repeat(64 * 1024) }, /65536 bytes/],
    [nested(11), /10 levels/],
    [doubling(60), /double/],
  ];
  for (const [schema, problem] of refused)
    t.match(schemaProblem(schema), problem, JSON.stringify(schema).slice(0, 60));
  const taken = [
    {},
    nested(10),
    { $ref: '#/$defs/a', $defs: { a: {} } },
    { $id: 'urn:x' },
    { $id: 'urn:x' },
    { format: 'date' },
    { custom: 1 },
  ];
  for (const schema of taken) t.equal(schemaProblem(schema), undefined, JSON.stringify(schema).slice(0, 60));
  t.end();
});

t.test('an answer is held against its schema', (t) => {
  const schema = {
    type: 'object',
    properties: { code: { type: 'string', pattern: '^\\u00e9\\d+$' } },
    required: ['code'],
  };
  t.equal(answerProblem(schema, { code: 'é12' }), undefined);
  t.match(answerProblem(schema, { code: 'e12' }), /\/code must match pattern/);
  t.match(answerProblem(schema, {}), /required property 'code'/);
  t.end();
});

t.test('an expression runs in linear time, and a check that would not end is stopped', (t) => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  t.match(answerProblem(schema, `${'a'.repeat(50_000)}b`), /must match/);
  const recursive = { type: 'object', properties: { a: { $ref: '#' } } };
  const schemas = [recursive, { ...recursive, allOf: [recursive, recursive] }];
  let deep = {};
  for (let level = 0; level < 40; level++) deep = { a: deep };
  t.equal(answerProblem(schemas[0], deep), undefined);
  t.equal(schemaProblem(schemas[1]), undefined);
  t.match(answerProblem(schemas[1], deep), /too long to check/);
  t.match(schemaProblem(schemas[1]), /too long to check/, 'and is remembered');
  t.end();
});
