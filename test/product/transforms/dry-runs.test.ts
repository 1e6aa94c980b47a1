// needs: server
import { connect } from 'node:net';
import sharp from 'sharp';
import t from 'tap';
import { TRANSFORM_OPS } from '../../../src/product/transforms/transform-schema.ts';
import type { Answer } from '../../support/harness.ts';
import { openCalls, pngOf, type Query, queryText } from './calls.ts';

const calls = await openCalls(t);
const { server, key } = calls;

const COLOURED = sharp({
  create: { width: 60, height: 40, channels: 4, background: { r: 200, g: 60, b: 30, alpha: 0.5 } },
});
const PNG = await pngOf(COLOURED);
const TURNED = new Uint8Array(
  await sharp({ create: { width: 64, height: 32, channels: 3, background: '#246' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer(),
);
const frames = await Promise.all(
  ['#f00', '#0f0', '#00f'].map((background) =>
    sharp({ create: { width: 24, height: 16, channels: 3, background } })
      .png()
      .toBuffer(),
  ),
);
const GIF = new Uint8Array(
  await sharp(frames, { join: { animated: true } })
    .gif({ delay: [100, 100, 100] })
    .toBuffer(),
);
const SVG = new TextEncoder().encode(
  '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20.5"><rect width="30" height="20" fill="red"/></svg>',
);
const OPAQUE = await pngOf(sharp({ create: { width: 50, height: 40, channels: 3, background: '#246' } }));
const INPUTS = [
  [OPAQUE, 'image/png'],
  [PNG, 'image/png'],
  [TURNED, 'image/jpeg'],
  [GIF, 'image/gif'],
  [SVG, 'image/svg+xml'],
] as const;

const post = (query: Query, body: Uint8Array, type: string, as = key) =>
  server.call(`/images/transform?${queryText(query)}`, {
    method: 'POST',
    key: as,
    body: new Uint8Array(body),
    type,
  });
const dry = (query: Query, body: Uint8Array, type: string) => post({ ...query, dryRun: true }, body, type);
const errorOf = ({ status, json }: Answer) => {
  const { requestId: _, ...error } = json?.error ?? {};
  return { status, ...error };
};

async function usedRuns(): Promise<number> {
  const { json } = await server.call('/usage', { key });
  return json.data.groups.reduce((sum: number, group: { sync: number }) => sum + group.sync, 0);
}

/** Warnings that require the pixels or the size of a file. A dry run cannot know them. */
const PIXEL_WARNINGS = /^(larger_than_input|alpha_lost|text_cut|layer_cut)/;

t.test('a dry run foresees what each op makes of each kind of file', async (t) => {
  for (const { op, example } of TRANSFORM_OPS) {
    for (const [body, type] of INPUTS) {
      const query = { op, ...example.parameters };
      const [foreseen, made] = [await dry(query, body, type), await post(query, body, type)];
      const what = `${op} of ${type}`;
      if (made.status !== 200) {
        t.same(errorOf(foreseen), errorOf(made), what);
        continue;
      }
      t.equal(foreseen.status, 200, `${what}: ${foreseen.json?.error?.message}`);
      const { width, height, format, frames, transparency, price } = foreseen.json.data;
      const picture = await sharp(made.bytes, { pages: -1 }).metadata();
      t.equal(format, made.headers.get('x-service-format'), what);
      t.equal(frames, picture.pages ?? 1, `${what}: frames`);
      t.equal(price, 0, what);
      if (width !== null) {
        const size = [made.headers.get('x-service-width'), made.headers.get('x-service-height')];
        t.same([String(width), String(height)], size, `${what}: size`);
      } else t.ok(op === 'trim', `${what}: only a trim depends on the pixels`);
      if (transparency === true) t.equal(picture.hasAlpha, true, `${what}: transparent`);
      if (transparency === false)
        t.equal((await sharp(made.bytes).stats()).isOpaque, true, `${what}: opaque`);
      const warned = (made.headers.get('x-service-warnings') ?? '').split(',').filter((one) => one !== '');
      const known = (foreseen.headers.get('x-service-warnings') ?? '').split(',').filter((one) => one !== '');
      t.same(
        known,
        warned.filter((one) => !PIXEL_WARNINGS.test(one)),
        `${what}: warnings`,
      );
    }
  }
});

t.test('a dry run says whether a picture can be transparent, as far as the header tells', async (t) => {
  const rows: Array<[Query, Uint8Array, string, boolean | null]> = [
    [{ op: 'resize', width: 9, format: 'webp' }, TURNED, 'image/jpeg', false],
    [{ op: 'resize', width: 9 }, PNG, 'image/png', true],
    [{ op: 'resize', width: 9, height: 9, fit: 'contain' }, OPAQUE, 'image/png', null],
    [{ op: 'flip', format: 'jpeg' }, PNG, 'image/png', false],
    [{ op: 'flip' }, SVG, 'image/svg+xml', true],
    [{ op: 'round_corners', radius: 3, format: 'png' }, TURNED, 'image/jpeg', true],
  ];
  for (const [query, body, type, transparency] of rows)
    t.match((await dry(query, body, type)).json.data, { transparency }, JSON.stringify(query));
});

t.test('the format that makes the smallest file is left open', async (t) => {
  const compress = { op: 'compress', minSsim: 0.9 };
  const several = await dry({ ...compress, format: 'avif,webp' }, OPAQUE, 'image/png');
  t.match(several.json.data, { format: null, width: 50, height: 40, transparency: false });
  const mixed = await dry({ ...compress, format: 'jpeg,webp' }, PNG, 'image/png');
  t.match(mixed.json.data, { format: null, transparency: null });
});

t.test('a dry run refuses as the call does, and says the same', async (t) => {
  const rows: Array<[Query, Uint8Array, string]> = [
    [{ op: 'resize' }, PNG, 'image/png'],
    [{ op: 'resize', widht: 3 }, PNG, 'image/png'],
    [{ op: 'crop', x: 500, y: 1, width: 2, height: 2 }, PNG, 'image/png'],
    [{ op: 'convert', format: 'webp', frame: 9 }, GIF, 'image/gif'],
    [{ op: 'convert', format: 'webp', frames: '2..9' }, GIF, 'image/gif'],
    [{ op: 'convert', format: 'png', frame: 'all' }, GIF, 'image/gif'],
    [{ op: 'compress', format: 'jpeg', maxBytes: 100 }, PNG, 'image/png'],
    [{ op: 'resize', width: 8 }, PNG, 'image/jpeg'],
    [{ op: 'resize', width: 8 }, new TextEncoder().encode('%PDF-1.4'), 'image/png'],
    [
      { op: 'flip', density: 2400 },
      new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg" width="9000" height="9000"/>'),
      'image/svg+xml',
    ],
    [{ op: 'upscale' }, PNG, 'image/png'],
    [{ preset: 'nothing' }, PNG, 'image/png'],
  ];
  for (const [query, body, type] of rows) {
    const refused = errorOf(await post(query, body, type));
    t.ok(Number(refused.status) >= 400, JSON.stringify(query));
    t.same(errorOf(await dry(query, body, type)), refused, JSON.stringify(query));
  }
  const odd = await post({ op: 'flip', dryRun: 'maybe' }, PNG, 'image/png');
  t.match(errorOf(odd), { status: 400, param: 'dryRun' }, 'nothing runs by a misspelt dry run');
});

t.test('it counts no run, stores nothing and needs no slot', async (t) => {
  const before = await usedRuns();
  const json = { assetId: '', op: 'resize', parameters: { width: 30 } };
  json.assetId = (await server.call('/assets/upload', { key, body: PNG, type: 'image/png' })).json.data.id;
  const ofAsset = await server.call('/images/transform?dryRun=true', { key, json });
  t.match(ofAsset.json, { data: { format: 'png', width: 30, height: 20, frames: 1, transparency: true } });
  const steps = [
    { op: 'rotate', parameters: { angle: 90 } },
    { op: 'convert', parameters: { format: 'jpeg' } },
  ];
  const ofSteps = await server.call('/images/transform?dry_run=true', {
    key,
    json: { assetId: json.assetId, steps },
  });
  t.match(ofSteps.json.data, { format: 'jpeg', width: 40, height: 60, transparency: false });
  await server.call('/presets', {
    key,
    json: { name: 'Tiny', slug: 'tiny', steps: [{ op: 'resize', parameters: { width: 6 } }] },
  });
  t.match((await dry({ preset: 'tiny' }, PNG, 'image/png')).json.data, { width: 6, height: 4 });
  const linked = await dry({ op: 'flip', response: 'url' }, PNG, 'image/png');
  t.match(linked.json.data, { width: 60, height: 40, url: undefined });
  t.equal(await usedRuns(), before);

  const narrow = await openCalls(t, { SYNC_CALLS_PER_ACCOUNT: '1' });
  const held = connect(Number(new URL(narrow.server.url).port), '127.0.0.1');
  t.teardown(() => held.destroy());
  held.write(
    [
      'POST /api/v1/images/transform?op=flip HTTP/1.1',
      'host: darkroom',
      `authorization: ApiKey ${narrow.key}`,
      'content-type: image/png',
      'content-length: 1000',
      '\r\n',
    ].join('\r\n'),
  );
  let plain = await narrow.transform({ op: 'flip' }, PNG);
  for (let tries = 0; plain.status !== 429 && tries < 100; tries += 1)
    plain = await narrow.transform({ op: 'flip' }, PNG);
  t.equal(plain.status, 429, 'the only slot is taken');
  t.equal((await narrow.transform({ op: 'flip', dryRun: true }, PNG)).status, 200);
});

t.test('several outputs are foreseen one by one, and priced together', async (t) => {
  const { key: paying } = await server.account({ plan: 'free', credits: 100 });
  const form = (outputs: unknown) => {
    const body = new FormData();
    body.append('outputs', JSON.stringify(outputs));
    body.append('file', new Blob([PNG]), 'a.png');
    return { method: 'POST', key: paying, body };
  };
  const small = { name: 'small', op: 'resize', parameters: { width: 30 } };
  const outside = { name: 'outside', op: 'crop', parameters: { x: 500, y: 1, width: 2, height: 2 } };
  const flat = {
    name: 'flat',
    steps: [{ op: 'flatten' }, { op: 'convert', parameters: { format: 'webp' } }],
  };
  const { status, json } = await server.call('/images/transform?dryRun=true', form([small, outside, flat]));
  t.equal(status, 200, json.error?.message);
  t.match(json.data, {
    price: 0,
    outputs: [
      { name: 'small', format: 'png', width: 30, height: 20, price: 0, warnings: [] },
      { name: 'outside', error: { code: 'invalid_param', param: 'outputs[1].parameters.x' } },
      { name: 'flat', format: 'webp', width: 60, height: 40, transparency: false },
    ],
  });
  const refused = await server.call(
    '/images/transform?dryRun=true',
    form([outside, { ...outside, name: 'b' }]),
  );
  t.match(errorOf(refused), { status: 400, param: 'outputs[0].parameters.x' }, 'all of them fail');
});

t.test('a render is foreseen without a browser', async (t) => {
  const render = (json: object) => server.call('/images/render?dryRun=true', { key, json });
  const html = '<p>{{ title }}</p><img src="asset://ast_000000000000000000000000">';
  const drawn = await render({
    html,
    width: 100,
    height: 50,
    scale: 1.5,
    format: 'jpg',
    data: { titel: 'a' },
  });
  t.match(drawn.json.data, {
    ...{ format: 'jpeg', width: 150, height: 75, frames: 1, transparency: false, price: 0 },
    warnings: [
      { code: 'unknown_variable', name: 'titel' },
      { code: 'empty_variable', name: 'title' },
      { code: 'missing_asset', name: 'ast_000000000000000000000000' },
    ],
  });
  t.match(drawn.headers.get('x-service-warnings'), 'unknown_variable:titel');
  const page = await render({ templateId: 'social-card', data: { title: 'Hello' } });
  t.match(page.json.data, { format: 'png', transparency: null });
  t.match(errorOf(await render({ templateId: 'nothing' })), { status: 404, param: 'templateId' });
  t.match(errorOf(await render({ html, width: 9000, height: 1 })), { status: 400, param: 'width' });
});
