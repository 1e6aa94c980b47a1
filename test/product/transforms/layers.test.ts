// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { serve } from '../../support/loopback.ts';
import { openCalls, pictureOf, pngOf, rasterOf, refusalOf } from './calls.ts';
import { filePart, type Part, partsOf, sendParts } from './multipart.ts';

const create = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } });
const png = await pngOf(
  create(60, 40, '#c04020').composite([
    { input: { create: { width: 30, height: 40, channels: 3, background: '#2040c0' } }, left: 0, top: 0 },
  ]),
);
const logo = await pngOf(create(8, 4, '#10e010'));
const other = await pngOf(create(6, 6, '#f0f000'));
const GREEN = [0x10, 0xe0, 0x10, 255];
const YELLOW = [0xf0, 0xf0, 0, 255];
const drawingOf = (size: string, content = '') =>
  new Uint8Array(Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${size}>${content}</svg>`));
const svg = drawingOf('width="8" height="4"', '<rect width="8" height="4" fill="#10e010"/>');
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

const calls = await openCalls(t, { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
const { server, key } = calls;
const [asset, logoAsset, drawing] = [
  await uploaded(png, 'image/png'),
  await uploaded(logo, 'image/png'),
  await uploaded(svg, 'image/svg+xml'),
];

async function uploaded(body: Uint8Array<ArrayBuffer>, type: string): Promise<string> {
  return (await server.call('/assets/upload', { key, body, type })).json.data.id;
}

const field = (name: string, value: unknown): Part => ({ name, value: JSON.stringify(value) });
const layerPart = (name: string, value: Uint8Array, type = 'image/png'): Part => ({
  ...filePart(value, type),
  name,
});
const overlay = (parameters: object = {}) => ({ op: 'overlay', parameters });
const sent = (steps: unknown, parts: Part[] = []) =>
  sendParts(calls, '', [field('steps', steps), filePart(png), ...parts]);

/** The bytes of an answer, which must be a picture. */
function bytesOf({ status, bytes }: Answer): Buffer {
  if (status !== 200) throw new Error(bytes.toString('utf8', 0, 400));
  return bytes;
}

async function jobResult(steps: unknown): Promise<Buffer> {
  const { json } = await server.call('/jobs', { key, json: { assetIds: [asset], steps, wait: 30 } });
  const id = json.data.items?.[0]?.resultAssetId;
  if (id === undefined) throw new Error(JSON.stringify(json));
  return (await server.call(`/assets/${id}/content`, { key })).bytes;
}

t.test('a step takes its second picture of a part, an asset or a URL', async (t) => {
  const host = await serve(t, (_request, response) => response.end(logo));
  const answers = [
    await sent([overlay()], [layerPart('layer', logo)]),
    await sent([overlay({ layer: 'layer' })], [layerPart('layer', logo)]),
    await sent([overlay({ layer: 'brand' })], [layerPart('brand', logo)]),
    await sent([overlay({ layerAssetId: logoAsset })]),
    await sent([overlay({ layerUrl: `${host.url}/logo.png` })]),
    await server.call('/images/transform', {
      key,
      json: { assetId: asset, steps: [overlay({ layerUrl: `${host.url}/logo.png` })] },
    }),
    await sent([overlay()], [layerPart('layer', svg, 'image/svg+xml')]),
    await sent([overlay({ layerAssetId: drawing })]),
  ];
  const [first] = answers.map(bytesOf);
  for (const answer of answers) t.ok(bytesOf(answer).equals(first as Buffer));
  t.ok((await jobResult([overlay({ layerAssetId: drawing })])).equals(first as Buffer), 'a drawing in a job');
  const { at } = await rasterOf(first as Buffer);
  t.same([at(52, 36), at(59, 39)], [GREEN, GREEN], 'southeast');
  t.same([at(51, 39), at(59, 35)], Array(2).fill([0xc0, 0x40, 0x20, 255]));
});

t.test(
  'steps without a name take layer, layer2 and so on, and the order of parts does not matter',
  async (t) => {
    const steps = [overlay({ position: 'northwest' }), overlay({ position: 'southwest' })];
    const parts = [layerPart('layer2', other), layerPart('layer', logo)];
    const answer = await sendParts(calls, '', [...parts, filePart(png), field('steps', steps)]);
    const { at } = await pictureOf(answer);
    t.same([at(7, 3), at(5, 39)], [GREEN, YELLOW]);
    const again = [overlay({ position: 'northwest' }), overlay({ position: 'southwest', layer: 'layer' })];
    const same = await pictureOf(await sent(again, [layerPart('layer', logo)]));
    t.same([same.at(7, 3), same.at(7, 39)], [GREEN, GREEN], 'one picture for two steps');
  },
);

t.test('the margin of tiles lies between two of them', async (t) => {
  const steps = [overlay({ tile: true, margin: 3, position: 'northwest' })];
  const { at } = await pictureOf(await sent(steps, [layerPart('layer', logo)]));
  const [blue, red] = [
    [0x20, 0x40, 0xc0, 255],
    [0xc0, 0x40, 0x20, 255],
  ];
  t.same([at(3, 3), at(10, 6), at(14, 10), at(58, 3), at(47, 38)], [GREEN, GREEN, GREEN, GREEN, GREEN]);
  t.same([at(2, 3), at(11, 4), at(13, 6), at(4, 7), at(9, 9)], [blue, blue, blue, blue, blue]);
  t.same([at(44, 4), at(50, 8)], [red, red]);
});

t.test('a step, an output and a job with the same second picture make the same bytes', async (t) => {
  const rows: Array<[step: object, key: string]> = [
    [overlay({ opacity: 0.5, position: 'north', margin: 5 }), 'layerAssetId'],
    [overlay({ tile: true, margin: '10%', scale: 0.2, format: 'jpeg' }), 'layerAssetId'],
    [overlay({ x: -2, y: 3, blend: 'multiply' }), 'layerAssetId'],
    [{ operation: 'composite', params: { margin: 4 } }, 'layerAssetId'],
    [{ operation: 'boolean', params: { operator: 'eor' } }, 'assetId'],
    [{ operation: 'joinChannel', params: {} }, 'assetId'],
  ];
  for (const [step, name] of rows) {
    const flip = { op: 'flip', parameters: { axis: 'horizontal' } };
    const steps = [flip, step];
    const named = structuredClone(steps) as { parameters?: object; params?: object }[];
    Object.assign(named[1]?.parameters ?? named[1]?.params ?? {}, { [name]: logoAsset });
    const alone = bytesOf(await sent(steps, [layerPart('layer', logo)]));
    const outputs = [
      { name: 'first', op: 'resize', parameters: { width: 20 } },
      { name: 'laid', steps },
      { name: 'last', steps: [flip, { op: 'blur', parameters: { sigma: 2 } }] },
    ];
    const several = await sendParts(calls, '', [
      field('outputs', outputs),
      filePart(png),
      layerPart('layer', logo),
    ]);
    t.ok(partsOf(several)[1]?.body.equals(alone), `an output: ${JSON.stringify(step)}`);
    t.ok((await jobResult(named)).equals(alone), `a job: ${JSON.stringify(step)}`);
  }
});

t.test('an output may be an overlay, and may share a second picture with the others', async (t) => {
  const outputs = [
    { name: 'a', op: 'overlay', parameters: { position: 'northwest' } },
    { name: 'b', op: 'overlay', parameters: { position: 'southeast', layer: 'layer' } },
    { name: 'c', steps: [overlay({ layerAssetId: logoAsset, position: 'center' })] },
  ];
  const answer = await sendParts(calls, '', [
    field('outputs', outputs),
    filePart(png),
    layerPart('layer', logo),
  ]);
  t.equal(answer.headers.get('x-service-outputs'), '3/3');
  const [a, b, c] = await Promise.all(partsOf(answer).map(({ body }) => rasterOf(body)));
  t.same([a?.at(0, 0), b?.at(59, 39), c?.at(30, 20)], [GREEN, GREEN, GREEN]);
});

t.test('a part that is missing, sent twice or read by no step is named', async (t) => {
  const layer = layerPart('layer', logo);
  const text = layerPart('layer', new Uint8Array(Buffer.from('no picture')));
  const host = await serve(t, (_request, response) => response.end('no picture'));
  const rows: Array<[steps: unknown, parts: Part[], expected: object, message: RegExp]> = [
    [[overlay()], [], { ...INVALID, param: 'layer', details: { missing: ['layer'] } }, /-F layer=@/],
    [[overlay(), overlay()], [layer], { ...INVALID, param: 'layer2' }, /missing/],
    [[overlay({ layer: 'brand' })], [], { ...INVALID, param: 'brand' }, /missing/],
    [
      [overlay({ layer: 'brand' })],
      [layer, layerPart('brand', logo)],
      { ...INVALID, param: 'layer' },
      /No step/,
    ],
    [[overlay()], [layer, layer], { ...INVALID, param: 'layer' }, /more than once/],
    [[overlay()], [layer, layerPart('layer3', logo)], { ...INVALID, param: 'layer3' }, /No step reads/],
    [[{ op: 'flip' }], [layer], { ...INVALID, param: 'layer' }, /No step reads/],
    [[overlay()], [text], { status: 400, code: 'unsupported_format', param: 'layer' }, /not supported/],
    [
      [overlay()],
      [layerPart('layer', logo.slice(0, 60))],
      { status: 400, param: 'layer' },
      /cannot be decoded/,
    ],
    [
      [overlay()],
      [layerPart('layer', drawingOf('width="9000" height="9000"'), 'image/svg+xml')],
      { status: 400, code: 'unsupported_format', param: 'layer' },
      /9000 × 9000 pixels/,
    ],
    [
      [overlay()],
      [layerPart('layer', drawingOf('width="9" height="9"', '<g>'), 'image/svg+xml')],
      { status: 400, code: 'unsupported_format', param: 'layer' },
      /do not parse/,
    ],
    [
      [overlay({ layerUrl: `${host.url}/text` })],
      [],
      { status: 400, code: 'unsupported_format', param: 'steps[0].parameters.layerUrl' },
      /not supported/,
    ],
    [
      [overlay({ layer: 'brand', layerAssetId: logoAsset })],
      [],
      { ...INVALID, param: 'steps[0].parameters.layer' },
      /exclude each other/,
    ],
    [[overlay({ layer: 'file' })], [], { ...INVALID, param: 'steps[0].parameters.layer' }, /multipart part/],
    [
      [overlay({ layerUrl: 'ftp://a.b/c' })],
      [],
      { ...INVALID, param: 'steps[0].parameters.layerUrl' },
      /http/,
    ],
    [
      [{ op: 'flip' }, overlay({ layerUrl: 'http://10.0.0.1/a.png' })],
      [],
      { ...INVALID, param: 'steps[1].parameters.layerUrl' },
      /./,
    ],
    [
      [overlay({ layerAssetId: 'ast_000000000000000000000000' })],
      [],
      { status: 404, code: 'asset_not_found', param: 'steps[0].parameters.layerAssetId' },
      /./,
    ],
    [[overlay({ marign: 3 })], [layer], { ...INVALID, param: 'steps[0].parameters.marign' }, /margin/],
    [[overlay({ margin: '101%' })], [layer], { ...INVALID, param: 'steps[0].parameters.margin' }, /5%/],
  ];
  for (const [steps, parts, expected, message] of rows) {
    const refusal = refusalOf(await sent(steps, parts));
    t.match(refusal, { ...expected, message }, `${JSON.stringify(steps)} with ${parts.length} parts`);
  }
  const unused = await sendParts(calls, '?op=flip', [filePart(png), layer]);
  t.match(refusalOf(unused), { ...INVALID, param: 'layer' });
  const outputs = [
    { name: 'a', steps: [overlay()] },
    { name: 'b', op: 'flip' },
  ];
  const without = await sendParts(calls, '', [field('outputs', outputs), filePart(png)]);
  t.match(refusalOf(without), { ...INVALID, param: 'layer' });
});

t.test('an overlay as op or in a preset is refused, and the refusal has the steps that work', async (t) => {
  const instead = [{ steps: [{ op: 'overlay', parameters: { position: 'north', margin: 4 } }] }];
  for (const answer of [
    await calls.transform({ op: 'overlay', position: 'north', margin: 4 }, png),
    await sendParts(calls, '?position=north', [
      { name: 'op', value: 'overlay' },
      { name: 'margin', value: '4' },
      filePart(png),
    ]),
    await sendParts(calls, '?op=overlay&position=north', [{ name: 'margin', value: '4' }, filePart(png)]),
    await server.call('/images/transform?op=overlay&margin=4', {
      key,
      json: { assetId: asset, parameters: { position: 'north' } },
    }),
    await server.call('/images/transform', {
      key,
      json: { assetId: asset, op: 'overlay', parameters: { position: 'north', margin: 4 } },
    }),
  ]) {
    const refusal = refusalOf(answer);
    t.match(refusal, { ...INVALID, param: 'op', details: { instead } });
    const works = await sent(refusal.details.instead[0].steps, [layerPart('layer', logo)]);
    t.same((await pictureOf(works)).at(30, 5), GREEN);
  }
  for (const [query, param] of [
    ['opacity=abc', 'opacity'],
    ['opacty=1', 'opacty'],
    ['x=1', 'y'],
  ])
    t.match(refusalOf(await sendParts(calls, `?op=overlay&${query}`, [filePart(png)])), {
      ...INVALID,
      param,
    });
  const steps = [overlay({ layerAssetId: logoAsset })];
  await server.call('/presets', { key, json: { name: 'Branded', slug: 'branded', steps } });
  const preset = refusalOf(await sendParts(calls, '?preset=branded', [filePart(png)]));
  t.match(preset, { ...INVALID, param: 'preset', details: { instead: [{ steps }] } });
  t.equal((await sent(preset.details.instead[0].steps)).status, 200);
  const outputs = [
    { name: 'a', preset: 'branded' },
    { name: 'b', op: 'flip' },
  ];
  const output = await sendParts(calls, '', [field('outputs', outputs), filePart(png)]);
  t.match(refusalOf(output), { ...INVALID, param: 'outputs[0].preset', details: { instead: [{ steps }] } });
});

t.test('a dry run takes the second pictures, and refuses what the call would', async (t) => {
  const steps = [field('steps', [overlay({ margin: '5%' })]), filePart(png)];
  const priced = await sendParts(calls, '?dryRun=true', [...steps, layerPart('layer', logo)]);
  t.match(priced.json.data, { format: 'png', width: 60, height: 40 });
  t.match(refusalOf(await sendParts(calls, '?dryRun=true', steps)), { ...INVALID, param: 'layer' });
});

t.test('a part of an op that needs no second picture may have any other name', async (t) => {
  const beside = await sendParts(calls, '?op=flip', [filePart(png), layerPart('mask', logo)]);
  t.equal(beside.status, 200);
});
