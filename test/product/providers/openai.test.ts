// needs: pixels
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { ImageEditParamsNonStreaming, ImageGenerateParamsNonStreaming } from 'openai/resources/images';
import sharp from 'sharp';
import t from 'tap';
import { openTestProviders } from './harness.ts';
import { MISBEHAVIOURS, standIn } from './stand-in.ts';

const KEY = 'sk-test-0123456789abcdef';
const openai = await standIn(t);
const { run, models, logged } = openTestProviders(t, {
  OPENAI_API_KEY: KEY,
  OPENAI_BASE_URL: openai.url,
  SANDBOX_MODELS: 'off',
});

const png = new Uint8Array(
  await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
);
const answered = { json: { created: 1, data: [{ b64_json: Buffer.from(png).toString('base64') }] } };
const last = () => openai.received.at(-1);

t.test('its models alone are offered, and are the defaults', (t) => {
  t.ok(models.models.every(({ provider }) => provider === 'openai' || provider === 'local'));
  t.end();
});

t.test('a generation is sent as the reference says, priced parameters included', async (t) => {
  openai.behave(answered);
  const outcome = await run({
    op: 'generate',
    model: 'gpt-image-1',
    prompt: 'A boat',
    parameters: { background: 'transparent', quality: 'low', n: 10, stream: true },
  });
  t.match(outcome, { kind: 'image', contentType: 'image/png' });
  t.equal(last()?.path, '/v1/images/generations', 'the path of the clients, behind a host alone');
  t.equal(last()?.headers.authorization, `Bearer ${KEY}`);
  const expected: ImageGenerateParamsNonStreaming = {
    model: 'gpt-image-1',
    prompt: 'A boat',
    n: 1,
    background: 'transparent',
    quality: 'low',
    size: '1024x1024',
  };
  t.strictSame(JSON.parse(String(last()?.body)), expected);
});

t.test('an edit is a form with its pictures', async (t) => {
  openai.behave(answered);
  const call = { op: 'edit', model: 'gpt-image-1', prompt: 'Warm', parameters: { quality: 'low' } } as const;
  t.match(await run({ ...call, input: png.slice(), references: [png.slice()] }), { kind: 'image' });
  t.equal(last()?.path, '/v1/images/edits');
  const form = await new Response(new Uint8Array(last()?.body ?? []), {
    headers: { 'content-type': last()?.headers['content-type'] ?? '' },
  }).formData();
  const expected: Omit<ImageEditParamsNonStreaming, 'image' | 'n'> = {
    model: 'gpt-image-1',
    prompt: 'Warm',
    quality: 'low',
    size: '1024x1024',
  };
  t.match(Object.fromEntries([...form].filter(([, value]) => typeof value === 'string')), {
    ...expected,
    n: '1',
  });
  const pictures = form.getAll('image[]');
  t.equal(pictures.length, 2);
  for (const picture of pictures)
    t.strictSame(new Uint8Array(await (picture as File).arrayBuffer()), png, 'to the byte');
  await run({ ...call, input: png.slice() });
  t.match(String(last()?.body), /name="image"; filename="picture-0\.png"/);
});

t.test('a question is a chat completion with a picture and a schema', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
  openai.behave({
    json: {
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: '```json\n{"a": 5}\n```' } }],
    },
  });
  const call = { op: 'analyze', model: 'gpt-4.1-mini', prompt: 'How many?', schema } as const;
  t.strictSame(await run({ ...call, input: png.slice() }), { kind: 'json', output: { a: 5 } });
  t.equal(last()?.path, '/v1/chat/completions');
  const expected: ChatCompletionCreateParamsNonStreaming = {
    model: 'gpt-4.1-mini',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'How many?' },
          {
            type: 'image_url',
            image_url: { url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` },
          },
        ],
      },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: false } },
  };
  t.strictSame(JSON.parse(String(last()?.body)), expected);
  const rows: [object, string][] = [
    [{ message: { content: null, refusal: 'I cannot help with that.' } }, 'provider_rejected'],
    [{ finish_reason: 'content_filter', message: { content: '' } }, 'provider_rejected'],
    [{ message: { content: 'five' } }, 'provider_unavailable'],
    [{ message: { content: '{"a": "five"}' } }, 'provider_unavailable'],
    [{ message: { content: '[1]' } }, 'provider_unavailable'],
  ];
  for (const [choice, code] of rows) {
    openai.behave({ json: { choices: [choice] } });
    t.match(await run({ ...call, input: png.slice() }), { kind: 'failure', code }, JSON.stringify(choice));
  }
});

t.test(
  'a picture is taken by its address on the same host, without the key, and is no picture when it is none',
  async (t) => {
    const at = (path: string) => ({ json: { data: [{ url: `${openai.url}${path}` }] } });
    const call = { op: 'generate', model: 'gpt-image-1', prompt: 'x' } as const;
    openai.behave(at('/made/1.png'), { bytes: png, type: 'image/png' });
    t.match(await run(call), { kind: 'image' });
    t.strictSame([last()?.path, last()?.headers.authorization], ['/made/1.png', undefined]);
    for (const bytes of [Buffer.from('<html>'), Buffer.alloc(0), Buffer.from(png.subarray(0, 6))]) {
      openai.behave(at('/made/2.png'), { bytes, type: 'image/png' });
      t.match(await run(call), { code: 'provider_unavailable', retryAfterMs: 10_000 });
    }
    const coded = (body: Uint8Array, coding: string) => (_: unknown, response: ServerResponse) =>
      response.writeHead(200, { 'content-encoding': coding }).end(body);
    const answer = gzipSync(JSON.stringify(at('/made/3.png').json));
    openai.behave(coded(answer, 'gzip'), coded(gzipSync(png), 'x-gzip'));
    t.match(await run(call), { kind: 'image' }, 'its content codings are undone');
    openai.behave(at('/made/4.png'), coded(png, 'gzip'));
    t.match(await run(call), { code: 'provider_unavailable' });
    openai.behave({ json: { data: [{ b64_json: Buffer.from('nothing').toString('base64') }] } });
    t.match(await run(call), { code: 'provider_unavailable' });
    const elsewhere = await standIn(t);
    elsewhere.behave({ bytes: png, type: 'image/png' });
    openai.behave({ json: { data: [{ url: `${elsewhere.url}/other.png` }] } });
    t.match(
      await run(call),
      { kind: 'image' },
      'by the guarded fetcher, which this test lets reach loopback',
    );
    openai.behave({ json: { data: [{ url: 'http://10.0.0.1/private.png' }] } });
    t.match(
      await run(call),
      { code: 'provider_unavailable' },
      'an address that is not public is not fetched',
    );
  },
);

t.test('each way to misbehave has its meaning, and no key is told', async (t) => {
  for (const [what, behaviour, meaning] of MISBEHAVIOURS) {
    openai.behave(behaviour);
    const outcome = await run({ op: 'generate', model: 'gpt-image-1', prompt: 'a secret wish' });
    t.match(outcome, { kind: 'failure', ...meaning }, what);
    t.notMatch(JSON.stringify(outcome), /sk-|Bearer/, what);
  }
  t.notMatch(logged(), /sk-|secret wish/, 'nor logged, and no prompt either');
  t.match(logged(), /see its key, account and model names/);
});

t.test('a provider that hangs is given up at the deadline', async (t) => {
  openai.behave(() => undefined);
  const short = openTestProviders(t, { OPENAI_BASE_URL: `${openai.url}/v1`, PROVIDER_TIMEOUT_SECONDS: '1' });
  const outcome = await short.run({ op: 'generate', model: 'gpt-image-1', prompt: 'x' });
  t.match(outcome, {
    code: 'provider_unavailable',
    message: /did not answer within 1 s/,
    retryAfterMs: 10_000,
  });
  t.equal(last()?.headers.authorization, undefined, 'a server without a key gets none');
});

t.test('no more calls are open than there are places, and other providers have their own', async (t) => {
  openai.behave(() => undefined);
  const narrow = openTestProviders(t, { OPENAI_BASE_URL: openai.url, PROVIDER_CONCURRENCY: '2' });
  const ending = new AbortController();
  const before = openai.received.length;
  const call = { op: 'generate', model: 'gpt-image-1', prompt: 'x' } as const;
  const hanging = [narrow.run(call, ending.signal), narrow.run(call, ending.signal)];
  while (openai.received.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(await narrow.run(call), { kind: 'busy' });
  t.match(await narrow.run({ op: 'generate', model: 'sandbox-image', prompt: 'x' }), { kind: 'image' });
  ending.abort(new Error('enough'));
  for (const call of hanging) await t.rejects(call, { message: 'enough' });
  openai.behave(answered);
  t.match(await narrow.run(call), { kind: 'image' }, 'places come back');
});
