import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import sharp from 'sharp';
import t from 'tap';
import { type Answer, startServer } from '../harness.ts';
import { serve } from '../outbound/listener.ts';
import { openLane, pictureOf, pngOf, refusalOf } from './lane.ts';

const picture = sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } });
const png = await pngOf(picture);
const jpeg = new Uint8Array(await picture.clone().jpeg().toBuffer());
const MEGABYTE = 1024 * 1024;
const IMAGE_LIMIT_BYTES = 25 * MEGABYTE;
const BOUNDARY = 'limit-of-parts';

interface Part {
  name: string;
  value: string | Uint8Array;
  filename?: string;
  type?: string;
}

/** A multipart body, byte by byte as it goes over the wire. */
function multipartOf(parts: Part[]): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap(({ name, value, filename, type }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    value,
    '\r\n',
  ]);
  return new Uint8Array(
    Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece as string))),
  );
}

const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;
const lane = await openLane(t, { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
const filePart = (value: Uint8Array = png, type = 'image/png'): Part => ({
  name: 'file',
  value,
  filename: 'a.png',
  type,
});
const sendParts = (query: string, parts: Part[]): Promise<Answer> =>
  lane.server.call(`/images/transform${query}`, {
    method: 'POST',
    key: lane.key,
    body: multipartOf(parts),
    type: MULTIPART,
  });
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

t.test(
  'raw bytes, a multipart part and a url give the same picture, and say where the time went',
  async (t) => {
    const lane = await openLane(t, { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
    const host = await serve(t, (_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(png),
    );
    const query = { op: 'resize', width: 10, format: 'png' };
    const raw = await lane.transform(query, png);
    const part = await sendParts('?op=resize&width=10&format=png', [filePart()]);
    const url = await lane.server.call('/images/transform?op=resize&width=10&format=png', {
      key: lane.key,
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
        /^admit;dur=[\d.]+, fetch;dur=[\d.]+, queue;dur=[\d.]+, decode;dur=[\d.]+, process;dur=[\d.]+, encode;dur=[\d.]+$/,
      );
    }
  },
);

t.test('op, preset and parameters may ride in the body, and the query wins over them', async (t) => {
  const host = await serve(t, (_request, response) => response.end(png));
  const send = (query: string, body: object) =>
    lane.server.call(`/images/transform${query}`, {
      key: lane.key,
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

t.test('multipart fields are parameters in text, as in a query', async (t) => {
  const field = (name: string, value: string): Part => ({ name, value });
  const widthOf = async (answer: Promise<Answer>) => (await pictureOf(await answer)).width;
  t.equal(await widthOf(sendParts('', [field('op', 'resize'), field('width', '8'), filePart()])), 8);
  t.equal(
    await widthOf(sendParts('', [filePart(), field('op', 'resize'), field('parameters', '{"width":7}')])),
    7,
  );
  t.equal(
    await widthOf(sendParts('?op=resize&width=6', [field('width', '8'), filePart()])),
    6,
    'the query wins',
  );
  const regions = JSON.stringify([{ x: 0, y: 0, width: 20, height: 20 }]);
  const redacted = await pictureOf(
    await sendParts('?op=redact&format=png', [field('regions', regions), filePart()]),
  );
  t.same(
    [redacted.at(5, 5), redacted.at(30, 5)],
    [
      [0, 0, 0, 255],
      [0xc0, 0x40, 0x20, 255],
    ],
  );
  for (const [fields, param] of [
    [[field('op', 'resize'), field('width', '0')], 'width'],
    [[field('op', 'resize'), field('widht', '9')], 'widht'],
    [[field('op', 'redact'), field('regions', 'nowhere')], 'regions'],
    [[field('op', 'resize'), field('parameters', '{')], 'parameters'],
    [[field('preset', 'x'), field('width', '9')], 'width'],
    [[field('op', 'resize'), field('__proto__', '9')], '__proto__'],
  ] as const) {
    t.match(refusalOf(await sendParts('', [...fields, filePart()])), { ...INVALID, param });
  }
});

t.test('a multipart body has one file, whole and by its name', async (t) => {
  const query = '?op=resize&width=8';
  const other: Part = { ...filePart(), name: 'photo' };
  t.match(refusalOf(await sendParts(query, [])), { ...INVALID, param: 'file' });
  t.match(refusalOf(await sendParts(query, [other])), { ...INVALID, param: 'file' });
  t.match(refusalOf(await sendParts(query, [{ name: 'file', value: 'photo.jpg' }])), {
    ...INVALID,
    param: 'file',
  });
  t.match(refusalOf(await sendParts(query, [filePart(), filePart(jpeg, 'image/jpeg')])), {
    ...INVALID,
    param: 'file',
  });
  t.match(refusalOf(await sendParts(query, [filePart(new Uint8Array(0))])), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  t.equal((await sendParts(query, [other, filePart(), { ...other, name: 'mask' }])).status, 200);
  t.equal(
    (await sendParts(query, [filePart(png, 'application/octet-stream')])).status,
    200,
    'a part of no type is looked at',
  );
  t.equal((await sendParts(query, [{ name: 'file', value: png, filename: 'a' }])).status, 200);
  t.match(refusalOf(await sendParts(query, [filePart(jpeg, 'image/png')])), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  const bare = await lane.server.call(`/images/transform${query}`, {
    key: lane.key,
    body: multipartOf([filePart()]),
    type: 'multipart/form-data',
  });
  t.match(refusalOf(bare), { ...INVALID, param: 'body' }, 'no boundary');
});

t.test('a multipart body that ends too early is refused, wherever it ends', async (t) => {
  const whole = multipartOf([{ name: 'width', value: '8' }, filePart(), { ...filePart(), name: 'mask' }]);
  for (const part of [0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 0.99]) {
    const body = whole.slice(0, Math.floor(whole.length * part));
    const answer = await lane.server.call('/images/transform?op=resize&width=8', {
      key: lane.key,
      body,
      type: MULTIPART,
    });
    t.match(refusalOf(answer), { ...INVALID, param: /^(body|file)$/ }, `cut at ${part}`);
  }
  t.equal((await lane.transform({ op: 'resize', width: 8 }, png)).status, 200, 'the process lives');
});

t.test('the type of a body is read from its Content-Type', async (t) => {
  const query = { op: 'resize', width: 8 };
  for (const [path, body] of [
    ['/images/transform?op=resize&width=8', png],
    ['/images/metadata', png],
  ] as const) {
    const send = (type: string | null) =>
      lane.server.call(path, { key: lane.key, method: 'POST', body, ...(type === null ? {} : { type }) });
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
  for (const type of ['image/png', 'IMAGE/PNG', 'image/png; charset=binary', 'image/x-png']) {
    t.equal((await lane.transform(query, png, type)).status, 200, type);
  }
  for (const type of ['image/jpg', 'image/jpeg', 'image/pjpeg'])
    t.equal((await lane.transform(query, jpeg, type)).status, 200, type);
  for (const [body, type] of [
    [jpeg, 'image/png'],
    [png, 'image/jpeg'],
    [png, 'image/bogus'],
    [Buffer.from('hello'), 'image/png'],
    [png.slice(0, 20), 'image/png'],
  ] as const) {
    t.match(
      refusalOf(await lane.transform(query, body, type)),
      { status: 400, code: 'unsupported_format' },
      type,
    );
    t.match(refusalOf(await lane.metadata(body, type)), { status: 400, code: 'unsupported_format' }, type);
  }
  t.match(refusalOf(await lane.transform(query, new Uint8Array(0))), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  t.match(refusalOf(await lane.metadata(new Uint8Array(0))), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
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
  ];
  for (const path of ['/images/transform?op=resize&width=8', '/images/metadata']) {
    const send = (json: object) => lane.server.call(path, { key: lane.key, json });
    for (const [json, wanted] of refusals)
      t.match(refusalOf(await send(json)), { ...INVALID, ...wanted }, `${path} ${JSON.stringify(json)}`);
    t.match(refusalOf(await send({ assetId: 'ast_nobodyknowsthis00000' })), {
      status: 404,
      code: 'asset_not_found',
    });
    const broken = await lane.server.call(path, { key: lane.key, body: '{"url":', type: 'application/json' });
    t.match(refusalOf(broken), { ...INVALID, param: 'body' });
    const empty = await lane.server.call(path, {
      key: lane.key,
      method: 'POST',
      body: '',
      type: 'application/json',
    });
    t.match(refusalOf(empty), { ...INVALID, param: 'body' });
    const huge = await lane.server.call(path, {
      key: lane.key,
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
  const unreadable = { status: 400, code: 'unsupported_format' };
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
      const answer = await lane.server.call(endpoint, { key: lane.key, json: { url: host.url + path } });
      t.match(refusalOf(answer), wanted, `${endpoint} ${path}`);
      if (answer.status === 503) t.ok(Number(answer.headers.get('retry-after')) >= 1);
    }
  }
});

t.test('25 MB of image pass and one byte more does not, raw, in parts, announced or not', async (t) => {
  const full = new Uint8Array(IMAGE_LIMIT_BYTES + 1);
  full.set(png);
  const exact = full.subarray(0, IMAGE_LIMIT_BYTES);
  const tooLarge = {
    status: 413,
    code: 'payload_too_large',
    param: 'file',
    details: { limit: IMAGE_LIMIT_BYTES },
  };
  // The bytes behind a PNG's end are nobody's business: a picture of exactly the limit.
  t.equal((await lane.transform({ op: 'resize', width: 8 }, exact)).status, 200);
  t.equal((await lane.metadata(exact)).json.data.image.bytes, IMAGE_LIMIT_BYTES);
  t.equal((await sendParts('?op=resize&width=8', [filePart(exact)])).status, 200);
  t.match(refusalOf(await lane.transform({ op: 'resize', width: 8 }, full)), tooLarge);
  t.match(refusalOf(await lane.metadata(full)), tooLarge);
  t.match(refusalOf(await sendParts('?op=resize&width=8', [filePart(full)])), tooLarge);
  t.match(await chunked('/images/transform?op=resize&width=8', full), tooLarge);
  const filler: Part = {
    name: 'note',
    value: new Uint8Array(34 * MEGABYTE),
    filename: 'n',
    type: 'image/png',
  };
  t.match(refusalOf(await sendParts('?op=resize&width=8', [filePart(), filler])), {
    status: 413,
    code: 'payload_too_large',
    details: { limit: 34 * MEGABYTE },
  });
});

/** Sends a body of unannounced length; answers the refusal that comes back. */
async function chunked(path: string, body: Uint8Array): Promise<object> {
  const headers = {
    authorization: `ApiKey ${lane.key}`,
    'content-type': 'image/png',
    'transfer-encoding': 'chunked',
  };
  const call = httpRequest(`${lane.server.url}/api/v1${path}`, { method: 'POST', headers });
  call.on('error', () => undefined);
  call.end(body);
  const [response] = await once(call, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  const { code, param, details } = JSON.parse(text).error;
  return { status: response.statusCode, code, param, details };
}

t.test('what the query alone gets wrong is refused before a body is read', async (t) => {
  const { port } = new URL(lane.server.url);
  const socket = connect(Number(port), '127.0.0.1');
  const head = [
    'POST /api/v1/images/transform?op=resize&width=0 HTTP/1.1',
    'host: x',
    `authorization: ApiKey ${lane.key}`,
    'content-type: image/png',
    'content-length: 1000000',
    '',
    '',
  ];
  socket.write(head.join('\r\n'));
  const [answer] = await once(socket, 'data');
  t.match(answer.toString(), /^HTTP\/1.1 400 /);
  socket.destroy();
});

t.test('the op is one that runs here, named once, with the parameters that it declares', async (t) => {
  const send = (query: string) =>
    lane.server.call(`/images/transform${query}`, { key: lane.key, body: png, type: 'image/png' });
  for (const [query, param] of [
    ['', 'op'],
    ['?op=', 'op'],
    ['?op=resize&preset=x', 'preset'],
    ['?op=nothing', 'op'],
    ['?op=toString', 'op'],
    ['?op=overlay&layerAssetId=ast_1', 'op'],
    ['?op=compare', 'op'],
    ['?op=generate', 'op'],
    ['?op=upscale', 'op'],
    ['?op=read_metadata', 'op'],
    ['?op=render_template', 'op'],
    ['?op=resize&op=blur', 'op'],
    ['?preset=a&preset=b', 'preset'],
    ['?preset=x&width=9', 'width'],
    ['?op=resize&width=9&width=8', 'width'],
    ['?op=resize&width=9&sigma=3', 'sigma'],
    ['?op=resize&width=9&__proto__=3', '__proto__'],
    ['?op=resize&width=9&constructor=3', 'constructor'],
    ['?op=resize', 'width'],
    ['?op=resize&width=', 'width'],
    ['?op=resize&width=1e2', 'width'],
    ['?op=resize&width=9.5', 'width'],
    ['?op=resize&width=9&enlarge=yes', 'enlarge'],
    ['?op=flip&axis=diagonal', 'axis'],
    ['?op=extract_channel&channel=alpha', 'channel'],
    ['?op=crop&x=39&y=0&width=2&height=1', 'width'],
    ['?op=crop&x=40&y=0&width=1&height=1', 'x'],
    ['?op=redact&regions=[{"x":40,"y":0,"width":1,"height":1}]', 'regions'],
    ['?op=pad&top=8192&bottom=8192&left=8192&right=8192', 'top'],
    ['?op=resize&width=16384&height=16384&fit=fill&enlarge=true', 'width'],
  ]) {
    const answer = await send(query as string);
    t.match(refusalOf(answer), { ...INVALID, param }, `${query}: ${answer.json?.error?.message}`);
  }
  t.match((await send('?op=overlay')).json.error.message, /runs only as a job/);
  t.match((await send('?op=read_metadata')).json.error.message, /\/images\/metadata/);
});

t.test(
  'response=url answers a link that needs no credential, lives five minutes and cannot be altered',
  async (t) => {
    let now = new Date();
    const server = await startServer(t, { now: () => now });
    const { key } = await server.account();
    const send = (query: string) =>
      server.call(`/images/transform?op=resize&width=10${query}`, { key, body: png, type: 'image/png' });
    const bytes = (await send('&response=bytes')).bytes;
    const { status, json, headers } = await send('&response=url');
    t.equal(status, 200);
    t.match(headers.get('server-timing'), /process;dur=/);
    t.same(
      { ...json.data, url: '' },
      { url: '', contentType: 'image/png', bytes: bytes.length, expiresInSeconds: 300, width: 10, height: 5 },
    );
    const link = new URL(json.data.url);
    t.equal(link.origin, server.url);
    const read = (url: URL) => server.call(`/${url.pathname}${url.search}`);
    const first = await read(link);
    t.ok(first.status === 200 && first.bytes.equals(bytes));
    t.equal(first.headers.get('content-type'), 'image/png');
    const altered = [
      ['expires', String(Number(link.searchParams.get('expires')) + 60)],
      ['signature', 'AAAA'],
      ['signature', ''],
    ] as const;
    for (const [name, value] of altered) {
      const other = new URL(link);
      other.searchParams.set(name, value);
      t.match(refusalOf(await read(other)), {
        status: 403,
        code: 'forbidden',
        details: { reason: 'link_invalid' },
      });
    }
    const elsewhere = new URL(link);
    elsewhere.pathname += 'x';
    t.match(refusalOf(await read(elsewhere)), { status: 403, details: { reason: 'link_invalid' } });
    now = new Date(now.getTime() + 299_000);
    t.equal((await read(link)).status, 200);
    now = new Date(now.getTime() + 2_000);
    t.match(refusalOf(await read(link)), {
      status: 403,
      code: 'forbidden',
      details: { reason: 'link_expired' },
    });
  },
);
