// needs: server, browser
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account();
const { key } = account;
const [asset = '', logo = ''] = await uploadPictures(server, account, 2);

async function upload(pipeline: Sharp): Promise<string> {
  const body = new Uint8Array(await pipeline.png().toBuffer());
  return (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data.id;
}

async function contentOf(assetId: string): Promise<Buffer> {
  return (await server.call(`/assets/${assetId}/content`, { key })).bytes;
}

const blank = { width: 100, height: 60, channels: 3, background: 'white' } as const;

t.test('a comparison answers how two pictures differ, and where', async (t) => {
  const mark = { create: { width: 10, height: 5, channels: 3, background: 'black' } } as const;
  const spots = [
    { input: mark, left: 4, top: 6 },
    { input: mark, left: 70, top: 40 },
  ];
  const one = await upload(sharp({ create: blank }));
  const other = await upload(sharp({ create: blank }).composite(spots));
  const { json, status } = await submit(server, key, {
    op: 'compare',
    assetIds: [one, other],
    parameters: { otherAssetId: other },
  });
  t.equal(status, 201, JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  t.match(job, { status: 'COMPLETED', completedItems: 2 });
  const [differs, same] = job.items;
  t.match(differs.output, {
    changedShare: 0.0166667,
    maxDifference: 255,
    regions: [
      { x: 4, y: 6, width: 10, height: 5 },
      { x: 70, y: 40, width: 10, height: 5 },
    ],
  });
  t.ok(differs.output.ssim < 0.99);
  t.same(same.output, { ssim: 1, changedShare: 0, maxDifference: 0, hashDistance: 0, regions: [] });
  t.notOk(differs.resultAssetId);
  t.equal((await server.call(`/assets?jobId=${job.id}`, { key })).json.meta.total, 0);
});

t.test('pictures of two sizes are compared after a resize, and refused before it', async (t) => {
  const large = await upload(sharp({ create: { ...blank, width: 200, height: 120 } }));
  const small = await upload(sharp({ create: { ...blank, background: '#fefefe' } }));
  const compare = { op: 'compare', parameters: { otherAssetId: small, ssimulacra2: true } };
  const refused = await submit(server, key, { ...compare, assetIds: [large], wait: 30 });
  t.match(refused.json.data, { status: 'FAILED', errorCode: 'invalid_param', retryable: false });
  const steps = [{ op: 'resize', parameters: { width: 100 } }, compare];
  const compared = await submit(server, key, { steps, assetIds: [large], wait: 30 });
  t.match(compared.json.data, {
    status: 'COMPLETED',
    items: [{ output: { changedShare: 0, maxDifference: 1, ssimulacra2: /^9\d/ } }],
  });
  const narrow = await upload(sharp({ create: { ...blank, width: 7 } }));
  const parameters = { otherAssetId: narrow, ssimulacra2: true };
  const unscored = await submit(server, key, { ...compare, parameters, assetIds: [narrow], wait: 30 });
  t.match(unscored.json.data, {
    status: 'FAILED',
    errorCode: 'invalid_param',
    errorMessage: /ssimulacra2 needs/,
  });
});

t.test('a layer is laid over each picture', async (t) => {
  const parameters = { layerAssetId: logo, position: 'center' };
  const { json } = await submit(server, key, { op: 'overlay', assetIds: [asset], parameters, wait: 30 });
  t.match(json.data, { status: 'COMPLETED' }, JSON.stringify(json.data));
  const { data } = await sharp(await contentOf(json.data.items[0].resultAssetId))
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.equal(data[0], 1, 'the colour of the layer');
});

t.test('a target that was reached is told', async (t) => {
  const noise = await upload(
    sharp({ create: { ...blank, noise: { type: 'gaussian', mean: 120, sigma: 40 } } }),
  );
  const parameters = { format: 'jpeg', maxBytes: 3_000 };
  const { json } = await submit(server, key, { op: 'compress', assetIds: [noise], parameters, wait: 30 });
  t.match(json.data.items, [
    { status: 'COMPLETED', achieved: { format: 'jpeg', bytes: Number, trials: Number } },
  ]);
  t.ok(json.data.items[0].achieved.bytes <= 3_000);
});

t.test('the output of a placeholder has the hashes of the picture that it stands for', async (t) => {
  const [width, height] = [240, 160];
  const colours = Array.from({ length: width * height }, (_, at) => [
    (255 * (at % width)) / width,
    (255 * Math.floor(at / width)) / height,
    at % width > 150 ? 220 : 30,
  ]);
  const picture = await upload(
    sharp(Uint8Array.from(colours.flat()), { raw: { width, height, channels: 3 } }),
  );
  const imageOf = async (id: string) => (await server.call(`/assets/${id}`, { key })).json.data.image;
  for (const kind of ['blur', 'color', 'pixel']) {
    const steps = [{ op: 'placeholder', parameters: { kind, format: 'png' } }];
    const body = { steps, assetIds: [picture], wait: 30 };
    const [item] = (await submit(server, key, body)).json.data.items;
    const { headers } = await server.call(`/images/transform?op=placeholder&kind=${kind}`, {
      key,
      json: { assetId: picture },
    });
    // A synchronous call answers the hashes of the picture, as the tests of references hold.
    const real = {
      thumbhash: headers.get('x-service-thumbhash'),
      blurhash: headers.get('x-service-blurhash'),
    };
    const { width, height, thumbhash, blurhash } = await imageOf(item.resultAssetId);
    t.ok(Math.max(width, height) <= 32, `${kind} is ${width} px wide`);
    t.same({ thumbhash, blurhash }, real, `${kind}: the facts of the output`);
    const tiny = new Uint8Array(await contentOf(item.resultAssetId));
    const own = await server.call('/images/metadata', { key, body: tiny, type: 'image/png' });
    t.not(own.json.data.image.blurhash, blurhash, `${kind}: the tiny file by itself shows less`);
  }
});

t.test('variants make an item of every asset each', async (t) => {
  const variants = [{ name: 'small', parameters: { width: 8 } }, { parameters: { width: 16 } }];
  const body = { op: 'resize', parameters: { format: 'webp' }, variants, assetIds: [asset, logo] };
  const { json } = await submit(server, key, body);
  const job = await ended(server, key, json.data.id);
  t.same(
    job.items.map(({ assetId, variant }: Record<string, string>) => [assetId, variant]),
    [
      [asset, 'small'],
      [asset, '1'],
      [logo, 'small'],
      [logo, '1'],
    ],
  );
  t.match(job.pipelines, [{ variant: 'small' }, { variant: '1' }]);
  t.match((await server.call(`/assets/${job.items[1].resultAssetId}`, { key })).json.data.image, {
    width: 16,
    format: 'webp',
  });
});

t.test('a preset runs at its version, and is counted', async (t) => {
  const preset = { name: 'Grey', steps: [{ op: 'grayscale' }, { op: 'resize', parameters: { width: 9 } }] };
  const { json: made } = await server.call('/presets', { key, json: preset });
  const { json } = await submit(server, key, { presetId: made.data.slug, assetIds: [asset], wait: 30 });
  t.match(json.data, {
    status: 'COMPLETED',
    type: 'process',
    presetId: made.data.id,
    presetName: 'Grey',
    presetVersion: 1,
  });
  const read = await server.call(`/presets/${made.data.slug}`, { key });
  t.match(read.json.data.usage, { runs: 1, lastRunAt: json.data.createdAt });
  t.equal((await server.call('/jobs?preset=grey@1', { key })).json.meta.total, 1);
  const refused = await submit(server, key, { presetId: 'grey', prompt: 'x', assetIds: [asset] });
  t.match(refused.json.error, { code: 'invalid_param', param: 'prompt' });
});

t.test('rows of a render are a picture each, and one whose template is gone fails unstarted', async (t) => {
  const template = { name: 'Card', html: '<b>{{ title }}</b>', width: 40, height: 20 };
  const { json: made } = await server.call('/templates', { key, json: template });
  const items = [{ title: 'One' }, { title: 'Two' }];
  const { json } = await submit(server, key, { op: 'render_template', templateId: made.data.id, items });
  t.match(json.data, { type: 'render', parameters: { items } }, JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  t.match(job, { status: 'COMPLETED', completedItems: 2 }, JSON.stringify(job.items));
  t.match((await server.call(`/assets/${job.items[0].resultAssetId}`, { key })).json.data.image, {
    width: 40,
    height: 20,
  });
  const used = async () => (await server.call('/account', { key })).json.data.processing.used;
  const before = await used();
  const slow = Array.from({ length: 40 }, (_, row) => ({ title: `Row ${row}` }));
  const queued = await submit(server, key, { type: 'render', templateId: made.data.id, items: slow });
  await server.call(`/templates/${made.data.id}`, { key, method: 'DELETE' });
  const failed = await ended(server, key, queued.json.data.id);
  t.match(failed, { status: 'FAILED', errorCode: 'invalid_state', retryable: false });
  t.equal(await used(), before + failed.completedItems, 'a row that was not begun is no run');
});
