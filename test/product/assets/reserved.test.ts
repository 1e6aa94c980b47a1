// needs: server, both stores
import t from 'tap';
import { picture, refused, sharedGallery, tally } from './gallery-harness.ts';

t.test('a reserved asset is PENDING until its bytes are put, without a credential', async (t) => {
  const { newAccount, clock, follow } = await sharedGallery();
  const { call } = await newAccount();
  const json = { contentType: 'image/png', name: 'Later', collection: 'spring' };
  const answer = await call('/assets', { json });
  t.equal(answer.status, 201);
  const { asset, upload } = answer.json.data;
  t.match(asset, { status: 'PENDING', name: 'Later', collection: 'spring', origin: 'upload' });
  t.same([upload.method, upload.headers], ['PUT', { 'content-type': 'image/png' }]);
  t.equal(Date.parse(upload.expiresAt), clock.ms + 15 * 60_000);
  for (const path of ['content', 'link']) {
    refused(t, await call(`/assets/${asset.id}/${path}`), 400, 'invalid_state', 'assetId', path);
  }
  const transform = { op: 'flip', assetId: asset.id };
  refused(t, await call('/images/transform', { json: transform }), 400, 'invalid_state', 'assetId');

  const bytes = await picture();
  const put = await follow(upload.url, { method: 'PUT', body: bytes });
  t.match(put, { status: 200, json: { data: { id: asset.id, status: 'DONE', name: 'Later' } } });
  t.notOk('expiresAt' in put.json.data, 'it stays');
  t.same((await call(`/assets/${asset.id}/content`)).bytes, Buffer.from(bytes));
  refused(t, await follow(upload.url, { method: 'PUT', body: bytes }), 400, 'invalid_state', 'assetId');
});

t.test('bytes that are no image fail the asset for good', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, reserved } = await newAccount();
  const { id, put } = await reserved();
  refused(t, await put(new TextEncoder().encode('no image')), 400, 'unsupported_format', 'file');
  t.equal((await call(`/assets/${id}`)).json.data.status, 'FAILED');
  refused(t, await call(`/assets/${id}/content`), 400, 'invalid_state', 'assetId');
  refused(t, await put(await picture()), 400, 'invalid_state', 'assetId');
  t.same(await objects(), []);
});

t.test('bytes that are too many leave the url to be used again', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, reserved } = await newAccount();
  const { id, put } = await reserved();
  refused(t, await put(new Uint8Array(34 * 1024 * 1024 + 1)), 413, 'payload_too_large', 'file');
  t.equal((await call(`/assets/${id}`)).json.data.status, 'PENDING');
  t.same(await objects(), []);
  t.equal((await put(await picture())).status, 200);
});

t.test('of 20 racing puts one is taken', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, reserved } = await newAccount();
  const { id, put } = await reserved();
  const pictures = await Promise.all(Array.from({ length: 20 }, () => picture()));
  const answers = await Promise.all(pictures.map((bytes) => put(bytes)));
  t.same(tally(answers), { 200: 1, 400: 19 });
  const won = pictures[answers.findIndex(({ status }) => status === 200)] ?? [];
  t.same((await call(`/assets/${id}/content`)).bytes, Buffer.from(won));
  t.equal((await objects()).length, 1);
});

t.test('an upload url that is altered, expired, or of a deleted asset is refused', async (t) => {
  const { newAccount, clock, follow } = await sharedGallery();
  const { call, reserved } = await newAccount();
  const stranger = await newAccount();
  const [one, two, three] = [await reserved(), await reserved(), await reserved()];
  const body = await picture();
  const signature = new URL(one.url).search;
  const altered = [
    one.url.replace(one.id, two.id),
    one.url.replace(/owner=\w+/, `owner=${stranger.id}`),
    one.url.replace(/expires=\d+/, 'expires=9999999999'),
    one.url.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    one.url.replace(signature, ''),
  ];
  for (const url of altered) {
    const answer = await follow(url, { method: 'PUT', body });
    refused(t, answer, 403, 'forbidden', undefined, url);
    t.equal(answer.json.error.details.reason, 'link_invalid');
  }
  refused(t, await follow(one.url), 403, 'forbidden', undefined, 'it does not read');
  await call(`/assets/${three.id}`, { method: 'DELETE' });
  refused(t, await follow(three.url, { method: 'PUT', body }), 404, 'asset_not_found', 'assetId');
  clock.ms += 15 * 60_000;
  const late = await follow(two.url, { method: 'PUT', body });
  t.match(late, { status: 403, json: { error: { details: { reason: 'link_expired' } } } });
});

t.test('a reservation is checked, and repeated under its Idempotency-Key', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call } = await newAccount();
  const rows: Array<[param: string, json: unknown]> = [
    ['contentType', {}],
    ['contentType', { contentType: 'text/html' }],
    ['collection', { contentType: 'image/png', collection: ' ' }],
    ['name', { contentType: 'image/png', name: 'n'.repeat(256) }],
    ['body', []],
  ];
  for (const [param, json] of rows) {
    refused(
      t,
      await call('/assets', { json }),
      400,
      'invalid_param',
      param,
      JSON.stringify(json).slice(0, 60),
    );
  }
  const twice = { json: { contentType: 'image/png' }, headers: { 'idempotency-key': 'once' } };
  const [first, second] = [await call('/assets', twice), await call('/assets', twice)];
  t.same(second.json, first.json);
  t.equal((await call('/assets')).json.meta.total, 1);
});
