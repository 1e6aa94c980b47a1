// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { pngOf, refusalOf } from '../transforms/calls.ts';

const server = await sharedServer();
const { key } = await server.account();

/** A scene that the seed decides: nine soft spots of light and dark on grey. */
function scene(seed: number, width = 640, height = 480) {
  const spots = Array.from({ length: 9 }, (_, at) => {
    const part = (factor: number) => (((seed * 97 + at * 61) * factor) % 101) / 101;
    return { x: part(7), y: part(13), size: 0.05 + 0.2 * part(29), light: 200 * (part(37) - 0.5) };
  });
  const data = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [x, y] = [(pixel % width) / width, Math.floor(pixel / width) / height];
    const light = spots.reduce(
      (sum, spot) => sum + spot.light * Math.exp(-((x - spot.x) ** 2 + (y - spot.y) ** 2) / spot.size ** 2),
      128,
    );
    data.fill(Math.min(255, Math.max(0, light)), 3 * pixel, 3 * pixel + 3);
  }
  return sharp(data, { raw: { width, height, channels: 3 } });
}

async function upload(body: Uint8Array<ArrayBuffer>, type = 'image/png', as = key) {
  const { status, json } = await server.call('/assets/upload', { key: as, body, type });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json.data as { id: string; image: { perceptualHash: string } };
}

const original = await upload(await pngOf(scene(1)));
const small = await upload(
  new Uint8Array(await scene(1).resize(200).jpeg({ quality: 60 }).toBuffer()),
  'image/jpeg',
);
const bright = await upload(await pngOf(scene(1).modulate({ brightness: 1.1 })));
const others = await Promise.all([2, 3, 4].map(async (seed) => upload(await pngOf(scene(seed)))));

const similar = (query: string, as = key) => server.call(`/assets?${query}`, { key: as });

t.test('the perceptual hash is a fact of every image, wherever it is described', async (t) => {
  t.match(original.image.perceptualHash, /^[0-9a-f]{16}$/);
  const described = await server.call('/images/metadata', {
    key,
    body: await pngOf(scene(1)),
    type: 'image/png',
  });
  t.equal(described.json.data.image.perceptualHash, original.image.perceptualHash);
  const stored = await server.call(`/assets/${original.id}`, { key });
  t.equal(stored.json.data.image.perceptualHash, original.image.perceptualHash);
  const plain = sharp({ create: { width: 30, height: 20, channels: 4, background: '#ff000080' } });
  const flat = await server.call('/images/metadata', { key, body: await pngOf(plain), type: 'image/png' });
  t.equal(flat.json.data.image.perceptualHash, '0'.repeat(16));
});

t.test('assets that look alike are found, nearest first, without the asset itself', async (t) => {
  const { status, json } = await similar(`similarTo=${original.id}`);
  t.equal(status, 200, JSON.stringify(json));
  const found: { id: string; distance: number }[] = json.data;
  t.same(found.map(({ id }) => id).sort(), [small.id, bright.id].sort());
  t.ok(found.every(({ distance }, at) => distance <= 6 && distance >= (found[at - 1]?.distance ?? 0)));
  t.match(json.meta, { total: 2, hasMore: false, nextCursor: null });
  const nearest = await similar(`similarTo=${original.id}&perPage=1`);
  t.match(nearest.json, { data: [{ id: found[0]?.id }], meta: { total: 2, hasMore: true } });
  const next = await similar(`similarTo=${original.id}&perPage=1&page=1`);
  t.match(next.json.data, [{ id: found[1]?.id }]);
  for (const { id } of others) t.same((await similar(`similarTo=${id}&distance=7`)).json.data, []);
  await server.call(`/assets/${small.id}`, { method: 'DELETE', key });
  t.same(
    (await similar(`similarTo=${original.id}`)).json.data.map(({ id }: { id: string }) => id),
    [bright.id],
  );
});

t.test('the other filters select among the assets that look alike', async (t) => {
  const dark = await pngOf(scene(1).modulate({ brightness: 0.95 }));
  const { json } = await server.call('/assets/upload?collection=twins', {
    key,
    body: dark,
    type: 'image/png',
  });
  const found = async (filters: string) =>
    (await similar(`similarTo=${original.id}&${filters}`)).json.data.map(({ id }: { id: string }) => id);
  t.same(await found('collection=twins'), [json.data.id]);
  t.same(await found('collection=none'), []);
  t.same(await found('origin=job'), []);
  t.same((await found('origin=upload&status=DONE')).sort(), [bright.id, json.data.id].sort());
});

t.test('another account finds nothing, and refusals name the field', async (t) => {
  const stranger = await server.account();
  const same = await upload(await pngOf(scene(1)), 'image/png', stranger.key);
  t.same((await similar(`similarTo=${same.id}`, stranger.key)).json.data, []);
  const refusals: [query: string, refusal: object][] = [
    [`similarTo=${same.id}`, { status: 404, code: 'asset_not_found', param: 'similarTo' }],
    [`similarTo=${original.id}&distance=8`, { status: 400, param: 'distance' }],
    ['distance=3', { status: 400, param: 'distance', message: /similarTo/ }],
    [`similarTo=${original.id}&cursor=a`, { status: 400, param: 'cursor' }],
  ];
  for (const [query, refusal] of refusals) t.match(refusalOf(await similar(query)), refusal, query);
});

t.test('compare says in how many bits the hashes differ', async (t) => {
  const compare = async (otherAssetId: string) =>
    (await server.call('/images/compare', { key, json: { assetId: original.id, otherAssetId } })).json.data;
  t.equal((await compare(original.id)).hashDistance, 0);
  t.ok((await compare(bright.id)).hashDistance <= 6);
  for (const { id } of others) t.ok((await compare(id)).hashDistance > 12);
});
