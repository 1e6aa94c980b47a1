// needs: server, both stores
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 1_000 });
const { key } = account;
const assets = await uploadPictures(server, account, 3);

async function credits(): Promise<{ balance: number; held: number }> {
  const { balance, held } = (await server.call('/credits', { key })).json.data;
  return { balance, held };
}

t.test('a model job is priced by a dry run, held for, and charged for what completed', async (t) => {
  const body = {
    op: 'edit',
    prompt: 'Make it blue. [sandbox:reject@1]',
    model: 'sandbox-image',
    assetIds: assets,
  };
  const dry = await submit(server, key, body, '?dryRun=true');
  t.equal(dry.status, 200, JSON.stringify(dry.json));
  t.match(dry.json.data, {
    type: 'ai-edit',
    totalItems: 3,
    creditsPerItem: 12,
    credits: 36,
    balance: 1_000,
    sufficientCredit: true,
    overageRuns: 0,
  });
  t.same(await credits(), { balance: 1_000, held: 0 }, 'a dry run holds nothing');
  const { json } = await submit(server, key, body);
  const job = await ended(server, key, json.data.id);
  t.match(job, {
    status: 'FAILED',
    type: 'ai-edit',
    model: 'sandbox-image',
    completedItems: 2,
    failedItems: 1,
    actualCredits: 24,
    errorCode: 'provider_rejected',
    retryable: false,
    items: [{ status: 'COMPLETED' }, { status: 'FAILED' }, { status: 'COMPLETED' }],
  });
  t.same(await credits(), { balance: 976, held: 0 });
  const { data } = (await server.call('/credits/ledger', { key })).json;
  t.match(data.slice(0, 3), [
    { type: 'release', held: 12, jobId: job.id },
    { type: 'charge', credits: -24, jobId: job.id },
    { type: 'hold', held: 36, jobId: job.id },
  ]);
});

t.test('an item is tried again when the reason may pass', async (t) => {
  const body = {
    op: 'edit',
    prompt: '[sandbox:fail=2]',
    model: 'sandbox-image',
    assetIds: [assets[0]],
    wait: 30,
  };
  const { json, status } = await submit(server, key, body);
  t.equal(status, 200);
  t.match(json.data, { status: 'COMPLETED', actualCredits: 12 });
});

t.test('pictures are generated without an input, and answers are told as they are', async (t) => {
  const body = { op: 'generate', prompt: 'A lighthouse', model: 'sandbox-image', count: 2 };
  const { json } = await submit(server, key, body);
  const job = await ended(server, key, json.data.id);
  t.match(job, {
    status: 'COMPLETED',
    totalItems: 2,
    prompt: 'A lighthouse',
    items: [{ index: 0 }, { index: 1 }],
  });
  t.notMatch(job.items[0].resultAssetId, job.items[1].resultAssetId);
  const seen = await submit(server, key, { op: 'analyze', assetIds: [assets[0]], wait: 30 });
  t.match(seen.json.data, { type: 'parse', items: [{ output: { width: 32, height: 24 } }] });
  t.notOk(seen.json.data.items[0].resultAssetId, 'no asset was made');
});

t.test('a chain is paid by finished segments, and resumed behind them', async (t) => {
  const before = await credits();
  const steps = [
    { op: 'resize', parameters: { width: 16 } },
    { op: 'edit', prompt: 'Bluer.', model: 'sandbox-image' },
    { op: 'grayscale' },
    { op: 'upscale', prompt: '[sandbox:reject]', model: 'sandbox-image', parameters: { scale: 2 } },
  ];
  const dry = await submit(server, key, { steps, assetIds: [assets[0]] }, '?dry_run=true');
  t.match(dry.json.data, {
    type: 'chain',
    credits: 24,
    steps: [
      { index: 0, type: 'process', processRuns: 1, credits: 0 },
      { index: 1, type: 'ai-edit', op: 'edit', credits: 12 },
      { index: 2, processRuns: 1 },
      { index: 3, op: 'upscale', credits: 12 },
    ],
  });
  const { json } = await submit(server, key, { steps, assetIds: [assets[0]], wait: 30 });
  t.match(json.data, {
    status: 'FAILED',
    type: 'chain',
    actualCredits: 12,
    segments: [{ type: 'process' }, { op: 'edit' }, { type: 'process' }, { op: 'upscale' }],
    items: [{ status: 'FAILED', failedStep: 3, step: 3, errorCode: 'provider_rejected' }],
  });
  t.equal((await credits()).balance, before.balance - 12);
  const made = await server.call(`/assets?jobId=${json.data.id}`, { key });
  t.equal(made.json.meta.total, 0, 'what lies between segments is no asset');
  const resumed = await server.call(`/jobs/${json.data.id}/resume`, { key, method: 'POST' });
  t.equal(resumed.status, 201);
  const again = await ended(server, key, resumed.json.data.id);
  t.match(again, { status: 'FAILED', actualCredits: 0, attemptNumber: 2, items: [{ failedStep: 3 }] });
  t.same(await credits(), { balance: before.balance - 12, held: 0 }, 'finished segments are not paid again');
});

t.test('a balance that does not cover a job refuses it, and a dry run says so', async (t) => {
  const poor = await server.account({ plan: 'free', credits: 11 });
  const [assetId] = await uploadPictures(server, poor, 1);
  const body = { op: 'upscale', parameters: { scale: 2 }, model: 'sandbox-image', assetIds: [assetId] };
  const dry = await submit(server, poor.key, body, '?dryRun=true');
  t.match(dry.json.data, { sufficientCredit: false, credits: 12, balance: 11 });
  const { status, json } = await submit(server, poor.key, body);
  t.equal(status, 402);
  t.match(json.error, {
    code: 'insufficient_credit',
    retryable: false,
    details: { required: 12, available: 11, topUpUrl: String },
  });
  t.match((await server.call('/jobs', { key: poor.key })).json.meta, { total: 0 });
});
