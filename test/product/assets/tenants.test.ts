// needs: server
import t from 'tap';
import type { CallOptions } from '../../support/harness.ts';
import { picture, sharedGallery } from './gallery-harness.ts';

/** Every route that takes an id, as it may be called. */
const CALLS: Array<[path: string, options?: CallOptions]> = [
  ['/assets/ID'],
  ['/assets/ID/content'],
  ['/assets/ID/content?download=true', { headers: { range: 'bytes=0-1', 'if-none-match': '*' } }],
  ['/assets/ID/link'],
  ['/assets/ID', { method: 'DELETE' }],
  ['/images/metadata', { json: { assetId: 'ID' } }],
  ['/images/transform?op=flip', { json: { assetId: 'ID' } }],
  ['/assets?jobId=ID'],
];

t.test('another account’s id is answered byte for byte like one that does not exist', async (t) => {
  const { newAccount } = await sharedGallery();
  const [owner, stranger] = [await newAccount(), await newAccount()];
  const [done, pending] = [await owner.stored(), (await owner.reserved()).id];
  const none = `ast_${'0'.repeat(done.length - 4)}`;

  async function asked(id: string, path: string, options: CallOptions = {}): Promise<string> {
    const json = JSON.stringify(options.json)?.replace('ID', id);
    const call = { ...options, ...(json !== undefined && { json: JSON.parse(json) }) };
    const { status, headers, bytes } = await stranger.call(path.replace('ID', id), call);
    const told = Object.fromEntries(headers);
    for (const name of [
      'date',
      'x-request-id',
      'ratelimit-remaining',
      'ratelimit-reset',
      'ratelimit',
      'server-timing',
    ])
      delete told[name];
    const body = bytes.toString().replace(/"requestId":"[^"]*"|"timestamp":"[^"]*"/g, '');
    return JSON.stringify([status, told, body]);
  }

  for (const [path, options] of CALLS) {
    const expected = await asked(none, path, options);
    t.match(expected, path.startsWith('/assets?') ? /^\[200/ : /asset_not_found/);
    for (const id of [done, pending]) t.equal(await asked(id, path, options), expected, path);
  }
  t.equal((await owner.call(`/assets/${done}`)).status, 200, 'nothing happened to it');
});

t.test('lists and collections hold nothing of another account', async (t) => {
  const { newAccount } = await sharedGallery();
  const [owner, stranger] = [await newAccount(), await newAccount()];
  await owner.upload(await picture(), '?collection=secret');
  t.same((await stranger.call('/assets')).json.data, []);
  t.same((await stranger.call('/assets?collection=secret')).json.data, []);
  t.same((await stranger.call('/collections')).json.data, []);
  t.equal((await stranger.call('/collections/secret', { method: 'DELETE' })).status, 404);
  t.equal((await owner.call('/collections')).json.data[0].assets, 1);
});

t.test('without a credential nothing is told but 401', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const id = await (await newAccount()).stored();
  for (const path of [
    '/assets',
    `/assets/${id}`,
    `/assets/${id}/content`,
    `/assets/${id}/link`,
    '/collections',
  ]) {
    t.equal((await server.call(path)).status, 401, path);
  }
  const upload = await server.call('/assets/upload', { body: await picture(), type: 'image/png' });
  t.equal(upload.status, 401);
});
