// needs: server
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { startServer, type TestServer } from '../../support/harness.ts';
import { until } from '../../support/whole-service.ts';

const server = await startServer(t);

/** Sends a body on and on, though the answer may be there already, as many clients do. */
async function postWhole(
  { url }: TestServer,
  path: string,
  options: { headers: Record<string, string>; bytes: number; pieces?: number },
) {
  const { bytes, pieces = 64, headers } = options;
  const call = request(`${url}/api/v1${path}`, { method: 'POST', agent: false, headers });
  const answered = once(call, 'response') as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  const piece = Buffer.alloc(Math.ceil(bytes / pieces), ' ');
  for (let sent = 0; sent < pieces; sent += 1) {
    if (call.write(piece)) continue;
    const waiting = new AbortController();
    await Promise.race([once(call, 'drain', waiting), answered]);
    waiting.abort();
  }
  call.end();
  const [answer] = await answered;
  const chunks = await Array.fromAsync(answer);
  return { status: answer.statusCode, json: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** The head and the body of what a connection answers to bytes. */
async function exchange({ url }: TestServer, sent: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(sent);
  const [head = '', body = ''] = Buffer.concat(await Array.fromAsync(socket))
    .toString()
    .split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, json: JSON.parse(body) };
}

t.test('who sends a refused body whole still gets the answer', async (t) => {
  const { key } = await server.account();
  const authorization = `ApiKey ${key}`;
  const json = { authorization, 'content-type': 'application/json' };
  const text = { authorization, 'content-type': 'text/plain' };
  const gif = { authorization, 'content-type': 'image/gif' };
  const rows = [
    { path: '/feedback', headers: json, bytes: 9_000_000, status: 413, limit: 8_388_608 },
    { path: '/auth/sign-in', headers: json, bytes: 30_000_000, status: 413, limit: 8_388_608 },
    { path: '/feedback', headers: text, bytes: 3_000_000, status: 415 },
    { path: '/images/transform?op=flip', headers: gif, bytes: 70_000_000, status: 413, limit: 26_214_400 },
    { path: '/templates', headers: { ...json, authorization: 'ApiKey x' }, bytes: 70_000_000, status: 401 },
  ];
  for (const { path, headers, bytes, status, limit } of rows) {
    for (const known of [{ 'content-length': String(Math.ceil(bytes / 64) * 64) }, {}]) {
      const answer = await postWhole(server, path, { headers: { ...headers, ...known }, bytes });
      t.equal(answer.status, status, `${path} ${status}`);
      t.equal(answer.json.error.details?.limit, limit);
    }
  }
});

t.test('what is no request is refused in the envelope, with a request id', async (t) => {
  const server = await startServer(t, { settings: { HEADERS_TIMEOUT_MS: '200', BODY_TIMEOUT_MS: '600' } });
  const { key } = await server.account();
  const head = `POST /api/v1/templates HTTP/1.1\r\nhost: x\r\nauthorization: ApiKey ${key}\r\n`;
  const rows: Array<[sent: string, status: number, code: string, param: string]> = [
    [
      `GET /healthz HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`,
      413,
      'payload_too_large',
      'headers',
    ],
    ['FOO /healthz HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'invalid_param', 'request'],
    ['GET /healthz HTTP/1.1\r\nhost x\r\n\r\n', 400, 'invalid_param', 'request'],
    [
      `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
      400,
      'invalid_param',
      'request',
    ],
    ['GET /api/v1/account HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'invalid_param', 'Host'],
    [
      'GET /healthz HTTP/1.1\r\nhost: x\r\nhost: y\r\nconnection: close\r\n\r\n',
      400,
      'invalid_param',
      'Host',
    ],
    ['GET /api/v1/account HTTP/1.0\r\n\r\n', 401, 'unauthorized', 'Authorization'],
    ['GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: cake\r\n\r\n', 400, 'invalid_param', 'Expect'],
    ['CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n', 405, 'method_not_allowed', 'request'],
    ['GET /healthz HTTP/1.1\r\nho', 400, 'invalid_param', 'body'],
    [`${head}content-type: application/json\r\ncontent-length: 9\r\n\r\n{"na`, 400, 'invalid_param', 'body'],
  ];
  for (const [sent, status, code, param] of rows) {
    const answer = await exchange(server, sent);
    const { error } = answer.json;
    t.same([answer.status, error.code, error.param], [status, code, param], sent.slice(0, 60));
    t.match(answer.head.toLowerCase(), new RegExp(`x-request-id: ${error.requestId}`));
    t.match(answer.head.toLowerCase(), 'cache-control: no-store');
  }
});

t.test(
  'what the router refuses on its own carries the request id, and a long id is one that is unknown',
  async (t) => {
    const { key } = await server.account();
    const malformed = await server.call('/assets/%zz', { key });
    t.equal(malformed.status, 400);
    t.equal(malformed.headers.get('x-request-id'), malformed.json.error.requestId);
    const long = await server.call(`/assets/${'a'.repeat(4_000)}`, { key });
    t.same([long.status, long.json.error.code], [404, 'asset_not_found']);
  },
);

t.test('text that is no Unicode, or not as it is said to be, is refused', async (t) => {
  const { key } = await server.account();
  const report = (message: string) => JSON.stringify({ kind: 'bug', message });
  const json = 'application/json';
  const deep = `{"kind":"bug","message":"m","context":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const rows: Array<[body: Buffer | string, type: string, encoding: string, status: number, param?: string]> =
    [
      [Buffer.from(report('é'), 'latin1'), json, 'identity', 400, 'body'],
      [report('é'), `${json}; charset=utf-8`, 'identity', 201],
      [report('é'), `${json}; charset=iso-8859-1`, 'identity', 415, 'Content-Type'],
      ['{"kind":"bug","message":"\\ud800"}', json, 'identity', 400, 'body'],
      ['{"kind":"bug","message":"\\ud83d\\ude00"}', json, 'identity', 201],
      [deep, json, 'identity', 400, 'body'],
      [gzipSync(report('m')), json, 'gzip', 415, 'Content-Encoding'],
    ];
  for (const [body, type, encoding, status, param] of rows) {
    const sent = typeof body === 'string' ? body : new Uint8Array(body);
    const answer = await server.call('/feedback', {
      key,
      body: sent,
      type,
      headers: { 'content-encoding': encoding },
    });
    t.same([answer.status, answer.json.error?.param], [status, param], `${type} ${encoding}`);
  }
});

/** Bytes; the kernel keeps up to 6 MB of a connection that nobody reads. */
const FAR_MORE_THAN_A_SOCKET_HOLDS = 20_000_000;

t.test('a client that reads nothing of its answer is let go', async (t) => {
  // The upload takes its time on a busy machine: another process of the same host receives it.
  const patient = await startServer(t);
  const server = await startServer(t, { stores: patient.stores, settings: { STALL_TIMEOUT_MS: '1000' } });
  const { key } = await patient.account();
  const gif = Buffer.concat([Buffer.from('R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64')]);
  const padded = new Uint8Array(Buffer.concat([gif, Buffer.alloc(FAR_MORE_THAN_A_SOCKET_HOLDS)]));
  const { json } = await patient.call('/assets/upload', { key, body: padded, type: 'image/gif' });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').pause();
  const lines = [
    `GET /api/v1/assets/${json.data.id}/content HTTP/1.1`,
    'host: x',
    `authorization: ApiKey ${key}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await once(socket, 'connect');
  await until(async () => !(await isEstablished(server, socket)));
  socket.on('error', () => undefined);
  const chunks = await Array.fromAsync(socket).catch(() => []);
  t.ok(Buffer.concat(chunks).length < padded.length, 'the answer was cut off');
});

/** Whether the server's end of a connection is open, as the kernel tells. */
async function isEstablished({ url }: TestServer, { localPort = 0 }: Socket): Promise<boolean> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const ends = new RegExp(`:${hex(Number(new URL(url).port))} \\S+:${hex(localPort)} 01 `);
  return ends.test(await readFile('/proc/net/tcp', 'utf8'));
}

t.test('an answer does not grow with what it refuses', async (t) => {
  const { key } = await server.account();
  const long = 'x'.repeat(4_000_000);
  const preset = (step: object) => ({ name: 'n', steps: [step] });
  const rows: Array<[path: string, json: unknown]> = [
    ['/presets', preset({ op: long })],
    ['/presets', preset({ op: 'flip', parameters: { [long]: 1 } })],
    ['/presets', preset({ op: 'resize', parameters: { width: long } })],
    ['/presets', preset({ op: 'resize', parameters: { width: Array(100_000).fill(1) } })],
    ['/images/transform', { assetId: 'x', op: 'flip', parameters: { [long]: 1 } }],
    ['/images/transform', { assetId: 'x', op: long }],
    ['/images/transform', { assetId: 'x', op: 'flip', [long]: 1 }],
    ['/images/transform', { assetId: 'x', op: 'text', parameters: { text: long } }],
  ];
  for (const [path, json] of rows) {
    const answer = await server.call(path, { key, json });
    t.equal(answer.status, 400);
    t.ok(answer.bytes.length < 12_000, `${path} ${answer.bytes.length} bytes`);
    t.match(answer.json.error.message, /[^…]$/, 'it ends as it was written');
  }
});

t.test('JSON is read to 200 levels, brackets in strings left aside', async (t) => {
  const { key } = await server.account();
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const report = (context: string) =>
    `{"kind":"bug","message":"${'[{\\"'.repeat(300)}","context":{"a":${context}}}`;
  const send = (body: string) => server.call('/feedback', { key, body, type: 'application/json' });
  t.equal((await send(report(nested(198)))).status, 201);
  const refused = await send(report(nested(199)));
  t.match([refused.status, refused.json.error], [400, { param: 'body', details: { limit: 200 } }]);
});
