// needs: server
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { openTestStores, startServer, type TestAccount, type TestServer } from '../../support/harness.ts';

const CALLS = 12;
/** What runs beside the calls: counts that are written down together, and the rounds of jobs and webhooks. */
const BESIDE = ['usageHours', 'usageDays', 'jobs', 'jobItems', 'opDurations', 'outbox', 'webhookDeliveries'];
const QUESTIONS_BESIDE = ['releaseSlot', 'claimDue', 'renewDue', 'lease', 'endLease', 'publish'].map(
  (method) => `coordination.${method}`,
);
const picture = new Uint8Array(
  await sharp({ create: { width: 9, height: 9, channels: 3, background: '#369' } })
    .png()
    .toBuffer(),
);

/** What was asked of the stores, as `coordination.admit` or `accounts.updateOne`. */
function counting(stores: Stores) {
  const asked: string[] = [];
  const noted = <P extends object>(store: string, port: P): P =>
    new Proxy(port, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return (...words: unknown[]) => {
          asked.push(`${store}.${String(name)}`);
          return value.apply(target, words);
        };
      },
    });
  const documents = {
    collection: (spec: { name: string; indexes: [] }) => noted(spec.name, stores.documents.collection(spec)),
    prepare: (spec) => stores.documents.prepare(spec),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  } as Stores['documents'];
  const counted: Stores = {
    documents,
    coordination: noted('coordination', stores.coordination),
    objects: noted('objects', stores.objects),
    close: () => stores.close(),
  };
  return { asked, counted };
}

async function open(t: Test, processes = 1, extra: Record<string, string> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-budget-'));
  const now = () => new Date();
  const stores = await openTestStores(directory, now);
  const { asked, counted } = counting(stores);
  // Nothing sweeps while questions are counted.
  const settings = { SWEEP_INTERVAL_MS: '3600000', ...extra };
  const server = await startServer(t, { stores: counted, settings });
  const others: TestServer[] = [];
  while (others.length < processes - 1) others.push(await startServer(t, { stores: counted, settings }));
  t.teardown(async () => {
    await stores.close();
    await rm(directory, { recursive: true, force: true });
  });
  return { server, others, asked };
}

const transform = (server: TestServer, { key }: TestAccount) =>
  server.call('/images/transform?op=flip', { method: 'POST', key, body: picture, type: 'image/png' });

/** What a number of calls asked, once a first one has filled the caches. */
async function askedBy(
  asked: string[],
  call: () => Promise<{ status: number }>,
  t: Test,
): Promise<Map<string, number>> {
  t.equal((await call()).status, 200);
  asked.length = 0;
  for (let turn = 0; turn < CALLS; turn += 1) t.equal((await call()).status, 200);
  const counts = new Map<string, number>();
  for (const question of asked) counts.set(question, (counts.get(question) ?? 0) + 1);
  return counts;
}

/** All questions but those that no call waits for: places that come back, and usage that is written down. */
function waitedFor(counts: Map<string, number>): Record<string, number> {
  const isBackground = (question: string) =>
    QUESTIONS_BESIDE.includes(question) || BESIDE.some((name) => question.startsWith(`${name}.`));
  return Object.fromEntries([...counts].filter(([question]) => !isBackground(question)));
}

t.test('a transform on an unlimited plan costs one question, and nothing of documents', async (t) => {
  const { server, asked } = await open(t);
  const account = await server.account({ plan: 'scale' });
  const { 'accounts.updateOne': raised = 0, ...questions } = waitedFor(
    await askedBy(asked, () => transform(server, account), t),
  );
  t.same(questions, { 'coordination.admit': CALLS });
  t.ok(raised < CALLS, `${raised} writes for the counts of ${CALLS} calls together`);
});

t.test('where the rate window is wide, most calls in a row ask nothing at all', async (t) => {
  const { server, asked } = await open(t, 1, { REQUESTS_PER_MINUTE: '1000000' });
  const account = await server.account({ plan: 'scale' });
  const counts = await askedBy(asked, () => transform(server, account), t);
  const { 'coordination.admit': questions = 0 } = waitedFor(counts);
  t.ok(questions < CALLS, `${questions} questions of ${CALLS} calls: the place goes from one to the next`);
});

t.test('on a limited plan it costs two updates of the account beside', async (t) => {
  const { server, asked } = await open(t);
  const account = await server.account({ plan: 'free', credits: 10 });
  const questions = waitedFor(await askedBy(asked, () => transform(server, account), t));
  t.same(questions, { 'coordination.admit': CALLS, 'accounts.updateOne': 2 * CALLS });
});

t.test(
  'a balance costs one read of the account, and one question where the rate window is small',
  async (t) => {
    const { server, asked } = await open(t);
    const { key } = await server.account({ plan: 'free' });
    const questions = waitedFor(await askedBy(asked, () => server.call('/credits', { key }), t));
    t.same(questions, { 'coordination.admit': CALLS, 'accounts.findOne': CALLS });
  },
);

t.test('an asset that is read again costs its bytes alone', async (t) => {
  const { server, asked } = await open(t);
  const { key } = await server.account({ plan: 'scale' });
  const uploaded = await server.call('/assets/upload', {
    method: 'POST',
    key,
    body: picture,
    type: 'image/png',
  });
  const json = { assetId: uploaded.json.data.id };
  const call = () => server.call('/images/transform?op=flip', { method: 'POST', key, json });
  const { 'accounts.updateOne': _, ...questions } = waitedFor(await askedBy(asked, call, t));
  t.same(questions, { 'coordination.admit': CALLS, 'objects.read': CALLS });
});

t.test('an asset that was deleted is gone in every process that knew it', async (t) => {
  const { server, others } = await open(t, 2);
  const { key } = await server.account();
  const upload = { method: 'POST', key, body: picture, type: 'image/png' };
  const { id: assetId } = (await server.call('/assets/upload', upload)).json.data;
  const call = { method: 'POST', key, json: { assetId } };
  for (const process of [server, ...others])
    t.equal((await process.call('/images/transform?op=flip', call)).status, 200);
  t.equal((await server.call(`/assets/${assetId}`, { method: 'DELETE', key })).status, 204);
  for (const process of [server, ...others]) {
    const { json } = await process.call('/images/transform?op=flip', call);
    t.match(json.error, { code: 'asset_not_found' });
  }
});
