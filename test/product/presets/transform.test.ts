// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { refused, start, uploaded } from './harness.ts';

const crop = { op: 'crop', parameters: { aspect: '4:3', gravity: 'north' } };
const resize = { op: 'resize', parameters: { width: 160 } };
const border = { op: 'border', parameters: { width: 6, color: '#204060' } };
const chain = [crop, resize, { op: 'sepia' }, { op: 'flip', parameters: { axis: 'horizontal' } }, border];

/** A picture with a gradient in every channel, as PNG. */
async function drawn(): Promise<Uint8Array<ArrayBuffer>> {
  const [width, height] = [320, 300];
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, index) => {
    const [x, y] = [Math.floor(index / 3) % width, Math.floor(index / 3 / width)];
    return [x * 0.8, y * 0.85, (x + y) * 0.4][index % 3] ?? 0;
  });
  const file = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toUint8Array();
  return new Uint8Array(file.data);
}

async function begin() {
  const started = await start();
  const { server, key } = started;
  const transform = (query: string, body: Uint8Array<ArrayBuffer>, type = 'image/png', as = key) =>
    server.call(`/images/transform?${query}`, { method: 'POST', key: as, body, type });
  return { ...started, transform };
}

async function pixelsOf({ status, bytes, json }: Answer) {
  if (status !== 200) throw new Error(json?.error?.message);
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  return { data, size: [info.width, info.height, info.channels] };
}

t.test('a preset makes the pixels that its steps make by single calls', async (t) => {
  const { call, transform } = await begin();
  await call('POST', '/presets', { name: 'Chain', steps: chain });
  let body = await drawn();
  for (const { op, parameters = {} } of chain as Array<{ op: string; parameters?: object }>) {
    const given = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]);
    const answer = await transform(new URLSearchParams([['op', op], ...given]).toString(), body);
    body = new Uint8Array(answer.bytes);
  }
  const single = await sharp(body).raw().toBuffer({ resolveWithObject: true });
  const answer = await transform('preset=chain', await drawn());
  const together = await pixelsOf(answer);
  t.same(together.size, [single.info.width, single.info.height, single.info.channels]);
  t.ok(together.data.equals(single.data), 'pixel for pixel');
  t.equal(answer.headers.get('x-service-width'), '172');
  t.equal(answer.headers.get('content-type'), 'image/png');
});

t.test('steps of the registry make the pixels of the ops that stand for them', async (t) => {
  const { call, transform } = await begin();
  await call('POST', '/presets', {
    name: 'Ops',
    steps: [resize, { op: 'flip', parameters: { axis: 'vertical' } }],
  });
  const registry = [
    { operation: 'resize', params: { width: 160 } },
    { operation: 'flip' },
    { operation: 'png' },
  ];
  await call('POST', '/presets', { name: 'Registry', steps: registry });
  const [ops, steps] = await Promise.all(
    ['ops', 'registry'].map(async (slug) => pixelsOf(await transform(`preset=${slug}`, await drawn()))),
  );
  t.ok(ops?.data.equals(steps?.data ?? Buffer.alloc(0)));
});

t.test('slug, id and slug@version name the same preset; an import runs as its original', async (t) => {
  const { server, call, callAs, transform } = await begin();
  const { id } = (await call('POST', '/presets', { name: 'Chain', steps: [resize] })).json.data;
  await call('PUT', `/presets/${id}`, { steps: chain });
  await call('PUT', `/presets/${id}`, { steps: [border] });
  const picture = await drawn();
  const second = await transform('preset=chain@2', picture);
  t.equal(second.headers.get('x-service-width'), '172');
  t.ok((await transform(`preset=${id}@2`, picture)).bytes.equals(second.bytes));
  t.equal((await transform('preset=chain', picture)).headers.get('x-service-width'), '332');

  const other = (await server.account()).key;
  refused(
    t,
    await transform('preset=chain@2', picture, 'image/png', other),
    404,
    'preset_not_found',
    'preset',
  );
  await callAs(other)('POST', '/presets/import', [(await call('GET', '/presets/chain')).json.data]);
  t.ok((await transform('preset=chain@2', picture, 'image/png', other)).bytes.equals(second.bytes));

  const link = await transform('preset=chain@2&response=url', picture);
  t.match(link.json.data, { contentType: 'image/png', width: 172, bytes: second.bytes.length });
  const linked = await fetch(link.json.data.url);
  t.ok(second.bytes.equals(Buffer.from(await linked.arrayBuffer())));
});

t.test('a transform refuses a preset that is not one pass on one image', async (t) => {
  const { server, key, call, transform } = await begin();
  const picture = await drawn();
  const edit = { op: 'edit', prompt: 'Warm light' };
  const assetId = await uploaded(server, key);
  const layer = { layerAssetId: assetId };
  const rows: Array<[slug: string, steps: unknown[]]> = [
    ['ai', [edit]],
    ['chain', [resize, edit, border]],
    ['generate', [{ op: 'generate', prompt: 'A boat' }]],
    ['overlay', [resize, { op: 'overlay', parameters: layer }]],
    ['compare', [resize, { op: 'compare', parameters: { otherAssetId: assetId } }]],
    ['composite', [{ operation: 'composite', params: layer }]],
    ['boolean', [{ operation: 'boolean', params: { assetId, operator: 'and' } }]],
    ['join-channel', [{ operation: 'joinChannel', params: { assetId } }]],
  ];
  for (const [slug, steps] of rows) {
    t.equal((await call('POST', '/presets', { name: slug, slug, steps })).status, 201, slug);
    refused(t, await transform(`preset=${slug}`, picture), 400, 'invalid_param', 'preset', slug);
  }
  for (const version of ['0', 'x', '1.5', '-1', '']) {
    refused(t, await transform(`preset=ai@${version}`, picture), 400, 'invalid_param', 'preset', version);
  }
  for (const name of ['unknown', 'ai@2', 'pre_unknown', 'builtin-avatar@2']) {
    refused(t, await transform(`preset=${name}`, picture), 404, 'preset_not_found', 'preset', name);
  }
  refused(t, await transform('preset=ai&width=5', picture), 400, 'invalid_param', 'width');
  refused(t, await transform('preset=ai&op=resize', picture), 400, 'invalid_param', 'preset');
});

t.test('a frame past the last one is refused by its own name', async (t) => {
  const { call, transform } = await begin();
  const frames = ['red', 'lime', 'blue'].map((background) => ({
    create: { width: 8, height: 8, channels: 3 as const, background },
  }));
  const gif = new Uint8Array(
    await sharp(frames as unknown as string[], { join: { animated: true } })
      .gif()
      .toBuffer(),
  );
  for (const frame of [2, 3]) {
    const steps = [{ op: 'flip', parameters: { axis: 'horizontal', frame } }];
    await call('POST', '/presets', { name: 'Frame', slug: `frame-${frame}`, steps });
  }
  t.equal((await transform('preset=frame-2', gif, 'image/gif')).status, 200);
  refused(t, await transform('preset=frame-3', gif, 'image/gif'), 400, 'invalid_param', 'frame');
});
