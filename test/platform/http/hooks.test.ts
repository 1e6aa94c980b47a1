// needs: server
import { request } from 'node:http';
import { connect } from 'node:net';
import t from 'tap';
import { findSandboxObstacle } from '../../../src/imaging/renders/sandbox.ts';
import { ERROR_CODES } from '../../../src/platform/http/errors/errors.ts';
import { startServer, type TestServer } from '../../support/harness.ts';

const server = await startServer(t);

t.test('every refusal is the envelope with a complete error of the closed set', async (t) => {
  const { key } = await server.account();
  const calls: Array<[string, Parameters<TestServer['call']>[1], number, string, string | undefined]> = [
    ['/nowhere', {}, 404, 'not_found', undefined],
    ['/images/transform', { method: 'GET' }, 405, 'method_not_allowed', undefined],
    ['/ops', { method: 'POST' }, 405, 'method_not_allowed', undefined],
    ['/assets/upload', { method: 'GET' }, 405, 'method_not_allowed', undefined],
    ['/assets/upload', { method: 'DELETE' }, 405, 'method_not_allowed', undefined],
    ['/ops', { method: 'QUERY' }, 405, 'method_not_allowed', undefined],
    ['/ops', { headers: { accept: 'text/csv' } }, 406, 'not_acceptable', 'Accept'],
    ['/templates', {}, 401, 'unauthorized', 'Authorization'],
    [
      '/templates',
      { key, body: 'name=x', type: 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
      'Content-Type',
    ],
    ['/templates', { key, body: '{"name":', type: 'application/json' }, 400, 'invalid_param', 'body'],
    ['/templates', { key, body: '', type: 'application/json', method: 'POST' }, 400, 'invalid_param', 'body'],
    ['/templates', { key, json: [] }, 400, 'invalid_param', 'body'],
    ['/templates', { key, json: { html: 'x', width: 1, height: 1 } }, 400, 'invalid_param', 'name'],
    ['/templates?page=x', { key }, 400, 'invalid_param', 'page'],
    ['/templates?cursor=zzz', { key }, 400, 'invalid_param', 'cursor'],
    ['/ops/none', {}, 404, 'not_found', 'op'],
  ];
  for (const [path, options, status, code, param] of calls) {
    const answer = await server.call(path, options);
    t.equal(answer.status, status, `${path} is ${status}`);
    t.equal(answer.json.success, false);
    t.notOk('data' in answer.json);
    t.equal(answer.json.error.code, code);
    t.equal(answer.json.error.param, param);
    t.equal(answer.json.error.retryable, ERROR_CODES[code as keyof typeof ERROR_CODES].retryable);
    t.equal(answer.json.error.requestId, answer.headers.get('x-request-id'));
    t.match(answer.json.error.message, /.{20,}/, 'the message is a sentence');
    t.equal(new Date(answer.json.timestamp).toISOString(), answer.json.timestamp);
    t.match(answer.headers.get('content-type'), /^application\/json/);
  }
});

t.test('405 names the methods of the path in Allow and details.allowed, before authentication', async (t) => {
  const answer = await server.call('/templates/abc', { method: 'POST' });
  t.equal(answer.status, 405);
  t.same(answer.json.error.details.allowed, ['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT']);
  t.equal(answer.headers.get('allow'), 'DELETE, GET, HEAD, PATCH, PUT');
});

t.test('a well-formed X-Request-Id is used as it is, another is replaced by a UUID', async (t) => {
  const kept = await server.call('/ops', { headers: { 'x-request-id': 'agent:42.a_b-c' } });
  t.equal(kept.headers.get('x-request-id'), 'agent:42.a_b-c');
  for (const bad of ['with space', 'a'.repeat(129), 'semi;colon']) {
    const made = await server.call('/nowhere', { headers: { 'x-request-id': bad } });
    t.match(made.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
    t.equal(made.json.error.requestId, made.headers.get('x-request-id'));
  }
});

t.test('a JSON body over 8 MB is 413 with the limit in bytes, announced or not', async (t) => {
  const { key } = await server.account();
  const body = JSON.stringify({ name: 'x'.repeat(8 * 1024 * 1024) });
  const announced = await server.call('/templates', { key, body, type: 'application/json' });
  t.equal(announced.status, 413);
  t.equal(announced.json.error.code, 'payload_too_large');
  t.equal(announced.json.error.details.limit, 8 * 1024 * 1024);
  const streamed = await chunked(server.url, key, body);
  t.equal(streamed, 413);
});

t.test('a body without a Content-Type is 415 and says which are read', async (t) => {
  const { key } = await server.account();
  const status = await new Promise<number>((resolve, reject) => {
    const headers = { authorization: `ApiKey ${key}`, 'content-length': '2' };
    const call = request(`${server.url}/api/v1/templates`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once('error', reject);
    call.end('{}');
  });
  t.equal(status, 415);
});

t.test('a key named __proto__ is refused', async (t) => {
  const { key } = await server.account();
  const answer = await server.call('/templates', {
    key,
    body: '{"__proto__":{"x":1}}',
    type: 'application/json',
  });
  t.equal(answer.status, 400);
  t.equal(answer.json.error.param, 'body');
});

t.test('a client that never finishes its headers, or its body, is cut off', async (t) => {
  const server = await startServer(t, { settings: { HEADERS_TIMEOUT_MS: '200', BODY_TIMEOUT_MS: '600' } });
  const { key } = await server.account();
  const lines = ['POST /api/v1/templates HTTP/1.1', 'host: x', `authorization: ApiKey ${key}`];
  const late = await untilClosed(server.url, `${lines[0]}\r\n${lines[1]}\r\n`);
  t.match(late, /^HTTP\/1\.1 400 .*"code":"invalid_param".*"param":"body"/s);
  const half = [...lines, 'content-type: application/json', 'content-length: 100', '', '{"na'].join('\r\n');
  t.match(await untilClosed(server.url, half), /^HTTP\/1\.1 400 .*"param":"body"/s);
});

t.test('headers that may take longer than a whole request end with its time', async (t) => {
  const settings = { HEADERS_TIMEOUT_MS: '600000', BODY_TIMEOUT_MS: '600' };
  const server = await startServer(t, { settings });
  const late = await untilClosed(server.url, 'POST /api/v1/templates HTTP/1.1\r\nhost: x\r\n');
  t.match(late, /^HTTP\/1\.1 400 .*"code":"invalid_param"/s);
});

t.test(
  '/openapi.json describes every route of the interface by its schema, and /docs shows it',
  async (t) => {
    const { json } = await server.call('//openapi.json');
    t.equal(json.openapi, '3.1.0');
    for (const path of [
      '/api/v1/ops',
      '/api/v1/images/transform',
      '/api/v1/templates/{templateId}',
      '/api/v1/api-keys/self',
    ]) {
      t.ok(json.paths[path], `${path} is described`);
    }
    const body = json.paths['/api/v1/templates'].post.requestBody.content['application/json'].schema;
    t.equal(body.$ref, '#/components/schemas/NewTemplate');
    t.ok(json.components.schemas.NewTemplate.properties.html);
    const { requestBody, responses } = json.paths['/api/v1/images/transform'].post;
    for (const type of ['image/jpeg', 'multipart/form-data', 'application/json'])
      t.ok(requestBody.content[type], type);
    for (const type of ['image/webp', 'application/json']) t.ok(responses['200'].content[type], type);
    for (const path of ['/healthz', '/readyz', '/metrics', '/results/{name}', '/api/v1/ops'])
      t.same(json.paths[path].get.security, [], `${path} asks for no credential`);
    const docs = await server.call('//docs');
    t.ok([200, 302].includes(docs.status));
  },
);

t.test('/llms.txt maps every route for a language model', async (t) => {
  const answer = await server.call('//llms.txt', { headers: { accept: 'text/plain' } });
  t.match(answer.headers.get('content-type'), /^text\/plain/);
  const text = answer.bytes.toString();
  t.match(text, /^# Darkroom\n\n> /);
  const { json } = await server.call('//openapi.json');
  type Described = Record<string, { summary: string; operationId: string; tags: string[] }>;
  for (const [path, methods] of Object.entries<Described>(json.paths)) {
    for (const [method, { summary, operationId, tags }] of Object.entries(methods)) {
      const shown = path.replace(/^\/api\/v1\//, '');
      const line = `[${method.toUpperCase()} ${shown}](/docs/${operationId}.md): ${summary}\n`;
      const isNamed = method !== 'patch' && !tags.includes('Operator');
      t.equal(text.includes(line), isNamed, `${method} ${path}: a PATCH is named by its PUT`);
    }
  }
});

t.test('Accept is read by its closest range', async (t) => {
  const { key } = await server.account();
  const known = await server.call('/account', { key, headers: { accept: 'text/html' } });
  t.equal(known.status, 406);
  t.ok(known.headers.get('ratelimit-remaining'), 'after it is known who calls');
  const rows: Array<[accept: string, status: number]> = [
    ['', 200],
    ['text/html, */*;q=0.1', 200],
    ['application/*', 200],
    ['application/json;q=0, */*', 406],
    ['*/*;q=0, application/json', 200],
    ['text/html', 406],
  ];
  for (const [accept, status] of rows) {
    t.equal((await server.call('/ops', { headers: { accept } })).status, status, accept);
  }
});

t.test('what answers text is there for a caller who asks for text', async (t) => {
  const server = await startServer(t);
  t.equal((await server.call('//metrics', { headers: { accept: 'text/plain' } })).status, 200);
  t.equal((await server.call('//docs/', { headers: { accept: 'text/html' } })).status, 200);
});

t.test(
  '/healthz answers, /readyz runs a transform, /metrics counts requests, refusals and threads',
  async (t) => {
    // Metrics are of the process: the server that started last has them.
    const server = await startServer(t);
    await server.call('/nowhere');
    t.equal((await server.call('//healthz')).status, 200);
    const ready = await server.call('//readyz');
    const parts = { documents: 'ok', coordination: 'ok', objects: 'ok', pixels: 'ok' };
    const isSandboxed = (await findSandboxObstacle()) === null;
    t.match(ready.json, { status: 'ok', parts });
    if (!isSandboxed) t.match(ready.json.remarks, [/has no sandbox/]);
    const text = (await server.call('//metrics')).bytes.toString();
    t.match(text, /darkroom_pool_threads\{pool="image"\} 1/);
    t.match(text, /darkroom_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/);
    t.match(text, /darkroom_refusals_total\{route="none",code="not_found",reason=""\} 1/);
  },
);

t.test('the log has a line per answer with its request id and refusal, and no credential', async (t) => {
  const { key } = await server.account();
  await server.call('/templates?page=x', { key, headers: { 'x-request-id': 'seen-in-log' } });
  const line = server
    .logged()
    .split('\n')
    .find((text) => text.includes('seen-in-log'));
  const entry = JSON.parse(line ?? '{}');
  t.match(entry, { status: 400, code: 'invalid_param', param: 'page', method: 'GET' });
  await server.call('/images/transform?op=resize&width=64&text=private+words', {
    key,
    method: 'POST',
    type: 'image/jpeg',
    body: new Uint8Array([1, 2, 3]),
  });
  const [image] = server
    .logged()
    .split('\n')
    .filter((text) => text.includes('/images/transform'))
    .map((text) => JSON.parse(text));
  t.match(image, { query: 'op=resize&width=64', requestBytes: 3 });
  t.notMatch(server.logged(), 'private');
  t.notMatch(server.logged(), key);
});

function chunked(url: string, key: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json' };
    const call = request(`${url}/api/v1/templates`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once('error', reject);
    call.write(body.slice(0, 1000));
    call.end(body.slice(1000));
  });
}

/** What the server sends before it closes a connection on which nothing more comes. */
function untilClosed(url: string, sent: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.once('close', () => resolve(received));
    socket.once('error', reject);
    socket.write(sent);
  });
}

t.test(
  'a field whose name has only dots and brackets is refused, and is no fault of the service',
  async (t) => {
    const { key } = await server.account();
    for (const json of [{ '.': { prototype: { x: 1 } }, op: 'flip' }, { '..': 1 }, { '[]': { op: 'flip' } }])
      t.equal((await server.call('/jobs?dryRun=true', { key, json })).status, 400);
    t.notMatch(server.logged(), /"level":50/);
  },
);
