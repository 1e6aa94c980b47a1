// needs: server
import sharp from 'sharp';
import t from 'tap';
import { openDelivering } from './delivering.ts';

const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
const delivering = await openDelivering(t, { now: () => new Date(clock.nowMs) });
const { server, account, assetId, address, get, runs } = delivering;

const pixel = async (bytes: Uint8Array, left: number, top: number) => [
  ...(await sharp(bytes).removeAlpha().extract({ left, top, width: 1, height: 1 }).raw().toBuffer()),
];

t.test('an address answers the picture that its ops make', async (t) => {
  const path = address(`resize:width=100;rotate:angle=90/${assetId}.png`);
  const { status, headers, bytes } = await get(path);
  t.equal(status, 200, bytes.toString().slice(0, 500));
  const { width, height, format } = await sharp(bytes).metadata();
  t.same([width, height, format], [50, 100, 'png']);
  t.same(await pixel(bytes, 25, 5), [255, 0, 0]);
  t.same(await pixel(bytes, 25, 95), [0, 0, 255]);
  t.match(Object.fromEntries(headers), {
    'content-type': 'image/png',
    'cache-control': 'public, max-age=31536000, immutable',
    etag: /^"[A-Za-z0-9_-]{32}"$/,
    'cache-tag': `asset-${assetId},key-${delivering.key.id}`,
    'surrogate-key': `asset-${assetId} key-${delivering.key.id}`,
    'content-disposition': 'inline; filename="two halves.png"',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'cross-origin',
  });
  t.match(headers.get('content-security-policy'), /sandbox/);
});

t.test('the extension decides the format, and the name of the file follows it', async (t) => {
  for (const [extension, type] of [
    ['jpg', 'image/jpeg'],
    ['jpeg', 'image/jpeg'],
    ['webp', 'image/webp'],
    ['avif', 'image/avif'],
    ['gif', 'image/gif'],
    ['tiff', 'image/tiff'],
  ] as const) {
    const { status, headers } = await get(address(`resize:width=20/${assetId}.${extension}`));
    t.same([status, headers.get('content-type')], [200, type]);
  }
  const own = await get(address(`resize:width=20,format=webp/${assetId}`));
  t.equal(own.headers.get('content-type'), 'image/webp', 'without one it is that of the op');
  t.match(own.headers.get('content-disposition'), /two halves\.webp/);
});

t.test('a picture that is known needs no run', async (t) => {
  const path = address(`grayscale/${assetId}.png`);
  const before = await runs();
  const head = await get(path, {}, 'HEAD');
  t.same([head.status, head.bytes.length], [200, 0]);
  const etag = head.headers.get('etag') ?? '';
  const unchanged = await get(path, { 'if-none-match': etag });
  t.same([unchanged.status, unchanged.bytes.length, unchanged.headers.get('etag')], [304, 0, etag]);
  t.match(unchanged.headers.get('cache-control'), /immutable/);
  t.equal(await runs(), before, 'HEAD and 304 make nothing');
  const made = await get(path);
  t.same([made.status, made.headers.get('etag')], [200, etag]);
  const again = await get(path);
  t.same(again.bytes, made.bytes);
  const known = await get(path, {}, 'HEAD');
  t.equal(known.headers.get('content-length'), String(made.bytes.length));
  t.equal(await runs(), before + 1);
});

t.test('a picture in memory is answered without a read of a store', async (t) => {
  const reads = async () => {
    const text = (await server.call('//metrics')).bytes.toString();
    const lines = text.matchAll(
      /^darkroom_store_duration_seconds_count\{store="(?:documents",operation="findOne|objects",.*)"\} (\d+)$/gm,
    );
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const path = address(`resize:width=31/${assetId}.auto`);
  const { headers } = await get(path);
  await get(path);
  await reads();
  const before = await reads();
  t.ok(before > 0);
  for (let call = 0; call < 10; call += 1) {
    t.equal((await get(path)).status, 200);
    t.equal((await get(path, {}, 'HEAD')).status, 200);
    t.equal((await get(path, { 'if-none-match': headers.get('etag') ?? '' })).status, 304);
  }
  t.equal(await reads(), before);
});

t.test('a hundred equal requests at once are one run', async (t) => {
  const before = await runs();
  const path = address(`resize:width=77/${assetId}.webp`);
  const answers = await Promise.all(Array.from({ length: 100 }, () => get(path)));
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size, 1);
  t.equal(await runs(), before + 1);
});

t.test('auto answers what the reader takes, and says that it depends on Accept', async (t) => {
  const path = address(`resize:width=60/${assetId}.auto`);
  for (const [accept, types] of [
    ['image/avif,image/webp,*/*', ['image/avif', 'image/webp', 'image/png']],
    ['image/webp,*/*', ['image/webp', 'image/png']],
    ['image/webp;q=0,*/*', ['image/png']],
    ['*/*', ['image/png']],
  ] as const) {
    const { status, headers, bytes } = await get(path, { accept });
    t.equal(status, 200);
    t.match(headers.get('vary'), /Accept/);
    t.ok(
      types.some((type) => type === headers.get('content-type')),
      `${accept}: ${headers.get('content-type')}`,
    );
    t.equal((await sharp(bytes).metadata()).width, 60);
  }
});

t.test('an address ends at its second, and caches keep no copy beyond it', async (t) => {
  const exp = clock.nowMs / 1000 + 100;
  const path = address(`resize:width=30/${assetId}.png`, exp);
  t.equal((await get(path)).headers.get('cache-control'), 'public, max-age=100, immutable');
  t.equal((await get(`${path}&v=2`)).status, 200, 'other fields are ignored');
  clock.nowMs += 100_000;
  t.equal((await get(path)).status, 404);
  t.equal((await get(path.replace(`exp=${exp}`, `exp=${exp + 1000}`))).status, 404);
});

t.test('steps that cannot run are refused by their name, and caches keep that for a moment', async (t) => {
  for (const [path, param] of [
    ['resize:width=0', 'steps[0].parameters.width'],
    ['grayscale;resize:widht=10', 'steps[1].parameters.widht'],
    ['nothing', 'steps[0].op'],
    ['upscale', 'steps[0].op'],
    [`overlay:layerAssetId=${assetId}`, 'steps[0].op'],
  ] as const) {
    const { status, json, headers } = await get(address(`${path}/${assetId}.png`));
    t.same([status, json.error.param], [400, param], JSON.stringify(json));
    t.equal(headers.get('cache-control'), 'public, max-age=10');
  }
});

t.test('a preset at a version is delivered, and no longer when the version is gone', async (t) => {
  const steps = [{ op: 'resize', parameters: { width: 40 } }];
  const created = await server.call('/presets', { key: account.key, json: { name: 'Card', steps } });
  const { slug, id } = created.json.data;
  const json = { steps: [{ op: 'resize', parameters: { width: 80 } }] };
  await server.call(`/presets/${slug}`, { method: 'PUT', key: account.key, json });
  for (const [what, width] of [
    [`${slug}@1`, 40],
    [`${id}@2`, 80],
  ] as const) {
    const { status, headers, bytes } = await get(address(`${what}/${assetId}.png`));
    t.equal(status, 200);
    t.equal((await sharp(bytes).metadata()).width, width);
    t.match(headers.get('cache-tag'), `preset-${id}-${what.at(-1)}`);
  }
  t.equal((await get(address(`${slug}@3/${assetId}.png`))).status, 404);
  const removed = await server.call(`/presets/${slug}`, { method: 'DELETE', key: account.key });
  t.equal(removed.headers.get('cache-tag'), `preset-${id}-1,preset-${id}-2`);
});

t.test('an address names the preset that has its name now', async (t) => {
  const save = async (width: number): Promise<string> => {
    const steps = [{ op: 'resize', parameters: { width } }];
    const made = await server.call('/presets', { key: account.key, json: { name: 'Badge', steps } });
    return made.json.data.slug;
  };
  const slug = await save(44);
  const widthOf = async (extension: string) => {
    const { bytes } = await get(address(`${slug}@1/${assetId}.${extension}`));
    return (await sharp(bytes).metadata()).width;
  };
  t.equal(await widthOf('png'), 44);
  await server.call(`/presets/${slug}`, { method: 'DELETE', key: account.key });
  t.equal(await save(22), slug);
  t.equal(await widthOf('webp'), 22, 'an address that was not asked for before');
  t.equal(await widthOf('png'), 22);
});

t.test('the original has no parameters of an image', async (t) => {
  for (const name of ['width', 'format', 'fit']) {
    const { status, json } = await server.call(`/assets/${assetId}/content?${name}=300`, {
      key: account.key,
    });
    t.same([status, json.error.code, json.error.param], [400, 'invalid_param', name]);
    t.match(json.error.message, /delivery-links/);
  }
  t.equal((await server.call(`/assets/${assetId}/content?download=true`, { key: account.key })).status, 200);
});

t.test('a page of another origin may read a picture', async (t) => {
  const path = address(`resize:width=20/${assetId}.png`);
  const { headers } = await get(path, { origin: 'https://shop.example' });
  t.equal(headers.get('access-control-allow-origin'), '*');
});
