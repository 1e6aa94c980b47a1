// needs: server
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { serve } from '../../platform/outbound/listener.ts';
import type { Answer } from '../../support/harness.ts';
import { openCalls, pictureOf, pngOf, refusalOf } from './calls.ts';
import { filePart, type Part, sendParts } from './multipart.ts';

const picture = sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } });
const png = await pngOf(picture);
const jpeg = new Uint8Array(await picture.clone().jpeg().toBuffer());
const MEGABYTE = 1024 * 1024;
const MAX_IMAGE_BYTES = 25 * MEGABYTE;
const calls = await openCalls(t, { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

t.test(
  'raw bytes, a multipart part and a url give the same picture, and say where the time went',
  async (t) => {
    const host = await serve(t, (_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(png),
    );
    const query = { op: 'resize', width: 10, format: 'png' };
    const raw = await calls.transform(query, png);
    const part = await sendParts(calls, '?op=resize&width=10&format=png', [filePart(png)]);
    const url = await calls.server.call('/images/transform?op=resize&width=10&format=png', {
      key: calls.key,
      json: { url: `${host.url}/photo` },
    });
    for (const answer of [raw, part, url]) {
      t.ok(answer.bytes.equals(raw.bytes) && answer.status === 200);
      t.equal(answer.headers.get('content-type'), 'image/png');
      t.same(
        ['width', 'height'].map((name) => answer.headers.get(`x-service-${name}`)),
        ['10', '5'],
      );
      t.match(answer.headers.get('x-service-duration-ms'), /^\d+$/);
      t.match(
        answer.headers.get('server-timing'),
        /^admit;dur=[\d.]+, fetch;dur=[\d.]+, queue;dur=[\d.]+, decode;dur=[\d.]+, process;dur=[\d.]+, encode;dur=[\d.]+, total;dur=[\d.]+$/,
      );
    }
  },
);

t.test('op, preset and parameters may ride in the body, and the query wins over them', async (t) => {
  const host = await serve(t, (_request, response) => response.end(png));
  const send = (query: string, body: object) =>
    calls.server.call(`/images/transform${query}`, {
      key: calls.key,
      json: { url: `${host.url}/a.png`, ...body },
    });
  const widthOf = async (answer: Promise<Answer>) => (await pictureOf(await answer)).width;
  t.equal(await widthOf(send('', { op: 'resize', parameters: { width: 8 } })), 8);
  t.equal(await widthOf(send('?width=6', { op: 'resize', parameters: { width: 8 } })), 6);
  t.equal(await widthOf(send('?op=resize', { parameters: { width: 8 } })), 8);
  t.equal(
    await widthOf(send('?op=resize&width=5', { preset: 'whatever' })),
    5,
    'a preset below an op of the query is overruled',
  );
  t.match(refusalOf(await send('', { op: 'resize', preset: 'x' })), { ...INVALID, param: 'preset' });
  t.match(refusalOf(await send('', {})), { ...INVALID, param: 'op' });
  t.match(refusalOf(await send('', { op: 7 })), { ...INVALID, param: 'op' });
  t.match(refusalOf(await send('', { op: 'resize', parameters: [] })), { ...INVALID, param: 'parameters' });
  t.match(
    refusalOf(await send('', { op: 'resize', parameters: { width: '8' } })),
    { ...INVALID, param: 'width' },
    'JSON is taken as it is typed',
  );
  t.match(refusalOf(await send('', { preset: 'x', parameters: { width: 8 } })), {
    ...INVALID,
    param: 'width',
  });
});

t.test('the type of a body is read from its Content-Type', async (t) => {
  const query = { op: 'resize', width: 8 };
  for (const [path, body] of [
    ['/images/transform?op=resize&width=8', png],
    ['/images/metadata', png],
  ] as const) {
    const send = (type: string | null) =>
      calls.server.call(path, { key: calls.key, method: 'POST', body, ...(type === null ? {} : { type }) });
    const octets = await send('application/octet-stream');
    t.match(refusalOf(octets), { status: 400, code: 'unsupported_format', param: 'file' });
    t.match(octets.json.error.message, /Content-Type: image\/jpeg/);
    const form = await send('application/x-www-form-urlencoded');
    t.match(refusalOf(form), {
      status: 415,
      code: 'unsupported_media_type',
      details: { supported: ['image/*', 'multipart/form-data', 'application/json'] },
    });
    t.match(form.json.error.message, /curl .*-H "Content-Type: image\/jpeg"/);
    t.match(refusalOf(await send('text/plain')), { status: 415, code: 'unsupported_media_type' });
    t.match(refusalOf(await send(null)), { status: 415, code: 'unsupported_media_type' });
  }
  for (const type of [
    'image/png',
    'IMAGE/PNG',
    'image/png; charset=binary',
    'image/x-png',
    'image/vnd.mozilla.apng',
  ]) {
    t.equal((await calls.transform(query, png, type)).status, 200, type);
  }
  for (const type of ['image/jpg', 'image/jpeg', 'image/pjpeg', 'image/jfif', 'image/pipeg'])
    t.equal((await calls.transform(query, jpeg, type)).status, 200, type);
  for (const [body, type] of [
    [jpeg, 'image/png'],
    [png, 'image/jpeg'],
    [png, 'image/bogus'],
    [Buffer.from('hello'), 'image/png'],
    [png.slice(0, 20), 'image/png'],
  ] as const) {
    t.match(
      refusalOf(await calls.transform(query, body, type)),
      { status: 400, code: 'unsupported_format' },
      type,
    );
    t.match(refusalOf(await calls.metadata(body, type)), { status: 400, code: 'unsupported_format' }, type);
  }
  t.match(refusalOf(await calls.transform(query, new Uint8Array(0))), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  t.match(refusalOf(await calls.metadata(new Uint8Array(0))), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
});

t.test('no address is suggested that is refused too', async (t) => {
  const suggested = async (path: string, url: string) => {
    const { status, json } = await calls.server.call(path, { key: calls.key, json: { url } });
    t.equal(status, 400, `${path} ${url}`);
    return json.error.details?.suggest;
  };
  t.same(await suggested('/images/metadata', 'example.com/a.png'), ['https://example.com/a.png']);
  for (const url of ['10.0.0.1/a.png', '//192.168.0.1:8080/a.png', 'example.com:99999/a.png'])
    t.equal(await suggested('/images/metadata', url), undefined, url);
  for (const url of ['http://10.0.0.1:9911/hook', '10.0.0.1/hook', 'http://user:word@10.0.0.1/hook'])
    t.equal(await suggested('/webhook-endpoints', url), undefined, url);
});

t.test('a JSON body names one image', async (t) => {
  const refusals: [object, object][] = [
    [{}, { param: 'url' }],
    [{ url: 'https://example.com/a.png', assetId: 'ast_1' }, { param: 'url' }],
    [{ url: 7 }, { param: 'url' }],
    [{ url: '' }, { param: 'url' }],
    [{ url: 'ftp://example.com/a.png' }, { param: 'url' }],
    [{ url: 'http://10.0.0.1/a.png' }, { param: 'url' }],
    [{ assetId: 7 }, { param: 'assetId' }],
    [[1], { param: 'body' }],
    [{ assetId: 'ast_1', axis: 'vertical' }, { param: 'axis' }],
  ];
  for (const path of ['/images/transform?op=resize&width=8', '/images/metadata']) {
    const send = (json: object) => calls.server.call(path, { key: calls.key, json });
    for (const [json, wanted] of refusals)
      t.match(refusalOf(await send(json)), { ...INVALID, ...wanted }, `${path} ${JSON.stringify(json)}`);
    t.match(refusalOf(await send({ assetId: 'ast_nobodyknowsthis00000' })), {
      status: 404,
      code: 'asset_not_found',
    });
    const broken = await calls.server.call(path, {
      key: calls.key,
      body: '{"url":',
      type: 'application/json',
    });
    t.match(refusalOf(broken), { ...INVALID, param: 'body' });
    const empty = await calls.server.call(path, {
      key: calls.key,
      method: 'POST',
      body: '',
      type: 'application/json',
    });
    t.match(refusalOf(empty), { ...INVALID, param: 'body' });
    const huge = await calls.server.call(path, {
      key: calls.key,
      body: `{"url":"${'x'.repeat(8 * MEGABYTE)}"}`,
      type: 'application/json',
    });
    t.match(refusalOf(huge), { status: 413, code: 'payload_too_large', details: { limit: 8 * MEGABYTE } });
  }
});

t.test('a url is judged by what it answers', async (t) => {
  const answers: Record<
    string,
    [status: number, headers: Record<string, string>, body: Uint8Array | string]
  > = {
    '/typed': [200, { 'content-type': 'image/png' }, png],
    '/photo.jpg': [200, { 'content-type': 'application/octet-stream' }, jpeg],
    '/photo.png': [200, { 'content-type': 'application/octet-stream' }, jpeg],
    '/untyped': [200, {}, png],
    '/lying': [200, { 'content-type': 'image/webp' }, png],
    '/page': [200, { 'content-type': 'text/html' }, '<html></html>'],
    '/empty': [200, { 'content-type': 'image/png' }, ''],
    '/gone': [404, {}, 'gone'],
    '/moved': [302, { location: 'https://example.com/a.png' }, ''],
    '/busy': [503, {}, ''],
    '/limited': [429, {}, ''],
  };
  const host = await serve(t, ({ url = '' }, response) => {
    const [status, headers, body] = answers[url] ?? [500, {}, ''];
    response.writeHead(status, headers).end(body);
  });
  const ok = { status: 200 };
  const unreadable = { status: 400, code: 'unsupported_format', param: 'url' };
  const unavailable = {
    status: 503,
    code: 'provider_unavailable',
    details: { reason: 'url_unavailable' },
    retryable: true,
  };
  const table: [path: string, wanted: object][] = [
    ['/typed', ok],
    ['/photo.jpg', ok],
    ['/photo.png', unreadable],
    ['/untyped', ok],
    ['/lying', unreadable],
    ['/page', unreadable],
    ['/empty', { ...INVALID, param: 'url' }],
    ['/gone', { ...INVALID, param: 'url', details: { status: 404 } }],
    ['/moved', { ...INVALID, param: 'url', details: { location: 'https://example.com/a.png' } }],
    ['/busy', unavailable],
    ['/limited', unavailable],
  ];
  for (const [path, wanted] of table) {
    for (const endpoint of ['/images/transform?op=resize&width=8', '/images/metadata']) {
      const answer = await calls.server.call(endpoint, { key: calls.key, json: { url: host.url + path } });
      t.match(refusalOf(answer), wanted, `${endpoint} ${path}`);
      if (answer.status === 503) t.ok(Number(answer.headers.get('retry-after')) >= 1);
    }
  }
});

t.test('25 MB of image pass and one byte more does not, raw, in parts, announced or not', async (t) => {
  const full = new Uint8Array(MAX_IMAGE_BYTES + 1);
  full.set(png);
  const exact = full.subarray(0, MAX_IMAGE_BYTES);
  const tooLarge = {
    status: 413,
    code: 'payload_too_large',
    param: 'file',
    details: { limit: MAX_IMAGE_BYTES },
  };
  // The bytes after a PNG's end are nobody's business: a picture of exactly the limit.
  t.equal((await calls.transform({ op: 'resize', width: 8 }, exact)).status, 200);
  t.equal((await calls.metadata(exact)).json.data.image.bytes, MAX_IMAGE_BYTES);
  t.equal((await sendParts(calls, '?op=resize&width=8', [filePart(exact)])).status, 200);
  t.match(refusalOf(await calls.transform({ op: 'resize', width: 8 }, full)), tooLarge);
  t.match(refusalOf(await calls.metadata(full)), tooLarge);
  t.match(refusalOf(await sendParts(calls, '?op=resize&width=8', [filePart(full)])), tooLarge);
  t.match(await chunked('/images/transform?op=resize&width=8', full), tooLarge);
  const filler: Part = {
    name: 'note',
    value: new Uint8Array(34 * MEGABYTE),
    filename: 'n',
    type: 'image/png',
  };
  t.match(refusalOf(await sendParts(calls, '?op=resize&width=8', [filePart(png), filler])), {
    status: 413,
    code: 'payload_too_large',
    details: { limit: 34 * MEGABYTE },
  });
});

/** Sends a body of unannounced length; answers the refusal that comes back. */
async function chunked(path: string, body: Uint8Array): Promise<object> {
  const headers = {
    authorization: `ApiKey ${calls.key}`,
    'content-type': 'image/png',
    'transfer-encoding': 'chunked',
  };
  const call = httpRequest(`${calls.server.url}/api/v1${path}`, { method: 'POST', headers });
  call.on('error', () => undefined);
  call.end(body);
  const [response] = await once(call, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  const { code, param, details } = JSON.parse(text).error;
  return { status: response.statusCode, code, param, details };
}

t.test('a JPEG of a kind that the decoder lacks is refused by the name of that kind', async (t) => {
  const frameAt = Buffer.from(jpeg).indexOf(Buffer.from([0xff, 0xc0]));
  for (const [marker, bits, sentence] of [
    [0xc1, 12, /has 12 bits per sample/],
    [0xc3, 8, /is lossless/],
    [0xc5, 8, /is hierarchical/],
  ] as const) {
    const file = Uint8Array.from(jpeg);
    file[frameAt + 1] = marker;
    file[frameAt + 4] = bits;
    for (const answer of [
      await calls.transform({ op: 'flip', axis: 'both' }, file, 'image/jpeg'),
      await calls.metadata(file, 'image/jpeg'),
    ])
      t.match(refusalOf(answer), { status: 400, code: 'unsupported_format', message: sentence });
  }
});
