// needs: pixels
import type { GenerateContentRequest } from '@google/generative-ai';
import sharp from 'sharp';
import t from 'tap';
import { openTestProviders } from './harness.ts';
import { MISBEHAVIOURS, standIn } from './stand-in.ts';

const KEY = 'AIzaTest0123456789';
const gemini = await standIn(t);
const { run, logged } = openTestProviders(t, { GEMINI_API_KEY: KEY, GEMINI_BASE_URL: gemini.url });

const png = new Uint8Array(
  await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
);
const base64 = Buffer.from(png).toString('base64');
const answered = (...parts: object[]) => ({
  json: { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] },
});
const last = () => gemini.received.at(-1);
const edit = { op: 'edit', model: 'gemini-2.5-flash-image', prompt: 'Warm' } as const;
const ask = {
  op: 'analyze',
  model: 'gemini-2.5-flash',
  prompt: 'How many?',
  schema: { type: 'object', required: ['a'] },
} as const;

t.test('a picture is asked for with the pictures beside the prompt', async (t) => {
  gemini.behave(answered({ text: 'Here you are.' }, { inlineData: { mimeType: 'image/png', data: base64 } }));
  const parameters = { aspectRatio: '16:9', temperature: 0.5, candidateCount: 8 };
  t.match(await run({ ...edit, parameters, input: png.slice(), references: [png.slice()] }), {
    kind: 'image',
    contentType: 'image/png',
  });
  t.equal(last()?.path, '/v1beta/models/gemini-2.5-flash-image:generateContent');
  t.equal(last()?.headers['x-goog-api-key'], KEY);
  const picture = { inlineData: { mimeType: 'image/png', data: base64 } };
  const expected: GenerateContentRequest = {
    contents: [{ role: 'user', parts: [{ text: 'Warm' }, picture, picture] }],
    generationConfig: { temperature: 0.5 },
  };
  // Of the image's own settings the types of the package know nothing yet.
  const { generationConfig, ...rest } = JSON.parse(String(last()?.body));
  t.strictSame(rest, { contents: expected.contents });
  t.strictSame(generationConfig, {
    ...expected.generationConfig,
    responseModalities: ['TEXT', 'IMAGE'],
    imageConfig: { aspectRatio: '16:9' },
  });
});

t.test('a question is asked with the schema of its answer', async (t) => {
  gemini.behave(answered({ text: '{"a":' }, { text: ' 1}' }));
  t.strictSame(await run({ ...ask, input: png.slice() }), { kind: 'json', output: { a: 1 } });
  const { generationConfig } = JSON.parse(String(last()?.body));
  t.strictSame(generationConfig, { responseMimeType: 'application/json', responseJsonSchema: ask.schema });
});

t.test('what it blocks is rejected, what it leaves out may come the next time', async (t) => {
  const rows: [object, string][] = [
    [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 'provider_rejected'],
    [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 'provider_rejected'],
    [{ candidates: [{ finishReason: 'SAFETY', content: { parts: [] } }] }, 'provider_rejected'],
    [
      { candidates: [{ finishReason: 'NO_IMAGE', content: { parts: [{ text: 'No.' }] } }] },
      'provider_unavailable',
    ],
    [
      { candidates: [{ finishReason: 'MAX_TOKENS', content: { parts: [{ text: '{"a":' }] } }] },
      'provider_unavailable',
    ],
    [{ candidates: [{ content: { parts: [{ inlineData: { data: 'bm8=' } }] } }] }, 'provider_unavailable'],
  ];
  for (const [json, code] of rows) {
    gemini.behave({ json });
    t.match(await run({ ...edit, input: png.slice() }), { kind: 'failure', code }, JSON.stringify(json));
  }
});

t.test('each way to misbehave has its meaning, and no key is told', async (t) => {
  for (const [what, behaviour, meaning] of MISBEHAVIOURS) {
    gemini.behave(behaviour);
    const outcome = await run({ ...ask, prompt: 'a secret wish', input: png.slice() });
    t.match(outcome, { kind: 'failure', ...meaning }, what);
    t.notMatch(JSON.stringify(outcome), /AIza/, what);
  }
  t.notMatch(logged(), /AIza|secret wish/);
});
