// needs: nothing, alone
import { execFile } from 'node:child_process';
import { createServer as createTlsServer } from 'node:https';
import { setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import t from 'tap';
import { type OutboundOptions, OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { always, listen, serve, serveTcp } from './listener.ts';

const OPTIONS: OutboundOptions = { allowedSubnets: ['127.0.0.0/8', '::1/128'], allowsHttp: true };
const CALL = { limitBytes: 1_000, timeoutMs: 10_000 };
const outbound = new OutboundRequests(OPTIONS);
const fetchImage = (url: string, call: Partial<typeof CALL> = {}) =>
  outbound.fetchImage(url, { ...CALL, ...call });
const UNAVAILABLE = { code: 'provider_unavailable', status: 503, details: { reason: 'url_unavailable' } };

t.test('the bytes come with the served type and the extension of the path', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const { url } = await serve(t, (request, response) => {
    seen.push(request.headers);
    response.writeHead(200, { 'content-type': 'IMAGE/Png; charset=x' }).end('bytes');
  });
  const { bytes, contentType, extension } = await fetchImage(`${url}/a/photo.JPG?x=.gif#.webp`);
  t.same([Buffer.from(bytes).toString(), contentType, extension], ['bytes', 'image/png', 'jpg']);
  t.equal(bytes.buffer.byteLength, bytes.byteLength, 'the array owns its whole buffer');
  t.match(seen, [{ host: url.slice('http://'.length), 'accept-encoding': 'identity' }]);
  t.notOk(seen[0]?.cookie ?? seen[0]?.authorization ?? seen[0]?.referer);
});

t.test('no type and no extension are told as null', async (t) => {
  const { url } = await serve(t, (_request, response) => response.end('x'));
  t.match(await fetchImage(`${url}/photo`), { contentType: null, extension: null });
});

t.test('an IPv6 address is reached, and a name by the first of its addresses that answers', async (t) => {
  const v6 = await serve(t, (_request, response) => response.end('six'), '::1');
  t.match(Buffer.from((await fetchImage(`http://[::1]:${v6.port}/`)).bytes).toString(), 'six');
  const both = new OutboundRequests({ ...OPTIONS, resolve: always('127.0.0.1', '::1') });
  t.match(Buffer.from((await both.fetchImage(`http://two.test:${v6.port}/`, CALL)).bytes).toString(), 'six');
});

t.test('a redirect is refused with its target and not followed', async (t) => {
  const target = await serveTcp(t, (socket) => socket.end());
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    const location = `http://127.0.0.1:${target.port}/x`;
    const { url } = await serve(t, (_request, response) => response.writeHead(status, { location }).end());
    const refused = { code: 'invalid_param', status: 400, param: 'url', details: { status, location } };
    await t.rejects(fetchImage(url), refused, String(status));
  }
  t.equal(target.seen.connections, 0);
  const { url } = await serve(t, (_request, response) => response.writeHead(302, { location: '../b' }).end());
  await t.rejects(
    fetchImage(`${url}/a/c`),
    { code: 'invalid_param', details: { location: `${url}/b` } },
    'a relative one is resolved',
  );
});

t.test('a body in too many small chunks is not read', async (t) => {
  const chunked = (chunk: string, chunks: number) =>
    serveTcp(t, (socket) => {
      const body = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(chunks);
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}0\r\n\r\n`);
    });
  const limitBytes = 10_000_000;
  const small = await chunked('x', 100_000);
  await t.rejects(fetchImage(small.url, { limitBytes }), {
    ...UNAVAILABLE,
    message: /too many small chunks/,
  });
  const lines = await chunked('x'.repeat(200), 20_000);
  t.equal((await fetchImage(lines.url, { limitBytes })).bytes.length, 4_000_000);
});

t.test("an HTTP error is the caller's to fix, unless it may pass", async (t) => {
  const { url } = await serve(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { 'retry-after': '7' }).end('body');
  });
  for (const status of [400, 401, 402, 403, 404, 405, 406, 409, 410, 418, 422, 425, 431, 451, 499]) {
    const refused = { code: 'invalid_param', status: 400, param: 'url', details: { status } };
    await t.rejects(fetchImage(`${url}/${status}`), refused, String(status));
  }
  for (const status of [408, 429, 500, 501, 502, 503, 504, 507, 520, 599]) {
    await t.rejects(fetchImage(`${url}/${status}`), { ...UNAVAILABLE, retryAfterSeconds: 7 }, String(status));
  }
  t.match(await fetchImage(`${url}/203`), { contentType: null });
  await t.rejects(fetchImage(`${url}/204`), { code: 'invalid_param', param: 'url' }, 'nothing in it');
});

t.test('each refusal names the field that gave the address', async (t) => {
  const { url } = await serve(t, (request, response) => {
    const path = request.url ?? '';
    if (path === '/coded') response.setHeader('content-encoding', 'lzw');
    response.writeHead(Number(path.slice(1)) || 200, { location: '/x' });
    response.end(path === '/empty' ? '' : Buffer.alloc(2_000));
  });
  const param = 'layerUrl';
  const [strict, silent] = [new OutboundRequests({ ...OPTIONS, allowedSubnets: [] }), 'http://127.0.0.1:9/'];
  for (const path of ['302', '404', 'empty', 'coded'])
    await t.rejects(
      outbound.fetchImage(`${url}/${path}`, { ...CALL, param }),
      { code: 'invalid_param', param },
      path,
    );
  for (const address of [`${url}/503`, silent])
    await t.rejects(outbound.fetchImage(address, { ...CALL, param }), {
      code: 'provider_unavailable',
      param,
    });
  await t.rejects(strict.fetchImage(url, { ...CALL, param }), { code: 'invalid_param', param });
  const large = { code: 'payload_too_large', status: 413 };
  await t.rejects(outbound.fetchImage(`${url}/200`, { ...CALL, param }), { ...large, param });
  await t.rejects(fetchImage(`${url}/200`), { ...large, param: 'file' });
});

t.test('the wish of the host to be left alone is kept within bounds', async (t) => {
  const { url } = await serve(t, (request, response) => {
    response.writeHead(503, { 'retry-after': decodeURIComponent(request.url?.slice(1) ?? '') }).end();
  });
  const past = new Date(0).toUTCString();
  const far = new Date(Date.now() + 3_600_000).toUTCString();
  const wishes = [
    ['0', 1],
    ['1', 1],
    ['60', 60],
    ['61', 60],
    ['99999999', 60],
    [past, 1],
    [far, 60],
    ['soon', 2],
    ['', 2],
  ] as const;
  for (const [wish, retryAfterSeconds] of wishes) {
    await t.rejects(
      fetchImage(`${url}/${encodeURIComponent(wish)}`),
      { ...UNAVAILABLE, retryAfterSeconds },
      wish,
    );
  }
});

t.test('the size limit is exact, announced or not', async (t) => {
  const { url } = await serve(t, (request, response) => {
    const [, how, size] = request.url?.split('/') ?? [];
    const body = Buffer.alloc(Number(size), 1);
    if (how === 'announced') response.writeHead(200, { 'content-length': body.byteLength });
    response.write(body.subarray(0, 10));
    response.end(body.subarray(10));
  });
  for (const how of ['announced', 'chunked']) {
    t.equal((await fetchImage(`${url}/${how}/1000`)).bytes.byteLength, 1_000);
    const tooLarge = { code: 'payload_too_large', status: 413, param: 'file', details: { limit: 1_000 } };
    await t.rejects(fetchImage(`${url}/${how}/1001`), tooLarge, how);
  }
});

t.test('a body that never ends is cut at the limit', async (t) => {
  const { url } = await serve(t, (_request, response) => {
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384)));
    };
    response.on('drain', pour);
    pour();
  });
  await t.rejects(fetchImage(url, { limitBytes: 100_000 }), { code: 'payload_too_large' });
});

t.test('an empty body is refused', async (t) => {
  const { url } = await serve(t, (_request, response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end(),
  );
  await t.rejects(fetchImage(url), { code: 'invalid_param', status: 400, param: 'url' });
});

t.test('a host that fails may be asked again later', async (t) => {
  const closed = await serveTcp(t, (socket) => socket.destroy());
  const garbage = await serveTcp(t, (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
  const cutInHeaders = await serveTcp(t, (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'));
  const cutInBody = await serveTcp(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345'),
  );
  const cutInChunk = await serveTcp(t, (socket) => {
    socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n');
  });
  const longHeaders = await serveTcp(t, (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
  );
  for (const { url } of [closed, garbage, cutInHeaders, cutInBody, cutInChunk, longHeaders]) {
    await t.rejects(fetchImage(url), { ...UNAVAILABLE, retryAfterSeconds: 2 });
  }
  t.equal(closed.seen.connections, 1, 'it is asked once');
  await t.rejects(fetchImage('http://127.0.0.1:1/'), UNAVAILABLE, 'a refused connection');
});

t.test('a host that is too slow, wherever it hangs, may be asked again later', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const inHeaders = await serveTcp(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nx: '));
  const inBody = await serveTcp(t, (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1'));
  const dripping = await serveTcp(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n');
    const drip = setInterval(() => socket.write('.'), 5);
    socket.on('close', () => clearInterval(drip));
  });
  for (const { url } of [silent, inHeaders, inBody, dripping]) {
    await t.rejects(fetchImage(url, { timeoutMs: 150 }), { ...UNAVAILABLE, retryAfterSeconds: 2 });
  }
  const impatient = new OutboundRequests({
    ...OPTIONS,
    connectTimeoutMs: 100,
    resolve: () => new Promise(() => undefined),
  });
  const noHandshake = `https://127.0.0.1:${silent.port}/`;
  await t.rejects(impatient.fetchImage(noHandshake, CALL), {
    ...UNAVAILABLE,
    message: /too long to connect/,
  });
  await t.rejects(impatient.fetchImage('http://slow.test/', CALL), { ...UNAVAILABLE, message: /to resolve/ });
});

t.test('the caller may leave at any time, with a reason of its own', async (t) => {
  const gone = new Error('the client has gone');
  const leaving = new AbortController();
  const { url } = await serveTcp(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1');
    setImmediate(() => leaving.abort(gone));
  });
  await t.rejects(outbound.fetchImage(url, { ...CALL, signal: leaving.signal }), gone);
  await t.rejects(outbound.fetchImage(url, { ...CALL, signal: AbortSignal.abort(gone) }), gone);
});

t.test('over TLS the name is asked for, and the certificate must be good for it', async (t) => {
  const names: (string | undefined)[] = [];
  const server = createTlsServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (request, response) => {
    names.push(request.headers.host);
    response.end('secret');
  });
  const { port } = await listen(t, server);
  const named = new OutboundRequests({ ...OPTIONS, resolve: always('127.0.0.1') });
  const untrusted = { code: 'invalid_param', param: 'url', message: /certificate/ };
  await t.rejects(
    named.fetchImage(`https://pictures.test:${port}/`, CALL),
    untrusted,
    'nobody vouches for it',
  );
  setDefaultCACertificates([CERTIFICATE]);
  const { bytes } = await named.fetchImage(`https://pictures.test:${port}/`, CALL);
  t.equal(Buffer.from(bytes).toString(), 'secret');
  await t.rejects(named.fetchImage(`https://other.test:${port}/`, CALL), untrusted, 'it is for another name');
  t.same(names, [`pictures.test:${port}`]);
});

t.test('a proxy of the environment is not asked', async (t) => {
  const { url } = await serve(t, (_request, response) => response.end('direct'));
  const proxy = await serveTcp(t, (socket) => socket.end());
  const script = `
    import { OutboundRequests } from ${JSON.stringify(import.meta.resolve('../../../src/platform/outbound/outbound.ts'))};
    const outbound = new OutboundRequests(${JSON.stringify(OPTIONS)});
    const { bytes } = await outbound.fetchImage('${url}', ${JSON.stringify(CALL)});
    process.stdout.write(bytes);`;
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, NODE_USE_ENV_PROXY: '1' };
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy'])
    env[name] = env[name.toUpperCase()] = proxy.url;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env,
  });
  t.equal(stdout, 'direct');
  t.equal(proxy.seen.connections, 0);
});
