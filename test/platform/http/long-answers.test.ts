// needs: nothing
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { JsonText, jsonPieces, sendLongAnswer } from '../../../src/platform/http/long-answers.ts';

/** The body of a response that is made of an answer. */
async function bodyOf(t: Test, answer: object): Promise<string> {
  const app = fastify();
  t.teardown(() => app.close());
  app.get('/', (_request, reply) => sendLongAnswer(reply, 'acc_a', answer));
  const { body, headers } = await app.inject('/');
  t.equal(headers['content-type'], 'application/json; charset=utf-8');
  t.equal(headers['content-length'], String(Buffer.byteLength(body)));
  return body;
}

t.test('a long list in a response is written in several turns of the event loop', async (t) => {
  const rows = Array.from({ length: 16 }, (_, n) => ({ n, text: 'ü'.repeat(512 * 1024) }));
  let written = 0;
  let writtenInTurn = 0;
  const data = rows.values().map((row) => {
    written += 1;
    writtenInTurn += 1;
    t.equal(writtenInTurn, 1, `row ${row.n} is written in a turn of its own`);
    setImmediate(() => {
      writtenInTurn = 0;
    });
    return row;
  });
  const body = await bodyOf(t, { data, meta: { total: 16 } });
  t.equal(written, rows.length);
  t.same(JSON.parse(body), { data: rows, meta: { total: 16 } });
});

t.test('an answer in pieces is the JSON of the whole', async (t) => {
  const values = [
    { success: true, data: [], meta: {}, left: undefined },
    { data: { parameters: { items: [{ a: [1, { b: null }] }, undefined, 'x"\n\u2028'] }, at: new Date(0) } },
    { 'na"me': [[[[[[1]]]]]], nothing: null, number: 1e-7, __proto__: { inherited: 1 } },
    JSON.parse('{"__proto__": {"own": 1}, "toJSON": 2, "length": [{}]}'),
  ];
  for (const value of values) t.equal(await bodyOf(t, value), JSON.stringify(value));
});

t.test('text that is JSON already is written as it is, and is not parsed', (t) => {
  const text = '{ "a" : 1e2 }';
  t.equal([...jsonPieces({ data: [new JsonText(text)] })].join(''), `{"data":[${text}]}`);
  t.equal(
    JSON.stringify({ deep: { in: { a: { list: [new JsonText(text)] } } } }),
    '{"deep":{"in":{"a":{"list":[{"a":100}]}}}}',
  );
  t.end();
});
