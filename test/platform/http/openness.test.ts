// needs: server

import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';

const server = await startServer(t);
const { key } = await server.account({ plan: 'free' });
const png = await redSquare();
const FROM_A_PAGE = { origin: 'https://page.example' };

/** The path of a link that the server gave out, as the harness calls it. */
function pathOf(link: string): string {
  const { pathname, search } = new URL(link);
  return `/${pathname}${search}`;
}

t.test('a page of another origin may use signed links, and nothing else', async (t) => {
  const preflight = (path: string, method: string) =>
    server.call(path, {
      method: 'OPTIONS',
      headers: { ...FROM_A_PAGE, 'access-control-request-method': method },
    });
  const reserved = await server.call('/assets', { key, json: { contentType: 'image/png' } });
  const { upload, asset } = reserved.json.data;
  const asked = await preflight(pathOf(upload.url), 'PUT');
  t.equal(asked.status, 204);
  t.equal(asked.headers.get('access-control-allow-origin'), '*');
  t.match(asked.headers.get('access-control-allow-methods'), /PUT/);
  t.match(asked.headers.get('access-control-allow-headers'), /Content-Type/);
  const put = await server.call(pathOf(upload.url), {
    method: 'PUT',
    headers: FROM_A_PAGE,
    body: png,
    type: 'image/png',
  });
  t.same([put.status, put.headers.get('access-control-allow-origin')], [200, '*']);

  const { url } = (await server.call(`/assets/${asset.id}/link`, { key })).json.data;
  const read = await server.call(pathOf(url), { headers: FROM_A_PAGE });
  t.same([read.status, read.headers.get('access-control-allow-origin')], [200, '*']);
  const altered = await server.call(`${pathOf(url)}x`, { headers: FROM_A_PAGE });
  t.same([altered.status, altered.headers.get('access-control-allow-origin')], [403, '*'], 'a refusal');
  const own = await server.call(`/assets/${asset.id}/content`, { key, headers: FROM_A_PAGE });
  t.same([own.status, own.headers.get('access-control-allow-origin')], [200, null], 'with a key');
  const unsigned = await preflight(`/assets/${asset.id}/content`, 'GET');
  t.equal(unsigned.headers.get('access-control-allow-origin'), null);

  const query = '/images/transform?op=flip&response=url';
  const result = (await server.call(query, { key, body: png, type: 'image/png' })).json.data;
  const shown = await server.call(pathOf(result.url), { headers: FROM_A_PAGE });
  t.same([shown.status, shown.headers.get('access-control-allow-origin')], [200, '*']);
});

t.test('content says its name and how long it may be kept; other answers are kept by nobody', async (t) => {
  const named = await server.call('/assets/upload?name=square.png', { key, body: png, type: 'image/png' });
  const { id } = named.json.data;
  const content = await server.call(`/assets/${id}/content`, { key });
  t.match(content.headers.get('content-disposition'), /^inline; filename="?square\.png/);
  t.equal(content.headers.get('cache-control'), 'private, max-age=31536000, immutable');
  const inConsole = { key, headers: { 'x-console': '1' } };
  for (const path of [`/assets/${id}/content`, `/assets/${id}/content?preview=64`]) {
    const shown = await server.call(path, inConsole);
    t.equal(shown.headers.get('cache-control'), 'private, no-cache', 'whoever signs in next may not read it');
    const headers = { ...inConsole.headers, 'if-none-match': shown.headers.get('etag') ?? '' };
    t.equal((await server.call(path, { key, headers })).status, 304);
  }
  const { url } = (await server.call(`/assets/${id}/link?expiresIn=60`, { key })).json.data;
  const [, age = ''] =
    /max-age=(\d+)/.exec((await server.call(pathOf(url))).headers.get('cache-control') ?? '') ?? [];
  t.ok(Number(age) > 0 && Number(age) <= 60, `${age} is within the life of the link`);
  for (const path of ['/credits', '//%61pi/v1/credits', '//ap%69/v1/credits']) {
    const { status, headers } = await server.call(path, { key });
    t.same([status, headers.get('cache-control')], [200, 'no-store'], path);
  }
});

t.test('no cache keeps a refusal, whatever its path', async (t) => {
  for (const [path, options, status] of [
    ['//nothing', {}, 404],
    ['//docs/guides/nothing', {}, 404],
    ['//nothing/%zz', {}, 400],
    ['//docs', { method: 'DELETE' }, 405],
    ['//healthz', { method: 'POST' }, 405],
    ['/ops/nothing', {}, 404],
    ['/ops', { method: 'POST' }, 405],
    ['/templates', {}, 401],
  ] as const) {
    const answer = await server.call(path, options);
    t.same([answer.status, answer.headers.get('cache-control')], [status, 'no-store'], path);
  }
  t.equal((await server.call('//readyz')).headers.get('cache-control'), 'no-store');
});

t.test('a path in percent-encoding is as private as its plain form', async (t) => {
  for (const path of ['//metrics', '//%6Detrics', '//%6detrics?a=b', '//%61pi/v1/credits']) {
    const { headers } = await server.call(path, { key, headers: FROM_A_PAGE });
    t.equal(headers.get('access-control-allow-origin'), null, path);
  }
});

/** A GET without the decoding that fetch does on its own. */
function plainGet(path: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const asked = request(`${server.url}${path}`, { headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
        );
      });
      asked.on('error', reject).end();
    },
  );
}

t.test('long answers are sent packed to whoever takes that', async (t) => {
  for (const path of ['/openapi.json', '/api/v1/ops', '/api/v1/agent-guidelines', '/metrics', '/llms.txt']) {
    const whole = await plainGet(path, {});
    const packed = await plainGet(path, { 'accept-encoding': 'br;q=1, gzip' });
    t.equal(whole.headers['content-encoding'], undefined, path);
    t.equal(packed.headers['content-encoding'], 'gzip', path);
    t.equal(packed.headers.vary, 'accept-encoding');
    t.ok(packed.body.length < whole.body.length / 2, `${packed.body.length} of ${whole.body.length} bytes`);
    t.ok(gunzipSync(packed.body).length > 1000);
    t.equal((await plainGet(path, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'], undefined);
  }
});

t.test('what stands still is not sent twice', async (t) => {
  for (const path of ['/openapi.json', '/api/v1/ops', '/api/v1/agent-guidelines', '/llms.txt']) {
    const { headers } = await plainGet(path, {});
    const again = await plainGet(path, { 'if-none-match': String(headers.etag) });
    t.same([again.status, again.body.length], [304, 0], path);
    t.equal((await plainGet(path, { 'if-none-match': '"other"' })).status, 200);
  }
});

t.test(
  'the address leads a browser to the documentation, and tells a program where everything is',
  async (t) => {
    const browser = await server.call('//', { headers: { accept: 'text/html,*/*;q=0.8' } });
    t.same([browser.status, browser.headers.get('location')], [302, '/docs/']);
    for (const accept of ['*/*', 'application/json']) {
      const { status, json } = await server.call('//', { headers: { accept } });
      t.equal(status, 200, accept);
      for (const [name, link] of Object.entries<string>(json)) {
        if (name === 'service') continue;
        const { pathname } = new URL(link);
        t.ok([200, 302].includes((await server.call(`/${pathname}`)).status), `${name}: ${link}`);
      }
    }
  },
);

t.test(
  'pages of other origins read what is public, and those of named origins call with a key',
  async (t) => {
    const origin = 'https://app.example.com';
    const settings = { CORS_ORIGINS: `https://admin.example.com,${origin}` };
    const named = await startServer(t, { settings });
    const { key: itsKey } = await named.account();
    const preflight = (from: string, method: string) => ({
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,idempotency-key',
      },
    });
    for (const path of ['/jobs', '/assets/ast_x', '/images/transform', '/nothing/here']) {
      const asked = await named.call(path, preflight(origin, 'POST'));
      t.equal(asked.status, 204, path);
      t.equal(asked.headers.get('access-control-allow-origin'), origin);
      t.match(asked.headers.get('access-control-allow-headers'), /Authorization.*Idempotency-Key/);
      t.match(asked.headers.get('access-control-allow-methods'), /POST.*DELETE/);
      const strange = await named.call(path, preflight('https://evil.example.com', 'POST'));
      t.equal(strange.headers.get('access-control-allow-origin'), null, `${path} for another origin`);
    }
    const rows: [what: string, path: string, call: object, status: number][] = [
      ['an answer', '/credits', { key: itsKey }, 200],
      ['a refusal without a key', '/credits', {}, 401],
      ['a refusal of a field', '/jobs', { key: itsKey, json: { op: 'nonsense' } }, 400],
      ['an unknown path', '/nothing', { key: itsKey }, 404],
    ];
    for (const [what, path, call, status] of rows) {
      const answer = await named.call(path, { ...call, headers: { origin } });
      t.equal(answer.status, status, what);
      t.equal(answer.headers.get('access-control-allow-origin'), origin, what);
      t.match(answer.headers.get('vary'), /origin/, what);
      t.match(answer.headers.get('access-control-expose-headers'), /X-Request-Id.*X-Service-Width/, what);
      const strange = await named.call(path, { ...call, headers: { origin: 'https://evil.example.com' } });
      t.equal(strange.headers.get('access-control-allow-origin'), null, `${what} for another origin`);
    }
    for (const path of ['//openapi.json', '//llms.txt', '//healthz', '//', '/ops', '//docs/errors.md']) {
      const { headers } = await server.call(path, { headers: { origin: 'https://any.example.com' } });
      t.equal(headers.get('access-control-allow-origin'), '*', path);
    }
    const every = await startServer(t, { settings: { CORS_ORIGINS: '*' } });
    const asked = await every.call('/jobs', preflight(origin, 'POST'));
    t.same([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*']);
    t.equal(
      (await server.call('/jobs', preflight(origin, 'POST'))).headers.get('access-control-allow-origin'),
      null,
    );
  },
);

t.test('a path with a word of its own names the methods of that word', async (t) => {
  for (const path of ['/templates/import', '/presets/import']) {
    const { status, headers } = await server.call(path, { key });
    t.same([status, headers.get('allow')], [405, 'POST'], path);
  }
});
