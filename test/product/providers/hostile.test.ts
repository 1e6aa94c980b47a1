// needs: pixels
import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import type { ModelOutcome } from '../../../src/product/providers/open.ts';
import { openTestProviders, type TestCall } from './harness.ts';
import { type Behaviour, standIn } from './stand-in.ts';

const provider = await standIn(t);
const { run, models, logged } = openTestProviders(t, {
  OPENAI_API_KEY: 'sk-test',
  OPENAI_BASE_URL: provider.url,
  GEMINI_API_KEY: 'gemini-test',
  GEMINI_BASE_URL: provider.url,
  REPLICATE_API_TOKEN: 'r8-test',
  REPLICATE_BASE_URL: provider.url,
});

const png = async () =>
  new Uint8Array(
    await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
      .png()
      .toBuffer(),
  );

/** A call of a provider's first model for the op. */
async function asked(name: string, op: 'analyze' | 'generate'): Promise<ModelOutcome> {
  const model = models.models.find(
    ({ provider, categories }) => provider === name && categories.includes(op),
  );
  const call: TestCall = { op, model: model?.id ?? 'none', prompt: 'x' };
  return run(op === 'analyze' ? { ...call, schema: { type: 'object' }, input: await png() } : call);
}

const text = (bytes: string): Behaviour => ({ bytes: Buffer.from(bytes), type: 'application/json' });
const chat = (content: string): Behaviour => ({ json: { choices: [{ message: { content } }] } });
const gemini = (said: string): Behaviour => ({
  json: { candidates: [{ content: { parts: [{ text: said }] } }] },
});
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const deep = `{"a":${nested(200_000)}}`;

t.test(
  'JSON of a provider is measured before it is parsed: deep, long or of very many values, it is unavailable',
  async (t) => {
    const table: [string, 'analyze' | 'generate', Behaviour, RegExp][] = [
      ['openai', 'analyze', chat(deep), /model has more than 100 lists and objects within each other/],
      ['gemini', 'analyze', gemini(deep), /model has more than 100 lists and objects within each other/],
      ['openai', 'analyze', chat(`\`\`\`json\n${deep}\n\`\`\``), /more than 100 lists/],
      ['openai', 'analyze', text('['.repeat(500_000)), /provider has more than 100 lists/],
      ['gemini', 'generate', text('['.repeat(3_000_000)), /provider has more than 100 lists/],
      ['openai', 'generate', text(`{"data":${nested(101)}}`), /provider has more than 100 lists/],
      [
        'openai',
        'generate',
        text(`[${'[],'.repeat(400_000)}[]]`),
        /1048576 bytes of JSON outside of its texts/,
      ],
      ['openai', 'generate', text(`"${'\\"'.repeat(1_100_000)}"`), /outside of its texts/],
      ['replicate', 'generate', text(`[${'0,'.repeat(600_000)}0]`), /outside of its texts/],
      ['openai', 'analyze', chat('x'.repeat(1_100_000)), /more than 1048576 bytes/],
      ['gemini', 'analyze', gemini('x'.repeat(1_100_000)), /more than 1048576 bytes/],
      ['openai', 'analyze', chat(`\`\`\`${' '.repeat(900_000)}x`), /is not JSON/],
    ];
    for (const [name, op, behaviour, message] of table) {
      provider.behave(behaviour);
      t.match(
        await asked(name, op),
        { kind: 'failure', code: 'provider_unavailable', message },
        String(message),
      );
    }
    t.equal(logged(), '', 'none of it is an error of this service');
  },
);

t.test('brackets and quotes within texts are texts', async (t) => {
  const says = { say: `${'['.repeat(500)}\\"{`, a: [[[{}]]] };
  provider.behave(chat(JSON.stringify(says)));
  t.match(await asked('openai', 'analyze'), { kind: 'json', output: says });
});

t.test('a provider that sends interim answers without end is given up after sixteen', async (t) => {
  let sent = 0;
  const flood = (times: number) => (_: unknown, response: ServerResponse) => {
    const next = () => {
      if (response.destroyed || response.socket?.destroyed) return;
      if (sent === times) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ choices: [{ message: { content: '{"a":1}' } }] }));
        return;
      }
      sent += 1;
      response.writeEarlyHints({ link: '</a>; rel=preload' }, () => setImmediate(next));
    };
    next();
  };
  provider.behave(flood(16));
  t.match(await asked('openai', 'analyze'), { kind: 'json', output: { a: 1 } });
  sent = 0;
  provider.behave(flood(100_000));
  t.match(await asked('openai', 'analyze'), {
    kind: 'failure',
    code: 'provider_unavailable',
    message: /interim answers without end/,
  });
  t.ok(sent < 100_000, 'the provider is not heard to its end');
});
