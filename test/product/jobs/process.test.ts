// needs: server, both stores
import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 5 });
const { key } = account;
const assets = await uploadPictures(server, account, 3);

t.test('a batch makes one asset of each item, in order, and counts its runs', async (t) => {
  const { status, json } = await submit(server, key, {
    op: 'resize',
    assetIds: assets,
    parameters: { width: 10 },
    collection: 'small ones',
  });
  t.equal(status, 201, JSON.stringify(json));
  t.match(json.data, {
    id: /^job_[0-9A-Za-z]{16,}$/,
    type: 'process',
    op: 'resize',
    presetName: 'op:resize',
    totalItems: 3,
    collection: 'small ones',
    parameters: { width: 10 },
    pipelines: [{ steps: [{ operation: 'resize' }] }],
    attemptNumber: 1,
    rootJobId: json.data.id,
    actualCredits: 0,
  });
  const job = await ended(server, key, json.data.id);
  t.match(job, { status: 'COMPLETED', outcome: 'all', completedItems: 3, failedItems: 0, cancelledItems: 0 });
  t.same(
    job.items.map(({ index, status, assetId }: Record<string, unknown>) => ({ index, status, assetId })),
    assets.map((assetId, index) => ({ index, status: 'COMPLETED', assetId })),
  );
  const made = await server.call(`/assets?jobId=${job.id}&origin=job`, { key });
  t.same(
    made.json.data.map(({ itemIndex }: { itemIndex: number }) => itemIndex),
    [0, 1, 2],
    'in the order of the items',
  );
  t.match(made.json.data[0], {
    id: job.items[0].resultAssetId,
    origin: 'job',
    status: 'DONE',
    collection: 'small ones',
    jobId: job.id,
    image: { width: 10, format: 'png' },
    expiresAt: job.expiresAt,
  });
  const content = await server.call(`/assets/${job.items[2].resultAssetId}/content`, { key });
  t.equal(content.status, 200);
  const me = await server.call('/account', { key });
  t.match(me.json.data, {
    processing: { used: 3, left: 497 },
    assets: { stored: 6 },
    credits: { held: 0, balance: 5 },
  });
  const items = await server.call(`/jobs/${job.id}/items?status=COMPLETED&perPage=2`, { key });
  t.match(items.json, { meta: { total: 3, hasMore: true }, data: [{ index: 0 }, { index: 1 }] });
});

t.test('items fail alone, and the job tells the first failure', async (t) => {
  const raw = { width: 2, height: 8, channels: 3, pageHeight: 2 } as const;
  const body = new Uint8Array(await sharp(randomBytes(48), { raw }).gif().toBuffer());
  const moving = (await server.call('/assets/upload', { key, body, type: 'image/gif' })).json.data.id;
  const { json } = await submit(server, key, {
    op: 'extract_frame',
    assetIds: [...assets, moving],
    parameters: { frame: 3 },
  });
  const job = await ended(server, key, json.data.id);
  t.match(job, {
    status: 'FAILED',
    failedItems: 3,
    completedItems: 1,
    errorCode: 'invalid_param',
    retryable: false,
    items: [{ status: 'FAILED', errorCode: 'invalid_param', retryable: false, errorMessage: String }],
  });
  t.match((await server.call('/account', { key })).json.data, { assets: { stored: 8 } }, 'places are back');
});

t.test('a submit that waits answers the ended job', async (t) => {
  const { status, json } = await submit(server, key, {
    op: 'grayscale',
    assetIds: assets.slice(0, 1),
    wait: 30,
  });
  t.equal(status, 200, JSON.stringify(json));
  t.match(json.data, { status: 'COMPLETED', items: [{ status: 'COMPLETED', resultAssetId: /^ast_/ }] });
});

t.test('listing, counts and usage agree', async (t) => {
  const list = await server.call('/jobs', { key });
  t.match(list.json.meta, { total: 3 });
  t.same(
    list.json.data.map(({ op }: { op: string }) => op),
    ['grayscale', 'extract_frame', 'resize'],
    'newest first',
  );
  const counts = await server.call('/jobs/counts', { key });
  t.same(
    counts.json.data.sort((a: { status: string }, b: { status: string }) => (a.status < b.status ? -1 : 1)),
    [
      { status: 'COMPLETED', type: 'process', count: 2 },
      { status: 'FAILED', type: 'process', count: 1 },
    ],
  );
  const usage = await server.call('/usage', { key });
  t.match(usage.json.data.total, { jobs: 3, items: 8, credits: 0 });
});

t.test('what was not handed out is cancelled, and costs nothing', async (t) => {
  const many = Array.from({ length: 60 }, () => assets).flat();
  const { json } = await submit(server, key, { op: 'blur', parameters: { sigma: 5 }, assetIds: many });
  const { id } = json.data;
  const answer = await server.call(`/jobs/${id}/cancel`, { key, method: 'POST' });
  t.equal(answer.status, 200);
  t.match(answer.json.data.status, /^CANCELL(ING|ED)$/);
  const again = await server.call(`/jobs/${id}/cancel`, { key, method: 'POST' });
  t.match(again.json.error, { code: 'invalid_state', details: { status: /^CANCELL/ } });
  const job = await ended(server, key, id);
  t.equal(job.status, 'CANCELLED');
  t.equal(job.completedItems + job.cancelledItems, 180);
  const me = await server.call('/account', { key });
  t.equal(me.json.data.assets.stored, 9 + job.completedItems);
  t.equal(me.json.data.processing.used, 8 + job.completedItems);
  const resumed = await server.call(`/jobs/${id}/resume`, { key, method: 'POST' });
  t.equal(resumed.status, 201, JSON.stringify(resumed.json));
  t.match(resumed.json.data, {
    attemptNumber: 2,
    parentJobId: id,
    rootJobId: id,
    totalItems: job.cancelledItems,
  });
  const second = await server.call(`/jobs/${id}/resume`, { key, method: 'POST' });
  t.match(second.json.error, { code: 'job_not_resumable', details: { reason: 'NOT_LATEST_ATTEMPT' } });
  t.equal((await ended(server, key, resumed.json.data.id)).status, 'COMPLETED');
});

t.test('an output is described as the metadata endpoint describes its bytes', async (t) => {
  const { json } = await submit(server, key, {
    op: 'rotate',
    assetIds: assets.slice(0, 1),
    parameters: { angle: 30 },
    wait: 30,
  });
  const assetId = json.data.items[0].resultAssetId;
  const { json: kept } = await server.call(`/assets/${assetId}`, { key });
  const { json: read } = await server.call('/images/metadata', { key, json: { assetId } });
  t.match(read.data.image, { sha1: /^[0-9a-f]{40}$/, blurhash: String, entropy: Number, sharpness: Number });
  t.same(kept.data.image, read.data.image);
});
