// needs: server
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { serveMetrics } from '../../../src/platform/http/hooks/telemetry.ts';
import { startServer, type TestServer } from '../../support/harness.ts';

const TOKEN = 'a-token-of-the-operator';

t.test('the metrics can ask for a token', async (t) => {
  const server = await startServer(t, { settings: { METRICS_TOKEN: TOKEN } });
  const read = (authorization?: string) =>
    server.call('//metrics', { headers: authorization === undefined ? {} : { authorization } });
  t.match(await read(), { status: 401, json: { error: { code: 'unauthorized' } } });
  t.equal((await read('Bearer a-token-of-somebody')).status, 401);
  const answer = await read(`Bearer ${TOKEN}`);
  t.equal(answer.status, 200);
  t.match(answer.bytes.toString(), /# HELP darkroom_/);
});

t.test('the metrics can have a port of their own, and are nowhere else then', async (t) => {
  const server = await startServer(t, { settings: { METRICS_PORT: '1' } });
  t.equal((await server.call('//metrics')).status, 404);
  const own = await serveMetrics({ collect: async () => 'metrics 1', port: 0, token: TOKEN }, '127.0.0.1');
  t.teardown(() => own.close());
  const { port } = own.address() as { port: number };
  const read = (path: string, authorization: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } });
  t.equal(await (await read('/metrics', `Bearer ${TOKEN}`)).text(), 'metrics 1');
  t.equal((await read('/metrics', 'Bearer wrong')).status, 401);
  t.equal((await read('/api/v1/ops', `Bearer ${TOKEN}`)).status, 404);
});

t.test(
  'what is read without a credential counts in the window of its address, but for the probes',
  async (t) => {
    const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '3' } });
    for (const path of ['//openapi.json', '//llms.txt', '//metrics']) {
      t.equal((await server.call(path)).status, 200, path);
    }
    const refused = await server.call('//openapi.json');
    t.match(refused, {
      status: 429,
      json: { error: { code: 'rate_limited', details: { reason: 'request_rate' } } },
    });
    t.ok(Number(refused.headers.get('retry-after')) >= 1);
    t.equal((await server.call('/ops')).status, 429, 'the interface shares the window');
    t.equal((await server.call('//healthz')).status, 200);
  },
);

t.test('no answer is taken for another type, and no page is shown in a frame', async (t) => {
  const server = await startServer(t);
  const { key } = await server.account();
  for (const path of ['/account', '/ops', '//openapi.json', '/nowhere']) {
    t.equal((await server.call(path, { key })).headers.get('x-content-type-options'), 'nosniff', path);
  }
  t.equal((await server.call('/account', { key })).headers.get('cache-control'), 'no-store');
  const page = await fetch(`${server.url}/docs/`, { redirect: 'follow' });
  t.match(page.headers.get('content-security-policy'), /frame-ancestors 'none'/);
});

t.test('two Host headers are refused', async (t) => {
  const server = await startServer(t);
  const { hostname, port } = new URL(server.url);
  const send = async (head: string) => {
    const socket = connect(Number(port), hostname);
    socket.end(`GET /healthz HTTP/1.1\r\n${head}connection: close\r\n\r\n`);
    return text(socket);
  };
  t.match(await send('Host: a\r\nhost: b\r\n'), /^HTTP\/1\.1 400 (?:.|\s)*"param":"Host"/u);
  t.match(await send('Host: a\r\n'), /^HTTP\/1\.1 200 /);
});

t.test('a proxy that nobody trusts is told of once, in the log', async (t) => {
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  const warnings = (server: TestServer) => server.logged().split('TRUST_PROXY is not set').length - 1;
  const server = await startServer(t);
  await server.call('//healthz');
  t.equal(warnings(server), 0);
  for (let call = 0; call < 3; call += 1) await server.call('//healthz', { headers });
  t.equal(warnings(server), 1);
  const trusting = await startServer(t, { settings: { TRUST_PROXY: '127.0.0.1' } });
  await trusting.call('//healthz', { headers });
  t.equal(warnings(trusting), 0);
});
