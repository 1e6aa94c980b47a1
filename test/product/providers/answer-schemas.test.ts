// needs: nothing
import t from 'tap';
import { findSchemaProblem } from '../../../src/product/models/schema-bounds.ts';
import { AnswerSchemaChecker } from '../../../src/product/providers/answers.ts';

const schemas = new AnswerSchemaChecker();
t.teardown(() => schemas.close());
const ACCOUNT = 'acc_a';

/** The problem of a schema, by its bounds and then by the thread. */
async function problemOf(schema: unknown): Promise<string | undefined> {
  const problem = findSchemaProblem(schema);
  if (problem !== undefined) return problem;
  return schemas.check(ACCOUNT, [{ schema: schema as object, param: 'parameters.schema' }]).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

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

const properties = (count: number, of: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [of(index), {}]));

t.test('schemas that are used are those that compile, in bounded size and depth', async (t) => {
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
    [{ properties: properties(1_001, (index) => `p${index}`) }, /at most 1000 are allowed/],
    [{ anyOf: Array.from({ length: 1_001 }, () => ({ type: 'string' })) }, /at most 1000 are allowed/],
    [{ patternProperties: properties(100, (index) => `x{900}${index}`) }, /each repeat counts/],
    [{ type: 'string', pattern: '((a{100}){100}){100}' }, /each repeat counts/],
  ];
  for (const [schema, problem] of refused)
    t.match(await problemOf(schema), problem, JSON.stringify(schema).slice(0, 60));
  const taken = [
    {},
    nested(10),
    { $ref: '#/$defs/a', $defs: { a: {} } },
    { $id: 'urn:x' },
    { $id: 'urn:x', type: 'object' },
    { format: 'date' },
    { custom: 1 },
    { type: 'string', pattern: '^[A-Z]{3}-\\d{1,8}$' },
  ];
  for (const schema of taken)
    t.equal(await problemOf(schema), undefined, JSON.stringify(schema).slice(0, 60));
});

t.test('an answer is held against its schema', async (t) => {
  const schema = {
    type: 'object',
    properties: { code: { type: 'string', pattern: '^\\u00e9\\d+$' } },
    required: ['code'],
  };
  t.equal(await schemas.findProblem(ACCOUNT, schema, { code: 'é12' }), undefined);
  t.match(await schemas.findProblem(ACCOUNT, schema, { code: 'e12' }), /\/code must match pattern/);
  t.match(await schemas.findProblem(ACCOUNT, schema, {}), /required property 'code'/);
});

t.test('an expression runs in linear time, and a check that would not end is stopped', async (t) => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  t.match(await schemas.findProblem(ACCOUNT, schema, `${'a'.repeat(50_000)}b`), /must match/);
  const recursive = { type: 'object', properties: { a: { $ref: '#' } } };
  const endless = { ...recursive, allOf: [recursive, recursive] };
  let deep = {};
  for (let level = 0; level < 40; level++) deep = { a: deep };
  t.equal(await schemas.findProblem(ACCOUNT, recursive, deep), undefined);
  t.equal(await problemOf(endless), undefined);
  const others = schemas.findProblem('acc_b', recursive, deep);
  t.match(await schemas.findProblem(ACCOUNT, endless, deep), /too long to check/);
  t.equal(await others, undefined, 'what waited beside it is done');
  t.match(await problemOf(endless), /too long to check/, 'and is remembered');
});

t.test('the largest schemas keep the event loop free, and accounts take turns', async (t) => {
  const large = (index: number) => ({
    title: String(index),
    oneOf: Array.from({ length: 240 }, (_, branch) => ({
      properties: { a: { const: branch }, b: { type: 'string' } },
      required: ['a', 'b'],
    })),
  });
  await schemas.check(ACCOUNT, [{ schema: { title: 'started' }, param: 'schema' }]);
  const done: string[] = [];
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const flood = Array.from({ length: 8 }, (_, index) =>
    schemas.check(ACCOUNT, [{ schema: large(index), param: 'schema' }]).then(() => done.push('flood')),
  );
  const other = schemas
    .check('acc_b', [{ schema: { title: 'small' }, param: 'schema' }])
    .then(() => done.push('other'));
  await Promise.all([...flood, other]);
  isOver = true;
  t.ok(done.indexOf('other') <= 2, `the other account came after ${done.indexOf('other')} of the flood`);
  t.ok(turns > 100, `${turns} turns of the event loop meanwhile`);
});

t.test('an account has a bounded number of schemas waiting', async (t) => {
  const many = Array.from({ length: 101 }, (_, index) => ({
    schema: { title: `many ${index}` },
    param: 'x',
  }));
  await t.rejects(schemas.check(ACCOUNT, many), { code: 'rate_limited', retryAfterSeconds: 5 });
});
