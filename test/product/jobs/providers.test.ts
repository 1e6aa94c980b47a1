// needs: server
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { askProcesses } from '../../../src/host/processes/controls.ts';
import type { ItemDocument } from '../../../src/product/jobs/job.ts';
import { dyingStores } from '../../support/dying.ts';
import { startServer, type TestServer } from '../../support/harness.ts';
import { type Received, standIn } from '../providers/stand-in.ts';
import { ended, submit, uploadPictures } from './jobs.ts';
import { endedBySweeps, LONG_AFTER_MS, openSharedClockStores } from './shared-clock-stores.ts';

const png = new Uint8Array(
  await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
);
const answered = { json: { data: [{ b64_json: Buffer.from(png).toString('base64') }] } };
const SECRET_WISH = 'a wish that nobody else may read';
const KEY = 'sk-test-0123456789abcdef';

/** A server with OpenAI's models, spoken to at a stand-in. */
async function withOpenAi(t: Test, settings: Record<string, string> = {}) {
  const openai = await standIn(t);
  const server = await startServer(t, {
    settings: {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: openai.url,
      PROVIDER_RETRY_SECONDS: '0,0',
      ...settings,
    },
  });
  return { openai, server, account: await server.account({ credits: 1_000 }) };
}

const generate = { op: 'generate', prompt: SECRET_WISH, parameters: { quality: 'low' } };

t.test('with a key, a real model is the default, and its price follows the parameters', async (t) => {
  const { openai, server, account } = await withOpenAi(t);
  openai.behave(answered);
  t.equal((await server.call('/ops/generate')).json.data.defaultModel, 'gpt-image-1');
  const job = (await submit(server, account.key, { ...generate, wait: 30 })).json.data;
  t.match(job, { status: 'COMPLETED', model: 'gpt-image-1', actualCredits: 14 }, '0.011 dollars and a fifth');
  const high = { ...generate, parameters: { quality: 'high', size: '1536x1024' } };
  t.match((await submit(server, account.key, high, '?dryRun=true')).json.data, { credits: 300 });
  t.match(
    (await submit(server, account.key, { ...generate, parameters: { quality: 'auto' } }, '?dryRun=true')).json
      .data,
    { credits: 201 },
    'what the list lacks is priced at its highest',
  );
});

t.test('prompts, keys and pictures are in no log line and no metric', async (t) => {
  const { openai, server, account } = await withOpenAi(t);
  await askProcesses(server.stores.coordination, { kind: 'log', level: 'debug', forMs: null, by: 'a test' });
  for (const status of [200, 400, 401, 429, 500]) {
    openai.behave(status === 200 ? answered : { status, json: { error: { message: `${KEY} refuses` } } });
    const { json } = await submit(server, account.key, { ...generate, wait: 30 });
    t.notMatch(JSON.stringify(json), KEY);
  }
  const metrics = String((await server.call('//metrics')).bytes);
  t.match(metrics, /darkroom_provider_calls_total\{provider="openai",verdict="answered"\} 1/);
  t.match(metrics, /verdict="service_misconfigured"\} 1/);
  t.match(server.logged(), /"pauseMs":0,"code":"provider_unavailable","msg":"An item is tried again"/);
  const told = metrics + server.logged();
  t.notMatch(told, SECRET_WISH);
  t.notMatch(told, KEY);
  t.notMatch(told, Buffer.from(png).toString('base64'));
});

t.test(
  'a provider that is down for two tries fails no item; one that asks for time is given it',
  async (t) => {
    const { openai, server, account } = await withOpenAi(t);
    const times: number[] = [];
    const refuse =
      (status: number, headers: Record<string, string>) =>
      (_: Received, response: import('node:http').ServerResponse) => {
        times.push(performance.now());
        response.writeHead(status, headers).end('{}');
      };
    const answer = (_: Received, response: import('node:http').ServerResponse) => {
      times.push(performance.now());
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered.json));
    };
    openai.behave(refuse(503, {}), refuse(429, { 'retry-after': '1' }), answer);
    const job = (await submit(server, account.key, { ...generate, wait: 30 })).json.data;
    t.match(job, { status: 'COMPLETED', actualCredits: 14 });
    const [, second = 0, third = 0] = times;
    t.equal(times.length, 3);
    t.ok(third - second >= 1_000, 'not asked sooner than it said');
    openai.behave({ status: 500, json: {} });
    const failed = (await submit(server, account.key, { ...generate, wait: 30 })).json.data;
    t.match(failed, {
      status: 'FAILED',
      errorCode: 'provider_unavailable',
      retryable: true,
      actualCredits: 0,
    });
  },
);

/**
 * A server of OpenAI's models on a clock that is moved by hand, with the waits between tries as they are by default.
 */
async function onMovedTime(t: Test) {
  const openai = await standIn(t);
  const { stores, now, move } = await openSharedClockStores(t);
  const settings = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openai.url };
  const server = await startServer(t, { stores, now, settings });
  const items = stores.documents.collection<ItemDocument>({ name: 'jobItems', indexes: [] });
  return {
    ...{ openai, server, account: await server.account({ credits: 1_000 }) },
    /** Until every item waits for its next try. */
    async allPutOff() {
      for (;;) {
        const all = await items.find({});
        if (all.length > 0 && all.every(({ queue }) => queue === 'later')) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async pass(seconds: number) {
      move(seconds * 1_000);
      await server.sweep();
    },
  };
}

t.test('a provider that is down for a minute fails no item', async (t) => {
  const { openai, server, account, allPutOff, pass } = await onMovedTime(t);
  openai.behave((_, response) => response.destroy());
  const { json } = await submit(server, account.key, { ...generate, count: 3 });
  await allPutOff();
  t.equal(openai.received.length, 3, 'each item was tried once');
  await pass(10);
  await until(() => openai.received.length === 6);
  await allPutOff();
  await pass(50);
  t.equal(openai.received.length, 6, 'a minute after the first try it is still down, and left alone');
  openai.behave(answered);
  await pass(15);
  const job = await ended(server, account.key, json.data.id);
  t.match(job, { status: 'COMPLETED', completedItems: 3, actualCredits: 42 });
  t.equal(openai.received.length, 9);
});

t.test('a provider that asks for time is asked again no sooner, however long it takes', async (t) => {
  const { openai, server, account, allPutOff, pass } = await onMovedTime(t);
  openai.behave({ status: 429, json: {}, headers: { 'retry-after': '200' } });
  const { json } = await submit(server, account.key, { ...generate, count: 2 });
  await allPutOff();
  openai.behave(answered);
  for (const seconds of [10, 65, 100, 20]) {
    await pass(seconds);
    t.equal(openai.received.length, 2, 'nobody asks before 200 seconds are over');
  }
  await pass(6);
  t.match(await ended(server, account.key, json.data.id), { status: 'COMPLETED', actualCredits: 28 });
  t.equal(openai.received.length, 4);
});

t.test('a provider that hangs holds up no other provider, no other account and no pixel work', async (t) => {
  const { openai, server, account } = await withOpenAi(t, {
    PROVIDER_CONCURRENCY: '1',
    PROVIDER_TIMEOUT_SECONDS: '600',
  });
  openai.behave(() => undefined);
  const hanging = await submit(server, account.key, { ...generate, count: 10 });
  while (openai.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const other = await server.account({ credits: 100 });
  const [assetId] = await uploadPictures(server, other, 1);
  const jobs = [
    { op: 'edit', prompt: 'Warm', model: 'sandbox-image', assetIds: [assetId] },
    { op: 'resize', parameters: { width: 5 }, assetIds: [assetId] },
    { op: 'generate', prompt: 'A boat', model: 'sandbox-image', count: 5 },
  ];
  for (const body of jobs) {
    const { json } = await submit(server, other.key, body);
    t.match(await ended(server, other.key, json.data.id), { status: 'COMPLETED' }, body.op);
  }
  t.equal(openai.received.length, 1, 'no more calls are open than there are places');
  t.match((await server.call(`/jobs/${hanging.json.data.id}`, { key: account.key })).json.data, {
    status: 'PROCESSING',
  });
  await server.call(`/jobs/${hanging.json.data.id}/cancel`, { method: 'POST', key: account.key });
  openai.behave(answered);
  openai.hangUp();
});

t.test(
  'what is not offered is in no listing and no price, and naming it is refused with what is',
  async (t) => {
    const server = await startServer(t, { settings: { SANDBOX_MODELS: 'off' } });
    const { key } = await server.account({ credits: 100 });
    const [assetId] = await uploadPictures(server, { key }, 1);
    t.same((await server.call('/ai-models', { key })).json.data, []);
    const local = ['local-text', 'local-codes'];
    t.same(
      (await server.call('/ai-models?mode=analyze', { key })).json.data.map(({ id }: { id: string }) => id),
      local,
    );
    const prices = (await server.call('//api/pricing/image-models')).json.data;
    t.same(
      prices.models.map(({ id }: { id: string }) => id),
      local,
    );
    t.notOk('defaultModel' in (await server.call('/ops/edit')).json.data);
    for (const model of [undefined, 'sandbox-image', 'gpt-image-1']) {
      const { status, json } = await submit(server, key, {
        op: 'edit',
        prompt: 'x',
        assetIds: [assetId],
        model,
      });
      t.match(
        [status, json.error],
        [400, { code: 'invalid_param', param: 'model', details: { allowed: [] } }],
      );
    }
    const { json } = await submit(server, key, {
      op: 'analyze',
      assetIds: [assetId],
      model: 'local-codes',
      wait: 30,
    });
    t.match(json.data, { status: 'COMPLETED', actualCredits: 1, items: [{ output: { codes: [] } }] });
    const schema = { type: 'object' };
    const refused = await submit(server, key, {
      op: 'analyze',
      assetIds: [assetId],
      model: 'local-codes',
      parameters: { schema },
    });
    t.match(refused.json.error, { code: 'invalid_param', param: 'parameters.schema' });
  },
);

t.test('a request that a dead process submitted is picked up by the next, and paid once', async (t) => {
  const replicate = await standIn(t);
  const submitted: string[] = [];
  let status = 'processing';
  replicate.behave(({ method, path }, response) => {
    const answer = (json: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    if (method === 'POST' && path.endsWith('/predictions')) {
      submitted.push(path);
      return answer({ id: `p${submitted.length}`, status: 'starting' });
    }
    const output = `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
    return answer({ id: path.split('/').at(-1) ?? '', status, output });
  });
  const { stores, now, move } = await openSharedClockStores(t);
  const settings = { REPLICATE_BASE_URL: replicate.url };
  const { life, ...dead } = dyingStores(stores, { change: Number.POSITIVE_INFINITY, moment: 'before' });
  const dying = await startServer(t, { stores: dead, now, settings });
  const { key } = await dying.account({ credits: 100 });
  const { json } = await submit(dying, key, { op: 'generate', prompt: 'A boat', model: 'flux-schnell' });
  await until(() => replicate.received.some(({ method }) => method === 'GET'));
  life.isOver = true;
  move(LONG_AFTER_MS);
  status = 'succeeded';
  const survivor: TestServer = await startServer(t, { stores, now, settings });
  const job = await endedBySweeps(survivor, key, json.data.id);
  t.match(job, { status: 'COMPLETED', actualCredits: 4 });
  t.equal(submitted.length, 1, 'the provider was asked for one picture');
  t.match((await survivor.call('/credits', { key })).json.data, { balance: 96, held: 0 });
});

async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setTimeout(resolve, 10));
}
