// needs: server
import { once } from 'node:events';
import { connect } from 'node:net';
import sharp from 'sharp';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { openCalls, pngOf, refusalOf } from './calls.ts';

const png = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));
const calls = await openCalls(t);
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

t.test('what the query alone gets wrong is refused before a body is read', async (t) => {
  const { port } = new URL(calls.server.url);
  const socket = connect(Number(port), '127.0.0.1');
  const head = [
    'POST /api/v1/images/transform?op=resize&width=0 HTTP/1.1',
    'host: x',
    `authorization: ApiKey ${calls.key}`,
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
    calls.server.call(`/images/transform${query}`, { key: calls.key, body: png, type: 'image/png' });
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
  t.match((await send('?op=render_template')).json.error.message, /\/images\/render/);
  t.match((await send('?op=read_metadata')).json.error.message, /\/images\/metadata/);
});

t.test('a call for a job is answered with the job, which has the asset of the call', async (t) => {
  const { server, key } = calls;
  const upload = await server.call('/assets/upload', { key, body: png, type: 'image/png' });
  const assetId: string = upload.json.data.id;
  const link: string = (await server.call(`/assets/${assetId}/link`, { key })).json.data.url;
  const cutout = { op: 'remove_background' };
  const preset = { name: 'Cut out', slug: 'cut-out', steps: [cutout] };
  t.equal((await server.call('/presets', { key, json: preset })).status, 201);
  const works: [query: string, json: object, job: object][] = [
    ['', cutout, cutout],
    ['?op=remove_background', {}, cutout],
    ['', { steps: [cutout] }, { steps: [cutout] }],
    [
      '',
      {
        outputs: [
          { name: 'a', ...cutout },
          { name: 'b', op: 'flip' },
        ],
      },
      cutout,
    ],
    ['?preset=cut-out', {}, { presetId: 'cut-out' }],
  ];
  for (const [query, work, job] of works) {
    for (const image of [{ assetId }, { url: link }]) {
      const { json } = await server.call(`/images/transform${query}`, { key, json: { ...image, ...work } });
      t.same(json.error.details.instead, [{ job: { ...job, assetIds: [assetId] } }], JSON.stringify(work));
    }
    const dryRun = await server.call('/jobs?dryRun=true', { key, json: { ...job, assetIds: [assetId] } });
    t.equal(dryRun.status, 200, 'the job passes');
  }
  const bytes = await server.call('/images/transform?op=remove_background', {
    key,
    body: png,
    type: 'image/png',
  });
  t.same(bytes.json.error.details.instead, [{ job: cutout }]);
  const generated = await server.call('/images/transform', { key, json: { assetId, op: 'generate' } });
  t.same(generated.json.error.details.instead, [{ job: { op: 'generate' } }], 'which takes no asset');
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
    t.match(headers.get('server-timing'), /process;dur=.*total;dur=[1-9]/);
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
