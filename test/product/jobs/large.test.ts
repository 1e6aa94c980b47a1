// needs: server
import t from 'tap';
import { newId } from '../../../src/platform/ids/ids.ts';
import { sharedServer } from '../../support/harness.ts';
import { submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'scale' });
const { key } = account;
const ASSETS = 10_000;

/** Assets by the thousand, as documents: one upload after another would take minutes. */
async function manyAssets(): Promise<string[]> {
  const [first = ''] = await uploadPictures(server, account, 1);
  const store = server.stores.documents.collection<{ _id: string; identity?: string }>({
    name: 'assets',
    indexes: [],
  });
  const found = await store.findOne({ _id: first });
  if (found === null) throw new Error('The upload is gone.');
  const { identity: _, ...asset } = found;
  const ids = Array.from({ length: ASSETS }, () => newId('ast'));
  for (let start = 0; start < ASSETS; start += 500) {
    await store.insertMany(ids.slice(start, start + 500).map((_id) => ({ ...asset, _id })));
  }
  return ids;
}

const assetIds = await manyAssets();

t.test('one missing asset of ten thousand refuses them all, and is named', async (t) => {
  const body = { op: 'blur', parameters: { sigma: 1 }, assetIds: [...assetIds.slice(1), 'ast_nothing'] };
  const { status, json } = await submit(server, key, body);
  t.equal(status, 404);
  t.match(json.error, { code: 'asset_not_found', param: 'assetIds', details: { missing: ['ast_nothing'] } });
  const more = await submit(server, key, { ...body, assetIds: assetIds.map((id) => `${id}x`) });
  t.equal(more.json.error.details.missing.length, ASSETS, 'every missing id is listed');
  t.match((await server.call('/jobs', { key })).json.meta, { total: 0 });
});

t.test('ten thousand assets are one job, which is paged, counted and stopped', async (t) => {
  const before = process.memoryUsage().rss;
  const startedMs = performance.now();
  const { status, json } = await submit(server, key, { op: 'blur', parameters: { sigma: 1 }, assetIds });
  t.comment(
    `submitted in ${Math.round(performance.now() - startedMs)} ms, ${Math.round((process.memoryUsage().rss - before) / 1e6)} MB`,
  );
  t.equal(status, 201, JSON.stringify(json).slice(0, 300));
  t.match(json.data, { totalItems: ASSETS, itemsTruncated: true });
  t.equal(json.data.items.length, 100);
  const { id } = json.data;
  const page = await server.call(`/jobs/${id}/items?page=99&perPage=100`, { key });
  t.equal(page.json.data.at(-1).index, ASSETS - 1);
  const waiting = await server.call(`/jobs/${id}/items?status=PENDING&perPage=1`, { key });
  t.ok(waiting.json.meta.total > ASSETS / 2);
  const single = await submit(server, (await server.account({ credits: 50 })).key, {
    op: 'generate',
    prompt: 'x',
    wait: 60,
  });
  t.equal(single.json.data.status, 'COMPLETED');
  const cancelled = await server.call(`/jobs/${id}/cancel`, { key, method: 'POST' });
  t.equal(cancelled.status, 200);
  const end = await server.call(`/jobs/${id}?wait=30`, { key });
  t.equal(end.json.data.completedItems + end.json.data.cancelledItems, ASSETS);
  const account = await server.call('/account', { key });
  t.equal(account.json.data.processing.used, end.json.data.completedItems);
});
