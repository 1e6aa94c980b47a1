// needs: pixels
import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { openTestProviders, type TestCall } from './harness.ts';
import { MISBEHAVIOURS, type Received, standIn } from './stand-in.ts';

const KEY = 'r8_Test0123456789';
const png = new Uint8Array(
  await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
);
const edit = { op: 'edit', model: 'flux-kontext-pro', prompt: 'Warm' } as const;

interface Prediction {
  status: string;
  output?: unknown;
  error?: string;
}

/** Replicate as its reference describes it: predictions are submitted, looked at and cancelled by id. */
async function replicate(t: Test, settings: Record<string, string> = {}) {
  const server = await standIn(t);
  const predictions = new Map<string, Prediction>();
  const looks: Prediction[] = [];
  const answer = (response: ServerResponse, status: number, json: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  server.behave(({ method, path }: Received, response) => {
    if (path.startsWith('/made/')) return response.writeHead(200).end(png);
    if (method === 'POST' && path.endsWith('/predictions')) {
      const id = `p${predictions.size + 1}`;
      predictions.set(id, { status: 'starting' });
      return answer(response, 201, { id, status: 'starting' });
    }
    const [, id = '', verb] = /\/predictions\/(\w+)(\/cancel)?$/.exec(path) ?? [];
    const prediction = predictions.get(id);
    if (prediction === undefined) return answer(response, 404, { detail: 'no such prediction' });
    if (verb !== undefined) prediction.status = 'canceled';
    else Object.assign(prediction, looks.shift());
    return answer(response, 200, { id, ...prediction });
  });
  const kept: string[] = [];
  const { run, logged } = openTestProviders(t, {
    REPLICATE_API_TOKEN: KEY,
    REPLICATE_BASE_URL: server.url,
    ...settings,
  });
  const keep = async (id: string) => {
    kept.push(id);
  };
  return {
    server,
    predictions,
    looks,
    kept,
    logged,
    made: { status: 'succeeded', output: [`${server.url}/made/1.png`] },
    submissions: () =>
      server.received.filter(({ method, path }) => method === 'POST' && path.endsWith('/predictions')),
    run: (call: TestCall, signal?: AbortSignal) =>
      run({ ...edit, input: png.slice(), keep, ...call }, signal),
  };
}

t.test('a prediction is submitted, kept before it is awaited, and looked at until it ended', async (t) => {
  const { run, looks, kept, made, server, submissions } = await replicate(t);
  looks.push({ status: 'processing' }, made);
  t.match(await run({ parameters: { seed: 5, num_outputs: 4 } }), {
    kind: 'image',
    contentType: 'image/png',
  });
  t.strictSame(kept, ['p1']);
  const [submission] = submissions();
  t.equal(submission?.path, '/v1/models/black-forest-labs/flux-kontext-pro/predictions');
  t.equal(submission?.headers.authorization, `Bearer ${KEY}`);
  const image = `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
  t.strictSame(JSON.parse(String(submission?.body)), {
    input: { seed: 5, prompt: 'Warm', input_image: image },
  });
  const fetched = server.received.find(({ path }) => path === '/made/1.png');
  t.equal(fetched?.headers.authorization, undefined, 'the picture is fetched without the token');
});

t.test('a model without a prompt of its own is sent none, and an output may be one address', async (t) => {
  const { run, looks, made, submissions } = await replicate(t);
  looks.push({ ...made, output: made.output[0] });
  t.match(await run({ op: 'upscale', model: 'recraft-crisp-upscale', prompt: 'x' }), { kind: 'image' });
  t.strictSame(Object.keys(JSON.parse(String(submissions()[0]?.body)).input), ['image']);
});

t.test('who takes over asks for the prediction that was kept, and submits none', async (t) => {
  const { run, looks, made, predictions, submissions, kept } = await replicate(t);
  predictions.set('old', { status: 'processing' });
  looks.push({ status: 'processing' }, made);
  t.match(await run({ requestId: 'old' }), { kind: 'image' });
  t.strictSame([submissions().length, kept], [0, []]);
  looks.push(made);
  t.match(
    await run({ requestId: 'unknown' }),
    { kind: 'image' },
    'one that is known no more is submitted again',
  );
  t.equal(submissions().length, 1);
});

t.test('a process that stops leaves its prediction to the next one; a lost item cancels it', async (t) => {
  const { run, predictions } = await replicate(t);
  const stopping = new AbortController();
  const stopped = run({ keep: async () => stopping.abort(new Error('stopping')) }, stopping.signal);
  await t.rejects(stopped, { message: 'stopping' });
  t.equal(predictions.get('p1')?.status, 'starting');
  const lost = run({ keep: () => Promise.reject(new Error('another owner')) });
  await t.rejects(lost, { message: 'another owner' });
  t.equal(predictions.get('p2')?.status, 'canceled');
});

t.test('a prediction that takes too long is cancelled', async (t) => {
  const { run, predictions } = await replicate(t, { PROVIDER_TIMEOUT_SECONDS: '1' });
  t.match(await run({}), { code: 'provider_unavailable', message: /within 1 s/, retryAfterMs: 10_000 });
  t.equal(predictions.get('p1')?.status, 'canceled');
});

t.test('how a prediction fails decides whether it may pass', async (t) => {
  const { run, looks } = await replicate(t);
  const rows: [Prediction, string][] = [
    [{ status: 'failed', error: 'NSFW content detected. Try running it again.' }, 'provider_rejected'],
    [
      { status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' },
      'provider_rejected',
    ],
    [{ status: 'failed', error: 'CUDA out of memory' }, 'provider_unavailable'],
    [{ status: 'canceled' }, 'provider_unavailable'],
    [{ status: 'succeeded', output: null }, 'provider_unavailable'],
    [{ status: 'succeeded', output: [{}] }, 'provider_unavailable'],
    [{ status: 'succeeded', output: 'data:image/png;base64,bm8=' }, 'provider_unavailable'],
  ];
  for (const [prediction, code] of rows) {
    looks.splice(0, looks.length, prediction);
    t.match(await run({}), { kind: 'failure', code }, JSON.stringify(prediction));
  }
});

t.test('each way to misbehave has its meaning at the submission, and no token is told', async (t) => {
  const { run, server, logged } = await replicate(t);
  for (const [what, behaviour, meaning] of MISBEHAVIOURS) {
    server.behave(behaviour);
    const outcome = await run({ prompt: 'a secret wish' });
    t.match(outcome, { kind: 'failure', ...meaning }, what);
    t.notMatch(JSON.stringify(outcome), /r8_/, what);
  }
  t.notMatch(logged(), /r8_|secret wish/);
});
