// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { openCalls, pictureOf, pngOf, rasterOf, refusalOf } from './calls.ts';
import { filePart, type Part, partsOf, type SentPart, sendParts } from './multipart.ts';

const png = await pngOf(
  sharp({ create: { width: 60, height: 40, channels: 3, background: '#c04020' } }).composite([
    { input: { create: { width: 30, height: 40, channels: 3, background: '#2040c0' } }, left: 0, top: 0 },
  ]),
);
const calls = await openCalls(t);
const field = (name: string, value: unknown): Part => ({ name, value: JSON.stringify(value) });
const sent = (outputs: unknown, query = '', more: Part[] = []) =>
  sendParts(calls, query, [field('outputs', outputs), ...more, filePart(png)]);

const small = { name: 'small', op: 'resize', parameters: { width: 30 } };
const flipped = { name: 'flipped', steps: [{ op: 'flip' }, { op: 'blur', parameters: { sigma: 2 } }] };
const webp = { name: 'web', op: 'convert', parameters: { format: 'webp', lossless: true } };
/** An output that fails when it is made: no pixel is left of it. */
const outside = {
  name: 'outside',
  op: 'crop',
  parameters: { x: 500, y: 500, width: 10, height: 10 },
};

/** The names of the files in the directory of an archive. */
function namesIn(archive: Buffer): string[] {
  const names: string[] = [];
  for (let at = archive.indexOf('PK\x01\x02'); at !== -1; at = archive.indexOf('PK\x01\x02', at + 4))
    names.push(archive.toString('latin1', at + 46, at + 46 + archive.readUInt16LE(at + 28)));
  return names;
}

async function usedRuns(): Promise<number> {
  const { json } = await calls.server.call('/usage', { key: calls.key });
  return json.data.groups.reduce((sum: number, group: { sync: number }) => sum + group.sync, 0);
}

t.test('several outputs of one call are the pictures of calls of their own, one run each', async (t) => {
  const before = await usedRuns();
  const answer = await sent([small, flipped, webp]);
  t.equal(answer.status, 200, answer.bytes.toString('latin1', 0, 300));
  t.match(answer.headers.get('content-type'), /^multipart\/mixed; boundary=/);
  t.equal(answer.headers.get('x-service-outputs'), '3/3');
  const parts = partsOf(answer);
  t.equal(await usedRuns(), before + 3);
  const alone = [
    await calls.transform({ op: 'resize', width: 30 }, png),
    await sendParts(calls, '', [field('steps', flipped.steps), filePart(png)]),
    await calls.transform({ op: 'convert', format: 'webp', lossless: true }, png),
  ];
  for (const [index, name] of ['small.png', 'flipped.png', 'web.webp'].entries()) {
    const { headers, body } = parts[index] as SentPart;
    const single = alone[index] as Answer;
    t.ok(body.equals(single.bytes), name);
    t.match(headers['content-disposition'], `name="${name.split('.')[0]}"; filename="${name}"`);
    t.equal(headers['content-length'], String(body.length));
    for (const header of ['content-type', 'x-service-width', 'x-service-height', 'x-service-format'])
      t.equal(headers[header], single.headers.get(header), `${header} of ${name}`);
  }
  const mirrored = await rasterOf(parts[1]?.body as Buffer);
  t.same([mirrored.width, mirrored.height], [60, 40]);
});

t.test('each part tells what was measured of its picture, as the answer of a call of its own', async (t) => {
  const target = { op: 'compress', parameters: { minSsim: 0.9, format: 'jpeg' } };
  const preview = { op: 'placeholder', parameters: { kind: 'blur', format: 'webp' } };
  const parts = partsOf(
    await sent([
      { name: 'target', ...target },
      { name: 'preview', ...preview },
    ]),
  );
  for (const [index, { op, parameters }] of [target, preview].entries()) {
    const { headers } = await calls.transform({ op, ...parameters }, png);
    const names = ['quality', 'ssim', 'trials', 'thumbhash', 'blurhash'].map((name) => `x-service-${name}`);
    const measured = Object.fromEntries(names.map((name) => [name, headers.get(name) ?? undefined]));
    t.ok(Object.values(measured).filter((value) => value !== undefined).length >= 2, op);
    t.match(parts[index]?.headers, measured, op);
  }
});

t.test('steps beside the outputs run first for all of them', async (t) => {
  const first = { op: 'crop', parameters: { x: 0, y: 0, width: 30, height: 40 } };
  const answer = await sent([small, webp], '', [field('steps', [first])]);
  const sizes = await Promise.all(partsOf(answer).map(({ body }) => rasterOf(body)));
  t.same(
    sizes.map(({ width, height }) => [width, height]),
    [
      [30, 40],
      [30, 40],
    ],
  );
  t.same(sizes[1]?.at(29, 5), [0x20, 0x40, 0xc0, 255], 'the half that was cut out');
});

t.test('an output that fails says so in its part, and the others stay', async (t) => {
  const before = await usedRuns();
  const answer = await sent([small, outside]);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('x-service-outputs'), '1/2');
  const [made, failed] = partsOf(answer);
  t.equal((await rasterOf(made?.body as Buffer)).width, 30);
  t.equal(failed?.headers['content-type'], 'application/json');
  const { error, success } = JSON.parse(String(failed?.body));
  t.equal(success, false);
  t.match(error, { code: 'invalid_param', param: /^outputs\[1\]\.parameters\.(x|y)$/ });
  t.equal(await usedRuns(), before + 1);
  const none = await sent([outside, { ...outside, name: 'again' }]);
  t.match(refusalOf(none), { status: 400, code: 'invalid_param', param: /^outputs\[0\]\.parameters/ });
  t.equal(await usedRuns(), before + 1);
});

t.test('the outputs come as an archive, or as links, if the caller asks for it', async (t) => {
  const { server, key } = calls;
  const asset = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data.id;
  const json = { assetId: asset, outputs: [small, webp, outside] };
  const zip = await server.call('/images/transform', { key, json, headers: { accept: 'application/zip' } });
  t.equal(zip.headers.get('content-type'), 'application/zip');
  t.same(namesIn(zip.bytes), ['small.png', 'web.webp', 'outside.error.json']);
  const links = await server.call('/images/transform?response=url', { key, json });
  t.equal(links.status, 200);
  const { outputs } = links.json.data;
  t.match(outputs[0], { name: 'small', contentType: 'image/png', width: 30, height: 20 });
  t.match(outputs[2], { name: 'outside', error: { code: 'invalid_param' } });
  const one = await server.call('/images/transform?op=convert&format=webp&response=url', {
    key,
    json: { assetId: asset },
  });
  t.match([one.json.data.contentType, one.headers.get('x-service-format')], ['image/webp', 'webp']);
  const stored = await fetch(outputs[1].url);
  t.equal((await rasterOf(Buffer.from(await stored.arrayBuffer()))).width, 60);
});

t.test('an output may be a preset, and a drawing is drawn for each output in its size', async (t) => {
  const { server, key } = calls;
  const steps = [{ op: 'resize', parameters: { width: 20 } }];
  const { json } = await server.call('/presets', { key, json: { name: 'Tiny', steps } });
  const parts = partsOf(await sent([small, { name: 'tiny', preset: json.data.slug }]));
  t.equal((await rasterOf(parts[1]?.body as Buffer)).width, 20);
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>',
  );
  const large = { name: 'large', op: 'resize', parameters: { width: 200 } };
  const drawn = await sendParts(calls, '', [
    field('outputs', [large, { ...webp, name: 'own' }]),
    filePart(svg, 'image/svg+xml'),
  ]);
  const sizes = await Promise.all(partsOf(drawn).map(({ body }) => rasterOf(body)));
  t.same(
    sizes.map(({ width }) => width),
    [200, 10],
  );
});

t.test('what is wrong within outputs is named by its place', async (t) => {
  const rows: Array<[outputs: unknown, param: string, says: RegExp]> = [
    [[small], 'outputs', /2 to 20 entries/],
    [{ small }, 'outputs', /list/],
    [[small, small], 'outputs[1].name', /earlier output/],
    [[small, { ...webp, name: 'Web!' }], 'outputs[1].name', /name/],
    [[small, { name: 'none' }], 'outputs[1]', /no work/],
    [[small, { ...webp, steps: [{ op: 'flip' }] }], 'outputs[1].steps', /both op and steps/],
    [[small, { ...flipped, parameters: {} }], 'outputs[1].parameters', /beside steps/],
    [[small, { name: 'wide', op: 'resise' }], 'outputs[1].op', /resize/],
    [
      [small, { name: 'wide', op: 'resize', parameters: { widht: 5 } }],
      'outputs[1].parameters.widht',
      /^Did you mean width\? .* which takes /,
    ],
    [
      [small, { name: 'wide', steps: [{ op: 'flip' }, { op: 'upscale' }] }],
      'outputs[1].steps[1].op',
      /runs a model/,
    ],
    [[small, { name: 'wide', op: 'resize', width: 5 }], 'outputs[1].width', /parameters of the output/],
  ];
  for (const [outputs, param, says] of rows) {
    const refusal = refusalOf(await sent(outputs));
    t.match(refusal, { status: 400, code: 'invalid_param', param, message: says }, JSON.stringify(outputs));
  }
  t.match(refusalOf(await sent([small, webp], '?op=flip')), { status: 400, param: 'outputs' });
  t.match(refusalOf(await sent([small, webp], '?width=5')), { status: 400, param: 'width' });
  t.match(refusalOf(await sent([small, { name: 'gone', preset: 'nowhere' }])), {
    status: 404,
    code: 'preset_not_found',
  });
});

t.test('every answer of a transform tells its format', async (t) => {
  const answer = await calls.transform({ op: 'convert', format: 'webp' }, png);
  t.equal(answer.headers.get('x-service-format'), 'webp');
  t.equal((await pictureOf(answer)).width, 60);
});
