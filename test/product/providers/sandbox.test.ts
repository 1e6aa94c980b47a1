// needs: pixels
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { AnswerSchemaChecker } from '../../../src/product/providers/answers.ts';
import type { ModelOutcome } from '../../../src/product/providers/open.ts';
import { parseSandboxDirectives } from '../../../src/product/providers/sandbox.ts';
import { sandboxAnswer } from '../../../src/product/providers/sandbox-answer.ts';
import { openTestProviders, type TestCall } from './harness.ts';

const { run, logged } = openTestProviders(t);

/** A subject on an even ground, as PNG or as what is asked for. */
async function picture(width: number, height: number, format: 'png' | 'jpeg' = 'png', orientation = 1) {
  const subject = await sharp({ create: { width: 20, height: 20, channels: 3, background: '#20a040' } })
    .png()
    .toBuffer();
  const whole = sharp({ create: { width, height, channels: 3, background: '#f0f0e0' } }).composite(
    [{ input: subject }].map((layer) => ({ ...layer, gravity: 'center' })),
  );
  return new Uint8Array(await whole[format]().withMetadata({ orientation }).toBuffer());
}

async function imageOf(t: Test, call: TestCall) {
  const outcome = await run(call);
  if (outcome.kind !== 'image') throw new Error(`${call.op}: ${JSON.stringify(outcome)} ${logged()}`);
  t.equal(outcome.contentType, 'image/png');
  return { ...outcome, ...(await sharp(outcome.bytes).metadata()) };
}

const sizeOf = ({ width, height }: { width?: number; height?: number }) => [width, height];
const hashOf = ({ bytes }: { bytes: Uint8Array }) => Buffer.from(bytes).toString('base64');

t.test('generate draws its prompt at the size asked for, the same bytes for the same request', async (t) => {
  const call = { op: 'generate', prompt: 'A boat' } as const;
  const one = await imageOf(t, call);
  t.strictSame(sizeOf(one), [512, 512]);
  t.equal(hashOf(await imageOf(t, call)), hashOf(one));
  const others = [
    { ...call, prompt: 'A ship' },
    { ...call, parameters: { seed: 1 } },
    { ...call, itemIndex: 1 },
  ];
  for (const other of others) t.not(hashOf(await imageOf(t, other)), hashOf(one), JSON.stringify(other));
  const { channels } = await sharp(one.bytes).stats();
  t.ok(
    channels.every(({ max }) => max === 255),
    'the words are white',
  );
  t.strictSame(sizeOf(await imageOf(t, { ...call, parameters: { size: '64x200' } })), [64, 200]);
});

t.test('edit, upscale, expand and remove_background really change the picture', async (t) => {
  const input = async () => picture(90, 60);
  const edited = await imageOf(t, { op: 'edit', prompt: 'Warm', input: await input() });
  t.strictSame(sizeOf(edited), [90, 60]);
  const centre = await sharp(edited.bytes)
    .extract({ left: 45, top: 30, width: 1, height: 1 })
    .raw()
    .toBuffer();
  t.not(Buffer.from(centre.subarray(0, 3)).toString('hex'), '20a040', 'in other colours');
  t.strictSame(sizeOf(await imageOf(t, { op: 'upscale', input: await input() })), [180, 120]);
  t.strictSame(
    sizeOf(await imageOf(t, { op: 'upscale', input: await input(), parameters: { scale: 4 } })),
    [360, 240],
  );
  const grown = await imageOf(t, {
    op: 'expand',
    input: await input(),
    parameters: { top: 5, right: 10, left: 1 },
  });
  t.strictSame(sizeOf(grown), [101, 65]);
  const cut = await imageOf(t, { op: 'remove_background', input: await input() });
  const { data, info } = await sharp(cut.bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const alphaAt = (x: number, y: number) => data[(y * info.width + x) * 4 + 3];
  t.strictSame([alphaAt(0, 0), alphaAt(45, 30), alphaAt(80, 50)], [0, 255, 0]);
});

t.test('a picture past the longest edge is turned upright and scaled down before it is shown', async (t) => {
  const large = await imageOf(t, { op: 'edit', prompt: 'x', input: await picture(2048, 100, 'jpeg', 6) });
  t.strictSame(sizeOf(large), [50, 1024]);
  const sideways = await imageOf(t, { op: 'edit', prompt: 'x', input: await picture(80, 40, 'jpeg', 6) });
  t.strictSame(sizeOf(sideways), [40, 80], 'turned, though it is small enough');
  const seen = await run({
    op: 'analyze',
    model: 'sandbox-vision',
    schema: { type: 'object', properties: { width: { type: 'integer' } } },
    input: await picture(1000, 500),
  });
  t.match(seen, { kind: 'json', output: { width: 768 } });
});

t.test('analyze answers with facts in the form of the schema', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      width: { type: 'integer' },
      height: { type: 'integer' },
      dominantColor: { type: 'string', pattern: '^#[0-9a-f]{6}$' },
      tags: { type: 'array', items: { type: 'string' }, minItems: 5 },
      mood: { enum: ['calm', 'wild'] },
      score: { type: 'number', exclusiveMinimum: 0, maximum: 10 },
      owner: { $ref: '#/$defs/person' },
      note: { type: ['null', 'string'], minLength: 3 },
    },
    required: ['width', 'height', 'owner'],
    $defs: { person: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
    additionalProperties: false,
  };
  const outcome = await run({ op: 'analyze', model: 'sandbox-vision', schema, input: await picture(90, 60) });
  t.match(outcome, {
    kind: 'json',
    output: { width: 90, height: 60, dominantColor: '#f0f0e0', owner: { name: /90 by 60/ }, mood: 'calm' },
  });
});

t.test('an answer is made for schemas of many forms', async (t) => {
  const facts = { description: 'A square picture.', width: 5, tags: ['square'] };
  const manySelves = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, { $ref: '#' }]));
  const loop = { type: 'object', properties: { next: { $ref: '#' }, width: { type: 'number' } } };
  const schemas: object[] = [
    {},
    { type: 'object', required: ['a', 'b'] },
    { type: 'object', properties: { a: { allOf: [{ $ref: '#' }] } } },
    { anyOf: [{ type: 'object', properties: { a: { const: 3 } }, required: ['a'] }, { type: 'null' }] },
    {
      allOf: [
        { properties: { a: { type: 'boolean' } }, required: ['a'] },
        { properties: { b: { type: 'integer', multipleOf: 7, minimum: 8 } } },
      ],
      type: 'object',
    },
    {
      type: 'object',
      properties: {
        list: { type: 'array', minItems: 2, maxItems: 3, items: { type: 'string', maxLength: 4 } },
      },
    },
    { type: 'object', properties: { tags: { type: 'array', maxItems: 0 } } },
    loop,
    { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' }, width: { type: 'number' } } },
    { type: 'object', properties: manySelves },
    {
      type: 'object',
      properties: { a: { $ref: '#name' } },
      $defs: { b: { $anchor: 'name', type: 'number' } },
    },
  ];
  const answerSchemas = new AnswerSchemaChecker();
  t.teardown(() => answerSchemas.close());
  for (const schema of schemas) {
    const answer = sandboxAnswer(schema as Record<string, unknown>, facts);
    t.equal(await answerSchemas.findProblem('acc_a', schema, answer), undefined, JSON.stringify(schema));
  }
});

t.test('a schema whose least answer is large is refused in bounded work', (t) => {
  const lists = (levels: number): object =>
    levels === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: lists(levels - 1) };
  const names = Array.from({ length: 20 }, (_, index) => `a${index}`);
  const itself = Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/a' }]));
  const table: [string, object][] = [
    ['lists within lists', { type: 'object', required: ['a'], properties: { a: lists(6) } }],
    ['objects of themselves', { $ref: '#/$defs/a', $defs: { a: { properties: itself, required: names } } }],
    ['long texts', { type: 'array', minItems: 100, items: { type: 'string', minLength: 10_000 } }],
    ['a long constant', { type: 'array', minItems: 100, items: { const: 'x'.repeat(60_000) } }],
    ['objects within objects', { type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }],
    [
      'branches of branches',
      {
        allOf: Array.from({ length: 2_000 }, () => ({ $ref: '#/$defs/a' })),
        $defs: { a: { properties: itself } },
      },
    ],
  ];
  for (const [name, schema] of table)
    t.throws(
      () => sandboxAnswer(schema as Record<string, unknown>, {}),
      { message: /larger than the sandbox makes.* a real model.*OPENAI_API_KEY/ },
      name,
    );
  t.end();
});

t.test('a schema is read once, however often it is referred to', (t) => {
  let reads = 0;
  const counted = new Proxy(
    { type: 'boolean' },
    {
      ownKeys: (target) => {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    },
  );
  const list = { type: 'array', minItems: 5_000, items: { $ref: '#/$defs/a' } };
  const answer = sandboxAnswer({ type: 'object', properties: { list }, $defs: { a: counted } }, {});
  t.strictSame(answer, { list: Array.from({ length: 5_000 }, () => false) });
  t.ok(reads < 10, `read ${reads} times`);
  t.end();
});

t.test('words in the prompt steer an item', async (t) => {
  const input = await picture(40, 30);
  const outcome = (prompt: string, more: TestCall = {}): Promise<ModelOutcome> =>
    run({ op: 'upscale', prompt, input: input.slice(), ...more });
  t.match(await outcome('[sandbox:reject]'), {
    kind: 'failure',
    code: 'provider_rejected',
    retryAfterMs: undefined,
  });
  t.match(await outcome('[sandbox:fail]'), {
    kind: 'failure',
    code: 'provider_unavailable',
    retryAfterMs: 100,
  });
  t.match(await outcome('[sandbox:fail]', { attempt: 3 }), {
    code: 'provider_unavailable',
    retryAfterMs: undefined,
  });
  t.match(await outcome('[sandbox:reject@1,3]'), { kind: 'image' });
  t.match(await outcome('[sandbox:reject@1,3]', { itemIndex: 3 }), { code: 'provider_rejected' });
  t.match(await outcome('[sandbox:fail=2]', { attempt: 2 }), { code: 'provider_unavailable' });
  t.match(await outcome('[sandbox:fail=2]', { attempt: 3 }), { kind: 'image' });
  t.match(await outcome('[sandbox:garbage]'), { code: 'provider_unavailable', message: /not an image/ });
  const garbled = await outcome('[sandbox:garbage]', {
    op: 'analyze',
    model: 'sandbox-vision',
    schema: { type: 'object' },
  });
  t.match(garbled, { code: 'provider_unavailable', message: /not a JSON object/ });
  t.equal(parseSandboxDirectives('[sandbox:wait=99999999] A [sandbox:fail@0] boat', 1, 1).waitMs, 60_000);
  t.match(parseSandboxDirectives('[sandbox:wait=5] A [sandbox:fail@0] boat', 1, 1), {
    text: 'A boat',
    fails: false,
    waitMs: 5,
  });
});

t.test('parameters out of the bounds of the model are rejected by it', async (t) => {
  const input = await picture(40, 30);
  const rows: [TestCall, RegExp][] = [
    [{ op: 'generate', prompt: 'x', parameters: { size: '63x64' } }, /size must be/],
    [{ op: 'generate', prompt: 'x', parameters: { size: '64x2049' } }, /size must be/],
    [{ op: 'generate', prompt: 'x', parameters: { size: 512 } }, /size must be/],
    [{ op: 'generate', prompt: 'x', parameters: { seed: -1 } }, /seed/],
    [{ op: 'upscale', parameters: { scale: 3 } }, /scale must be one of 2, 4/],
    [{ op: 'expand' }, /must be above 0/],
    [{ op: 'expand', parameters: { top: 2001 } }, /top/],
    [{ op: 'expand', parameters: { left: '5' } }, /left/],
  ];
  for (const [call, message] of rows)
    t.match(
      await run({ input: input.slice(), ...call }),
      { code: 'provider_rejected', message },
      JSON.stringify(call),
    );
});

t.test('an input that is no picture is refused in the words of the pixels', async (t) => {
  t.match(await run({ input: new TextEncoder().encode('nothing') }), {
    kind: 'failure',
    code: 'unsupported_format',
    retryAfterMs: undefined,
  });
});

t.test(
  'a wait ends with the signal, and a model that is not offered is no fault of the caller',
  async (t) => {
    const control = new AbortController();
    const waiting = run({ prompt: '[sandbox:wait=60000]', input: await picture(30, 30) }, control.signal);
    control.abort(new Error('the process stops'));
    await t.rejects(waiting, { message: 'the process stops' });
    t.match(await run({ model: 'gone' }), { kind: 'failure', code: 'service_misconfigured' });
  },
);
