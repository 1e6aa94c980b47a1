// needs: server
import { request } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { withoutAbsentFields } from '../../../src/platform/values/present.ts';
import { serve } from '../../support/loopback.ts';
import { openDelivering, signed } from './delivering.ts';

const settings = { FAILED_AUTHENTICATIONS_PER_MINUTE: '1000' };
const { server, account, key, assetId, address, get } = await openDelivering(t, { settings });
const create = (json: object) => server.call('/presets', { key: account.key, json });
const ofUrl = (url: string) => {
  const path = `resize:width=20/url:${Buffer.from(url).toString('base64url')}.png`;
  return signed(key, path, path);
};

/** The answer to a path that is sent exactly as it stands. */
function sendRaw(path: string, accept = '*/*'): Promise<{ status: number; text: string; caching?: string }> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const headers = { connection: 'close', accept };
    const call = request({ hostname, port, path, headers }, async (answer) => {
      const text = Buffer.concat(await answer.toArray()).toString('latin1');
      const { statusCode: status = 0, headers: sent } = answer;
      resolve({ status, text, ...withoutAbsentFields({ caching: sent['cache-control'] }) });
    });
    call.on('error', reject).end();
  });
}

t.test('a right address serves nothing else by dots, encodings, cases or slashes', async (t) => {
  const right = address(`resize:width=21/${assetId}.png`);
  t.equal((await sendRaw(right)).status, 200);
  const [, id, signature, what, source] = right.slice(1).split('/');
  const wrong = [
    `/d/${id}/${signature}/../${what}/${source}`,
    `/d/${id}/${signature}/${what}/../${source}`,
    `/d/./${id}/${signature}/${what}/${source}`,
    `/d/${id}/${signature}/${what}/..%2f..%2fapi%2fv1%2faccount`,
    `/d/${id}/${signature}/${what}/..%252f${source}`,
    `/d/../d/${id}/${signature}/${what}/${source}`,
    `/d/${id}/${signature}/${what}//${source}`,
    `/d/${id}/${signature}/${what}/${source}/`,
    `/d/${id}/${signature}/${what}/${source}%00`,
    `/d/${id}/${signature}/${what}/${source}%0d%0aset-cookie:a=b`,
    `/d/${id}/${signature}/${what}/%61${source?.slice(1)}`,
    `/d/${id}/${signature}/${what?.replace('resize', '%72esize')}/${source}`,
    `/d/${id}/${signature}/${what?.toUpperCase()}/${source}`,
    `/d/${id?.toUpperCase()}/${signature}/${what}/${source}`,
    `/d/${id}/${signature}/${what}/${source?.replace('.png', '.PNG')}`,
    `/d/${id}/${signature}/${what}/${source?.replace('.', '%E3%80%82')}`,
    `/d/${id}/${signature}/${what?.replace('21', '%EF%BC%92%EF%BC%91')}/${source}`,
    `/d/${id}/${signature}/${what?.replace('21', '021')}/${source}`,
    `/d/${id}/${signature}/${what};/${source}`,
    `/d/${id}/${signature}/${what}/${source}?exp=99999999999`,
    `/d/${id}/${signature}/${what}/${source}%3Fexp=1`,
    `/d/${id}/${signature}/__proto__/${source}`,
    `/d/${id}/${signature}/resize:__proto__=1/${source}`,
    `/d/${[id, signature, what, source].join('%2F')}`,
    `/d/${[id, signature, what, source].join('%252F')}`,
    `/d/%2e/${id}/${signature}/${what}/${source}`,
    `/d/%2e%2e/d/${id}/${signature}/${what}/${source}`,
    ...['=', 'A', '%00', '.', '\\'].map((end) => `/d/${id}/${signature}${end}/${what}/${source}`),
    ...['', '-'.repeat(32), '__proto__', 'A'.repeat(9_000)].map((one) => `/d/${id}/${one}/${what}/${source}`),
    ...['sgk_', 'constructor', `%73${id?.slice(1)}`, key.secret].map((one) => right.replace(`${id}`, one)),
    ...[`;${what}`, `${what},=`, `${what}=`, `${what}:`, `${what},,`, `${what};grayscale`, `${what}%3b`].map(
      (one) => `/d/${id}/${signature}/${one}/${source}`,
    ),
    `/d/${id}/${signature}/${Array.from({ length: 1_000 }, () => 'grayscale').join(';')}/${source}`,
    `/d/${id}/${signature}/${what?.replace('r', '%D1%8E')}/${source}`,
    ...['%20', ';v=1', ',', '.png', '%2epng'].map((end) => `/d/${id}/${signature}/${what}/${source}${end}`),
    ...['url:', 'url:AAAA', 'URL:aHR0cDovL2EuZXhhbXBsZS8'].map(
      (one) => `/d/${id}/${signature}/${what}/${one}`,
    ),
    ...['4e9', '-1', '+4000000000', '%34000000000', '4000000000.0', '4000000000&exp=4000000000'].map(
      (exp) => `${right}?exp=${exp}`,
    ),
  ];
  for (const path of wrong)
    for (const accept of ['*/*', 'text/html', 'image/webp;q=0']) {
      const { status, text, caching } = await sendRaw(path, accept);
      t.same([status, caching], [404, 'public, max-age=10'], path);
      t.match(text, /There is no picture at this address/, path);
    }
  t.equal((await sendRaw(right.replace('/d/', '/D/'))).status, 404);
  t.equal((await sendRaw(`${right}&exp=1`)).status, 404, 'a part of the path');
});

t.test('the source of an address is never a private one', async (t) => {
  const reached: string[] = [];
  const { url } = await serve(t, ({ url: path = '' }, response) => {
    reached.push(path);
    response.writeHead(302, { location: '/again' }).end();
  });
  const { port } = new URL(url);
  for (const target of [
    `${url}/a.png`,
    `http://localhost:${port}/a.png`,
    `http://2130706433:${port}/a.png`,
    `http://0x7f000001:${port}/a.png`,
    `http://[::1]:${port}/a.png`,
    `http://[::ffff:127.0.0.1]:${port}/a.png`,
    `http://user:word@127.0.0.1:${port}/a.png`,
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/a.png',
    `${server.url}/d/${key.id}/x`,
  ]) {
    const answer = await get(ofUrl(target));
    t.equal(answer.status, 400, target);
    t.equal(answer.json.error.param, 'url', target);
    t.equal(answer.headers.get('cache-control'), 'public, max-age=10');
  }
  t.same(reached, []);
  for (const scheme of ['file:///etc/passwd', 'ftp://example.com/a.png', 'data:image/png;base64,AAAA', '//x'])
    t.equal((await get(ofUrl(scheme))).status, 404, scheme);
});

t.test('a fallback is answered once, and has none of its own', async (t) => {
  const upload = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#0a0' } })
    .png()
    .toBuffer();
  const uploaded = await server.call('/assets/upload', {
    ...{ key: account.key, body: new Uint8Array(upload), type: 'image/png' },
  });
  const { id } = uploaded.json.data;
  const steps = [{ op: 'resize', parameters: { width: 4 } }];
  const made = await create({ name: 'Falling', steps, fallback: { assetId: id, status: 200 } });
  const path = `${made.json.data.slug}@1/ast_${'0'.repeat(24)}.png`;
  const at = signed(key, path, path);
  t.equal((await get(at)).status, 200);
  await server.call(`/assets/${id}`, { method: 'DELETE', key: account.key });
  const { status, headers } = await get(at);
  t.same([status, headers.get('cache-control')], [404, 'public, max-age=10']);
});

t.test('Vary, ETag and Range of a picture are those of its reader', async (t) => {
  const auto = address(`resize:width=61/${assetId}.auto`);
  const readers = ['image/avif,image/webp', 'image/webp', 'image/png'];
  const answers = await Promise.all(readers.map((accept) => get(auto, { accept })));
  t.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 3, 'one for each reader');
  for (const [index, { headers, bytes }] of answers.entries()) {
    t.equal(headers.get('vary'), 'Accept');
    const etag = headers.get('etag') ?? '';
    const accept = readers[index] ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const fresh = await get(auto, { accept, 'if-none-match': known });
      t.same(
        [fresh.status, fresh.headers.get('vary'), fresh.headers.get('etag')],
        [304, 'Accept', etag],
        known,
      );
    }
    const other = await get(auto, { accept, 'if-none-match': '"other"' });
    t.same([other.status, other.bytes.equals(bytes)], [200, true]);
    const head = await get(auto, { accept }, 'HEAD');
    t.same([head.status, head.headers.get('etag'), head.bytes.length], [200, etag, 0]);
  }
  const fixed = await get(address(`resize:width=61/${assetId}.png`));
  t.equal(fixed.headers.get('vary'), null);
  const part = await get(address(`resize:width=61/${assetId}.png`), { range: 'bytes=0-9' });
  t.same([part.status, part.bytes.equals(fixed.bytes)], [200, true], 'the whole picture');
});

t.test('no Accept header is refused', async (t) => {
  for (const accept of ['text/html', 'image/webp;q=0', '*/*;q=0', 'image/heic', ';;,', '__proto__/x'])
    for (const extension of ['png', 'auto']) {
      const { status, headers } = await get(address(`resize:width=64/${assetId}.${extension}`), { accept });
      t.same([status, headers.get('content-type')], [200, 'image/png'], accept);
    }
});

t.test('a flood of addresses that differ in ignored fields makes one picture', async (t) => {
  const path = address(`resize:width=62/${assetId}.png`);
  const first = await get(path);
  for (let index = 0; index < 300; index += 1) {
    const answer = await get(`${path}?v=${index}&width=${index}`);
    t.equal(answer.headers.get('etag'), first.headers.get('etag'));
  }
});

t.test('other methods are refused, and tell nothing', async (t) => {
  const path = address(`resize:width=63/${assetId}.png`);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const { status, headers } = await server.call(`/${path}`, { method });
    t.same([status, headers.get('cache-control')], [405, 'no-store'], method);
  }
});
