// needs: server
import t from 'tap';
import { picture, refused, SVG, sharedGallery } from './gallery-harness.ts';

t.test('content comes whole, with what a browser may do with it', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored } = await newAccount();
  const bytes = await picture();
  const { status, headers, bytes: got } = await call(`/assets/${await stored(bytes)}/content`);
  t.equal(status, 200);
  t.same(got, Buffer.from(bytes));
  t.equal(headers.get('content-type'), 'image/png');
  t.equal(headers.get('content-length'), String(bytes.length));
  t.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable');
  t.equal(headers.get('accept-ranges'), 'bytes');
  t.equal(headers.get('x-content-type-options'), 'nosniff');
  t.match(headers.get('content-security-policy'), /sandbox/);
  t.match(headers.get('etag'), /^"[0-9a-f]{64}"$/);
  t.match(headers.get('content-disposition'), /^inline; filename=.+\.png$/);
  const head = await call(`/assets/${await stored(bytes)}/content`, { method: 'HEAD' });
  t.same([head.status, head.bytes.length], [200, 0]);
  t.equal(head.headers.get('content-length'), String(bytes.length));
});

t.test('an ETag that the caller has is answered with 304', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored } = await newAccount();
  const path = `/assets/${await stored()}/content`;
  const etag = (await call(path)).headers.get('etag') ?? '';
  for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const answer = await call(path, { headers: { 'if-none-match': sent } });
    t.same([answer.status, answer.bytes.length, answer.headers.get('etag')], [304, 0, etag], sent);
  }
  const other = await call(path, { headers: { 'if-none-match': '"other"' } });
  t.equal(other.status, 200);
});

t.test('HEAD knows no ranges, and a 304 of it no length', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { call, stored } = await newAccount();
  const bytes = await picture();
  const path = `/assets/${await stored(bytes)}/content`;
  for (const range of ['bytes=0-3', 'bytes=-1', 'bytes=9999-']) {
    const { status, headers } = await call(path, { method: 'HEAD', headers: { range } });
    t.same([status, headers.get('content-length')], [200, String(bytes.length)], range);
    t.equal(headers.get('content-range'), null);
  }
  for (const method of ['GET', 'HEAD']) {
    for (const known of [
      path,
      '/ops',
      `${new URL(server.url).origin}/llms.txt`,
      `${server.url}/openapi.json`,
    ]) {
      const etag = (await call(known)).headers.get('etag');
      if (etag === null) continue;
      const { status, headers } = await call(known, { method, headers: { 'if-none-match': etag } });
      t.same([status, headers.get('content-length')], [304, null], `${method} ${known}`);
    }
  }
});

t.test('a single range is answered with 206, anything else with the whole', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored } = await newAccount();
  const bytes = Buffer.from(await picture());
  const path = `/assets/${await stored(new Uint8Array(bytes))}/content`;
  const size = bytes.length;
  const etag = (await call(path)).headers.get('etag') ?? '';
  const ranges: Array<[range: string, start: number, end: number]> = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-9', 0, 9],
    ['bytes=5-', 5, size - 1],
    ['bytes=-4', size - 4, size - 1],
    ['bytes=-99999', 0, size - 1],
    ['bytes=7-99999', 7, size - 1],
  ];
  for (const [range, start, end] of ranges) {
    const answer = await call(path, { headers: { range, 'if-range': etag } });
    t.equal(answer.status, 206, range);
    t.equal(answer.headers.get('content-range'), `bytes ${start}-${end}/${size}`, range);
    t.same(answer.bytes, bytes.subarray(start, end + 1), range);
  }
  const ignored = [
    `bytes=${size}-`,
    'bytes=9-3',
    'bytes=-0',
    'bytes=0-1,3-4',
    'bytes=-',
    'items=0-1',
    'bytes=a-b',
  ];
  for (const range of ignored) {
    const answer = await call(path, { headers: { range } });
    t.same([answer.status, answer.bytes.length], [200, size], range);
    t.equal(answer.headers.get('content-range'), null, range);
  }
  const changed = await call(path, { headers: { range: 'bytes=0-1', 'if-range': '"other"' } });
  t.equal(changed.status, 200);
});

t.test('a download is named, in ASCII and in UTF-8, and never by what could break out', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload } = await newAccount();
  const rows: Array<[name: string, disposition: string]> = [
    ['plain.png', 'attachment; filename=plain.png'],
    ['no extension', 'attachment; filename="no extension.png"'],
    ['Grüße ❄.png', `attachment; filename="Gr__e _.png"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%E2%9D%84.png`],
    ['a";\\b.png', `attachment; filename=a___b.png; filename*=UTF-8''a%22%3B_b.png`],
    ['../../etc/x.png', 'attachment; filename=.._.._etc_x.png'],
    ["it's(1)*.png", `attachment; filename="it's(1)*.png"`],
  ];
  for (const [name, disposition] of rows) {
    const { json } = await upload(await picture(), `?name=${encodeURIComponent(name)}`);
    const answer = await call(`/assets/${json.data.id}/content?download=true`);
    t.equal(answer.headers.get('content-disposition'), disposition, name);
  }
  const { json } = await upload(await picture());
  const unnamed = await call(`/assets/${json.data.id}/content?download=true`);
  t.match(unnamed.headers.get('content-disposition'), `filename=${json.data.id}.png`);
  refused(t, await call(`/assets/${json.data.id}/content?download=maybe`), 400, 'invalid_param', 'download');
});

t.test('an SVG is served as one that runs nothing', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call } = await newAccount();
  const { json } = await call('/assets/upload', { body: SVG, type: 'image/svg+xml' });
  const { headers } = await call(`/assets/${json.data.id}/content`);
  t.equal(headers.get('content-type'), 'image/svg+xml');
  t.equal(headers.get('content-security-policy'), "default-src 'none'; style-src 'unsafe-inline'; sandbox");
});

t.test('content that the store of objects lost is 503 storage_read, for synchronous calls too', async (t) => {
  const { newAccount, server, objects } = await sharedGallery();
  const { call, stored } = await newAccount();
  const id = await stored();
  for (const key of await objects()) await server.stores.objects.delete(key);
  for (const answer of [
    await call(`/assets/${id}/content`),
    await call('/images/transform', { json: { op: 'flip', assetId: id } }),
    await call('/images/metadata', { json: { assetId: id } }),
  ]) {
    refused(t, answer, 503, 'provider_unavailable');
    t.equal(answer.json.error.details.reason, 'storage_read');
    t.ok(answer.headers.get('retry-after'));
  }
});
