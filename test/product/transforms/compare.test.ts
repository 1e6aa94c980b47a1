// needs: server
import sharp from 'sharp';
import t from 'tap';
import { pairNamed } from '../../imaging/images/references/pairs.ts';
import { sharedServer } from '../../support/harness.ts';
import { pngOf, refusalOf } from './calls.ts';

const server = await sharedServer();
const { key } = await server.account();

const grey = sharp({ create: { width: 200, height: 100, channels: 3, background: '#808080' } });
const plain = await pngOf(grey.clone());
/** The grey picture with white bars. */
const barred = (...bars: [left: number, top: number, width: number, height: number][]) =>
  pngOf(
    grey.clone().composite(
      bars.map(([left, top, width, height]) => ({
        input: { create: { width, height, channels: 3 as const, background: 'white' } },
        left,
        top,
      })),
    ),
  );

function compare(
  files: Record<string, Uint8Array<ArrayBuffer>>,
  fields: Record<string, string> = {},
  query = '',
) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  for (const [name, bytes] of Object.entries(files))
    body.append(name, new Blob([bytes], { type: 'image/png' }), `${name}.png`);
  return server.call(`/images/compare${query}`, { method: 'POST', key, body });
}

t.test('two files are compared, in either order, and counted as one run', async (t) => {
  const used = async () => (await server.call('/account', { key })).json.data.processing.used;
  const before = await used();
  const changed = await barred([20, 10, 10, 10]);
  for (const files of [
    { file: plain, other: changed },
    { other: changed, file: plain },
  ]) {
    const { status, json, headers } = await compare(files);
    t.equal(status, 200, JSON.stringify(json));
    t.match(json.data, { maxDifference: 127, changedShare: 0.005 });
    t.same(json.data.regions, [{ x: 20, y: 10, width: 10, height: 10 }]);
    t.match(headers.get('x-service-duration-ms'), /^\d+$/);
  }
  const same = await compare({ file: plain, other: plain });
  t.same(same.json.data, { ssim: 1, changedShare: 0, maxDifference: 0, hashDistance: 0, regions: [] });
  t.equal(await used(), before + 3);
});

t.test('a score of SSIMULACRA 2 is that of the reference, and only for who asks for it', async (t) => {
  const { model, copy } = pairNamed('waves in steps of 8');
  const fileOf = ({ data, width, height }: typeof model) =>
    pngOf(sharp(data, { raw: { width, height, channels: 3 } }));
  const files = { file: await fileOf(model), other: await fileOf(copy) };
  const { json } = await compare(files, {}, '?ssimulacra2=true');
  t.ok(Math.abs(json.data.ssimulacra2 - 88.245) < 0.15, `${json.data.ssimulacra2}`);
  const plainly = await compare(files);
  t.notOk('ssimulacra2' in plainly.json.data);
  t.match(json.data, plainly.json.data, 'the rest is the same');
  const same = await compare({ file: plain, other: plain }, {}, '?ssimulacra2=true');
  t.equal(same.json.data.ssimulacra2, 100);

  const narrow = await pngOf(sharp({ create: { width: 7, height: 40, channels: 3, background: 'red' } }));
  const refused = await compare({ file: narrow, other: narrow }, {}, '?ssimulacra2=true');
  const refusal = { status: 400, code: 'invalid_param', param: 'ssimulacra2', details: { limit: 8 } };
  t.match(refusalOf(refused), refusal);
});

t.test('regions that overlap are one', async (t) => {
  // An L along two edges, and a spot within the box around it.
  const changed = await barred([0, 0, 160, 4], [0, 0, 4, 96], [100, 60, 10, 10]);
  const { json } = await compare({ file: plain, other: changed });
  t.same(json.data.regions, [{ x: 0, y: 0, width: 160, height: 96 }]);
});

t.test('two assets are compared, and an asset of somebody else is none', async (t) => {
  const upload = async (body: Uint8Array<ArrayBuffer>, as = key) =>
    (await server.call('/assets/upload', { key: as, body, type: 'image/png' })).json.data.id;
  const [assetId, otherAssetId] = [await upload(plain), await upload(await barred([0, 0, 5, 5]))];
  const call = (json: unknown) => server.call('/images/compare', { key, json });
  t.match((await call({ assetId, otherAssetId })).json.data.regions, [{ width: 5, height: 5 }]);
  const stranger = await server.account();
  const foreign = await upload(plain, stranger.key);
  const refusals: [body: unknown, refusal: object][] = [
    [
      { assetId, otherAssetId: foreign },
      { status: 404, code: 'asset_not_found', param: 'otherAssetId' },
    ],
    [
      { assetId: foreign, otherAssetId },
      { status: 404, code: 'asset_not_found' },
    ],
    [{ assetId }, { status: 400, param: 'otherUrl', details: { missing: ['otherUrl', 'otherAssetId'] } }],
    [{ otherAssetId }, { status: 400, param: 'url' }],
    [
      { assetId, otherAssetId, otherUrl: 'https://a.example/b.png' },
      { status: 400, param: 'otherUrl' },
    ],
    [
      { assetId, otherUrl: 'ftp://a.example/b.png' },
      { status: 400, param: 'otherUrl' },
    ],
    [
      { assetId, otherUrl: 'http://127.0.0.1/b.png' },
      { status: 400, param: 'otherUrl' },
    ],
    [
      { assetId, otherAssetId, width: 5 },
      { status: 400, param: 'width' },
    ],
    [[], { status: 400, param: 'body' }],
  ];
  for (const [body, refusal] of refusals) t.match(refusalOf(await call(body)), refusal, JSON.stringify(body));
});

t.test('what cannot be compared is refused by its name', async (t) => {
  const small = await pngOf(grey.clone().resize(50, 50, { fit: 'fill' }));
  const sizes = await compare({ file: plain, other: small });
  t.match(refusalOf(sizes), { status: 400, code: 'invalid_param', param: 'other' });
  t.match(sizes.json.error.message, /200 x 100 px and the other one 50 x 50 px/);
  t.match(refusalOf(await compare({ file: plain })), { status: 400, param: 'other' });
  t.match(refusalOf(await compare({ other: plain })), { status: 400, param: 'file' });
  t.match(refusalOf(await compare({ file: plain, other: plain }, { width: '5' })), { param: 'width' });
  const text = new TextEncoder().encode('no picture');
  t.match(refusalOf(await compare({ file: plain, other: text })), {
    status: 400,
    code: 'unsupported_format',
    param: 'other',
  });
  const large = new Uint8Array(25 * 1024 * 1024 + 1);
  t.match(refusalOf(await compare({ file: plain, other: large })), { status: 413, param: 'other' });
  const raw = { method: 'POST', key, body: plain, type: 'image/png' };
  t.match(refusalOf(await server.call('/images/compare', raw)), { status: 400, param: 'other' });
  const form = { method: 'POST', key, body: 'a=b', type: 'application/x-www-form-urlencoded' };
  t.match(refusalOf(await server.call('/images/compare', form)), { status: 415 });
  t.equal((await server.call('/images/compare', { json: {} })).status, 401);
});
