// needs: server
import t from 'tap';
import { parseJson } from '../../../src/platform/http/bodies/json.ts';
import { LargeBodyQueue } from '../../../src/platform/http/bodies/large-bodies.ts';
import { sentFieldAt } from '../../../src/platform/http/errors/errors.ts';
import { sharedServer } from '../../support/harness.ts';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const named = (count: number, prefix = 'name') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, index]));
const rows = (count: number, row: object) => Array.from({ length: count }, () => row);

t.test('a large body is counted before it is parsed', (t) => {
  const refused: [string, Buffer, RegExp][] = [
    ['names of one object', json(named(30_000)), /20000 different names/],
    ['names of many objects', json(rows(400, {}).map((_, at) => named(100, `n${at}_`))), /different names/],
    ['values', json(rows(350_000, { a: 1 })), /1000000 names and values/],
    [
      'escaped names',
      Buffer.from(`{${rows(30_000, {}).map((_, at) => `"\\n${at}\\"":1`)}}`),
      /different names/,
    ],
    ['broken JSON after them', Buffer.concat([json(named(30_000)), Buffer.from('x')]), /different names/],
  ];
  for (const [name, body, message] of refused)
    t.throws(() => parseJson(body), { code: 'payload_too_large', param: 'body', message }, name);
  const taken: [string, unknown][] = [
    ['200,000 rows of two fields', rows(199_999, { a: 1, b: 2 })],
    ['10,000 rows of 40 fields', rows(10_000, named(40, 'f'))],
    ['a text of 7 MB', { note: 'x,:{['.repeat(1_400_000) }],
    ['15,000 names', named(15_000)],
  ];
  for (const [name, value] of taken)
    t.same(JSON.stringify(parseJson(json(value))), JSON.stringify(value), name);
  t.end();
});

t.test('JSON that is a part of a body is refused by the name of the part', (t) => {
  const refused: [string, RegExp][] = [
    ['', /^steps is empty/],
    ['[{', /^steps is not valid JSON/],
    ["[{'op': 'flip'}]", /^steps is not valid JSON.* double quotes/],
    ['{"__proto__": 1}', /^steps has a key/],
    ['["\\ud800"]', /^steps holds half/],
    ['['.repeat(300), /^steps has more than 200 lists/],
  ];
  for (const [text, message] of refused) {
    const refusal = { code: 'invalid_param', param: 'steps', message };
    t.throws(() => parseJson(Buffer.from(text), sentFieldAt('steps')), refusal, text.slice(0, 9));
  }
  const names = { code: 'payload_too_large', param: 'steps', message: /^steps has more than 20000/ };
  t.throws(() => parseJson(json(named(30_000)), sentFieldAt('steps')), names);
  t.end();
});

t.test(
  'a large body that is parsed in pieces is the value, or the refusal, of one that is parsed whole',
  async (t) => {
    const bodies = new LargeBodyQueue();
    const rest = 'x'.repeat(70_000);
    const list = rows(30_000, { a: 1, b: [null, 'x,]}', {}] });
    const taken: [string, string][] = [
      ['a text', JSON.stringify('é'.repeat(200_000))],
      ['lists in lists', JSON.stringify([1, [rest, [list, 2], [list]], list, 'end'])],
      [
        'objects in objects',
        JSON.stringify({ a: { b: { list, after: 1 }, c: rest }, d: list, e: rest, '': list }),
      ],
      ['spaces and a byte order mark', `\ufeff ${JSON.stringify({ list, a: [list, list] }, null, 1)}\n`],
      ['a name twice', `{"a":${JSON.stringify(list)},"a":2,"b":"${rest}","a":${JSON.stringify([list])}}`],
      ['escapes', JSON.stringify({ '"\\[': rows(20_000, { '\\"': '\\' }), '[{,': list })],
      ['many lists of a middling size', JSON.stringify(rows(20, rows(4_000, [1, {}])))],
    ];
    for (const [name, text] of taken) {
      const value = await bodies.parse('acc_a', Buffer.from(text));
      t.equal(JSON.stringify(value), JSON.stringify(JSON.parse(text.replace('\ufeff', ''))), name);
    }
    const whole = JSON.stringify([list, list]);
    const refused: [string, string, RegExp][] = [
      ['no end', whole.slice(0, -1), /end of JSON input/],
      ['another bracket', `${whole.slice(0, -1)}}`, /Unexpected token '}'/],
      ['a value behind it', `${whole} 1`, /Unexpected token '1'/],
      ['a value before it', `1 ${whole}`, /Unexpected token '1'/],
      ['a comma too many', `[${JSON.stringify(list)},]`, /Unexpected token ']'/],
      ['no comma', `[${JSON.stringify(list)} ${JSON.stringify(list)}]`, /Unexpected token '\['/],
      ['no name', `{"a":${JSON.stringify(list)},${JSON.stringify(list)}}`, /JSON/],
      ['no value', `{"a":${JSON.stringify(list)},"b"}`, /at byte/],
      ['a trap', `{"a":${JSON.stringify(list)},"__proto__":${JSON.stringify(list)}}`, /__proto__/],
      ['half of a pair', `{"a":${JSON.stringify(list)},"b":["\\ud800"]}`, /surrogate/],
      ['spaces alone', ' '.repeat(300_000), /empty/],
    ];
    for (const [name, text, message] of refused)
      await t.rejects(
        bodies.parse('acc_a', Buffer.from(text)),
        { code: 'invalid_param', param: 'body', message },
        name,
      );
  },
);

t.test(
  'large bodies are parsed one at a time, by turns of their owners, with room between them',
  async (t) => {
    const bodies = new LargeBodyQueue();
    const large = json(rows(100_000, { a: 1 }));
    const done: string[] = [];
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const flood = Array.from({ length: 6 }, async () => {
      const before = turns;
      await bodies.parse('acc_a', large);
      done.push('flood');
      return turns - before;
    });
    const other = bodies.parse('acc_b', json({ a: 1 })).then(() => done.push('other'));
    const [first = 0, ...later] = await Promise.all(flood);
    await other;
    isOver = true;
    t.ok(done.indexOf('other') <= 2, `${done}`);
    t.ok(first > 1, `counting and parsing take more than two turns of the event loop: ${first + 1}`);
    t.ok(Math.min(...later) > 10, `others have turns between two bodies: ${later}`);
    await t.rejects(bodies.parse('acc_a', json(named(30_000))), { code: 'payload_too_large' });
    t.same(await bodies.parse('acc_a', json([1])), [1], 'a refused body ends its turn');
  },
);

t.test(
  'a body of too many values is 413 on every route that takes JSON, whatever its schema says',
  async (t) => {
    const server = await sharedServer();
    const { key } = await server.account({ plan: 'scale' });
    const body = JSON.stringify(named(30_000));
    const { json: document } = await server.call('//openapi.json');
    let routes = 0;
    for (const [path, methods] of Object.entries<Record<string, { requestBody?: { content: object } }>>(
      document.paths,
    )) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (requestBody === undefined || !('application/json' in requestBody.content)) continue;
        if (path.includes('/sign-in') || path.includes('/sessions')) continue;
        const at = `/${path.replace(/\{\w+\}/g, 'example')}`;
        const answer = await server.call(at, {
          key,
          method: method.toUpperCase(),
          body,
          type: 'application/json',
        });
        if ([401, 403, 404].includes(answer.status)) continue;
        routes += 1;
        t.equal(answer.status, 413, `${method} ${path}: ${answer.json?.error?.message}`);
      }
    }
    t.ok(routes >= 15, `${routes} routes`);
  },
);
