// needs: server, both stores
import t from 'tap';
import { picture, refused, sharedGallery } from './gallery-harness.ts';

const idsOf = (rows: Array<{ id: string }>) => rows.map(({ id }) => id);

t.test('assets are listed newest first, in pages and behind a cursor, with every filter', async (t) => {
  const { newAccount, clock } = await sharedGallery();
  const { call, upload, reserved } = await newAccount();
  const ids: string[] = [];
  for (const collection of ['a', 'b', 'a', 'b', 'a']) {
    clock.ms += 1000;
    ids.unshift((await upload(await picture(), `?collection=${collection}`)).json.data.id);
  }
  clock.ms += 1000;
  const pending = (await reserved({ collection: 'b' })).id;

  const all = (await call('/assets')).json;
  t.same(idsOf(all.data), [pending, ...ids]);
  t.same(all.meta, { total: 6, page: 0, perPage: 100, hasMore: false, nextCursor: null });
  const second = (await call('/assets?perPage=2&page=1')).json;
  t.same([idsOf(second.data), second.meta.total], [ids.slice(1, 3), 6]);

  const filters: Array<[query: string, found: string[]]> = [
    ['collection=a', ids.filter((_id, index) => index % 2 === 0)],
    ['collection=b', [pending, ...ids.filter((_id, index) => index % 2 === 1)]],
    ['collection=none', []],
    ['status=PENDING', [pending]],
    ['status=DONE&collection=b', ids.filter((_id, index) => index % 2 === 1)],
    ['status=FAILED', []],
    ['origin=upload', [pending, ...ids]],
    ['origin=job', []],
    ['jobId=job_none', []],
  ];
  for (const [query, found] of filters) {
    const { data, meta } = (await call(`/assets?${query}`)).json;
    t.same([idsOf(data), meta.total], [found, found.length], query);
  }

  const walked: string[] = [];
  let { meta, data } = (await call('/assets?collection=a&perPage=1')).json;
  for (let page = 0; page < 5; page += 1) {
    walked.push(...idsOf(data));
    if (meta.nextCursor === null) break;
    ({ meta, data } = (await call(`/assets?collection=a&perPage=1&cursor=${meta.nextCursor}`)).json);
    t.notOk('total' in meta);
  }
  t.same(walked, filters[0]?.[1]);

  const { nextCursor } = (await call('/assets?perPage=1')).json.meta;
  for (const query of [`collection=a&cursor=${nextCursor}`, `page=0&cursor=${nextCursor}`, 'cursor=x']) {
    refused(t, await call(`/assets?${query}`), 400, 'invalid_param', 'cursor', query);
  }
  for (const [param, query] of [
    ['status', 'status=done'],
    ['origin', 'origin=x'],
    ['page', 'page=x'],
  ] as const) {
    refused(t, await call(`/assets?${query}`), 400, 'invalid_param', param, query);
  }
});

t.test('a deleted asset is gone from every path, and a repeat is replayed under its key', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, stored } = await newAccount();
  const id = await stored();
  const headers = { 'idempotency-key': 'once' };
  const gone = await call(`/assets/${id}`, { method: 'DELETE', headers });
  t.same([gone.status, gone.bytes.length], [204, 0]);
  t.equal((await call(`/assets/${id}`, { method: 'DELETE', headers })).status, 204);
  refused(t, await call(`/assets/${id}`, { method: 'DELETE' }), 404, 'asset_not_found', 'assetId');
  for (const path of ['', '/content', '/link']) {
    refused(t, await call(`/assets/${id}${path}`), 404, 'asset_not_found', 'assetId', path);
  }
  for (const path of ['/images/transform', '/images/metadata']) {
    const json = { assetId: id, ...(path.endsWith('transform') && { op: 'flip' }) };
    refused(t, await call(path, { json }), 404, 'asset_not_found', 'assetId', path);
  }
  t.equal((await call('/assets')).json.meta.total, 0);
  t.same(await objects(), []);
});
