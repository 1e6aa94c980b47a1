// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import { always, serve, serveTcp } from './listener.ts';

const outbound = new OutboundRequests({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true });
const CALL = {
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":"ü"}'),
  answerTimeoutMs: 10_000,
};

t.test('the body arrives as it was given, and the status is answered, whichever it is', async (t) => {
  const seen: unknown[] = [];
  const { url } = await serve(t, async (request, response) => {
    const chunks = await request.toArray();
    const { host, 'content-length': length, 'content-type': type } = request.headers;
    seen.push([request.method, request.url, host, length, type, Buffer.concat(chunks).toString()]);
    response.writeHead(Number(request.url?.slice(1)), { location: 'http://127.0.0.1:1/' }).end('ignored');
  });
  for (const status of [200, 202, 204, 301, 302, 307, 400, 404, 410, 429, 500, 503]) {
    t.equal(await outbound.postWebhook(`${url}/${status}`, CALL), status);
  }
  t.equal(seen.length, 12, 'each was asked once');
  t.same(seen[0], ['POST', '/200', url.slice('http://'.length), '10', 'application/json', '{"a":"ü"}']);
});

t.test('the body of the answer is not waited for', async (t) => {
  const { url } = await serveTcp(t, (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'));
  t.equal(await outbound.postWebhook(url, CALL), 200);
});

t.test('a status that came is told even when the headers never end', async (t) => {
  const hanging = await serveTcp(t, (socket) => {
    socket.write('HTTP/1.');
    setImmediate(() => socket.write('1 202 Accepted\r\nx-a: b\r\nx-'));
  });
  const late = { fault: 'timeout', status: 202, message: 'timeout: it took too long to answer' };
  await t.rejects(outbound.postWebhook(hanging.url, { ...CALL, answerTimeoutMs: 200 }), late);
  const cut = await serveTcp(t, (socket) => socket.end('HTTP/1.1 500 Oops\r\nx-a'));
  await t.rejects(outbound.postWebhook(cut.url, CALL), {
    name: 'OutboundError',
    fault: 'connection',
    status: 500,
  });
});

t.test('what went wrong is told in a few words', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const unresolvable = new OutboundRequests({ allowedSubnets: [], allowsHttp: false, resolve: always() });
  const slow = outbound.postWebhook(silent.url, { ...CALL, answerTimeoutMs: 100 });
  await t.rejects(slow, { name: 'OutboundError', fault: 'timeout', status: undefined });
  const refused = outbound.postWebhook('http://127.0.0.1:1/', CALL);
  await t.rejects(refused, { message: 'connection failed: ECONNREFUSED' });
  const hidden = outbound.postWebhook('http://10.0.0.1/', CALL);
  await t.rejects(hidden, { message: 'target refused: 10.0.0.1 is not a public address' });
  const foreign = outbound.postWebhook('ftp://a.test/', CALL);
  await t.rejects(foreign, { message: 'target refused: its scheme is not http or https' });
  const unknown = unresolvable.postWebhook('https://a.test/', CALL);
  await t.rejects(unknown, { message: 'DNS: a.test does not resolve' });
});

t.test('an address that is suggested instead of a refused one is taken', async (t) => {
  const names: Record<string, string> = { 'hooks.test': '93.184.215.14', 'wiki.test': '10.1.2.3' };
  const resolve = async (name: string) =>
    name in names ? [{ address: names[name] ?? '', family: 4 as const }] : [];
  const suggestions = async (url: string, allowedSubnets: string[] = []) => {
    const strict = new OutboundRequests({ allowedSubnets, allowsHttp: false, resolve });
    const refusal = await strict.checkWebhook(url).catch((error: ApiError) => error);
    if (!(refusal instanceof ApiError)) throw new Error(`${url} is taken`);
    const { suggest = [] } = refusal.details ?? {};
    for (const address of suggest as string[]) await t.resolves(strict.checkWebhook(address), address);
    return suggest;
  };
  for (const [url, suggested] of [
    ['http://hooks.test/a?b=c', 'https://hooks.test/a?b=c'],
    ['http://hooks.test:9911/a', 'https://hooks.test/a'],
    ['https://hooks.test:8443/a', 'https://hooks.test/a'],
    ['hooks.test/a', 'https://hooks.test/a'],
    ['http://93.184.215.14:9911/a', 'https://93.184.215.14/a'],
  ] as const)
    t.same(await suggestions(url), [suggested], url);
  for (const url of [
    'http://127.0.0.1:9911/hook',
    'https://127.0.0.1:9911/hook',
    '127.0.0.1/hook',
    'http://0x7f.1/hook',
    'http://[::ffff:10.0.0.1]/hook',
    'http://wiki.test/hook',
    'https://wiki.test:8443/hook',
    'http://nowhere.test/hook',
    'http://user:word@hooks.test/hook',
    'ftp://hooks.test/hook',
    'http://localhost:9911/hook',
  ])
    t.same(await suggestions(url), [], url);
  t.same(await suggestions('http://127.0.0.1:9911/hook', ['127.0.0.0/8']), ['https://127.0.0.1/hook']);
});
