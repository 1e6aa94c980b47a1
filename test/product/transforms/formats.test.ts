// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { openCalls, pictureOf, pngOf, refusalOf } from './calls.ts';
import { filePart, type Part, partsOf, sendParts } from './multipart.ts';

/** A picture with soft and hard edges and a little noise, 180 × 120. */
const [width, height] = [180, 120];
const pixels = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
  const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width)];
  return [x, (y * 2) % 256, x < 90 ? 60 : 200][at % 3] as number;
});
const png = new Uint8Array(
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer(),
);
const calls = await openCalls(t);
const { server, key } = calls;
const FORMATS = ['avif', 'webp', 'jpeg', 'png'];
const INVALID = { status: 400, code: 'invalid_param', retryable: false };
const field = (name: string, value: unknown): Part => ({ name, value: JSON.stringify(value) });

function ok(answer: Answer): Answer {
  if (answer.status !== 200) throw new Error(answer.bytes.toString('utf8', 0, 400));
  return answer;
}

const formatOf = ({ headers }: Answer) => headers.get('x-service-format');

for (const target of [{ minSsim: 0.97 }, { ssimulacra2: 70 }, { maxBytes: 3_000 }]) {
  t.test(`of several formats the smallest file is answered: ${JSON.stringify(target)}`, async (t) => {
    const alone: { format: string; answer: Answer }[] = [];
    for (const format of FORMATS) {
      const answer = await calls.transform({ op: 'compress', format, ...target }, png);
      if (answer.status === 200) alone.push({ format, answer });
    }
    alone.sort((one, other) => one.answer.bytes.length - other.answer.bytes.length);
    const [smallest] = alone;
    const parameters = { format: FORMATS, ...target };
    const query = ok(await calls.transform({ op: 'compress', ...target, format: FORMATS.join(',') }, png));
    t.equal(formatOf(query), smallest?.format);
    t.ok(query.bytes.equals(smallest?.answer.bytes as Buffer), 'the bytes of the format alone');
    t.equal((await pictureOf(query)).width, width);
    for (const name of ['quality', 'ssim', 'ssimulacra2'])
      t.equal(
        query.headers.get(`x-service-${name}`),
        smallest?.answer.headers.get(`x-service-${name}`),
        name,
      );
    const steps = [{ op: 'compress', parameters }];
    const inSteps = ok(await sendParts(calls, '', [field('steps', steps), filePart(png)]));
    t.ok(inSteps.bytes.equals(query.bytes), 'as a step');
    const outputs = [
      { name: 'thumb', op: 'resize', parameters: { width: 20 } },
      { name: 'small', op: 'compress', parameters },
    ];
    const several = ok(await sendParts(calls, '', [field('outputs', outputs), filePart(png)]));
    const [, small] = partsOf(several);
    t.ok(small?.body.equals(query.bytes), 'as an output');
    t.equal(small?.headers['x-service-format'], smallest?.format);
  });
}

t.test('no format alone makes a smaller file than several formats tried on samples first', async (t) => {
  const unhurried = await openCalls(t, { TRANSFORM_TIMEOUT_MS: '60000' });
  const large = new Uint8Array(
    await sharp(png).resize(1260, 840, { kernel: 'nearest' }).blur(3).png().toBuffer(),
  );
  const made = async (format: string) =>
    ok(await unhurried.transform({ op: 'compress', ssimulacra2: 80, effort: 1, format }, large));
  const alone: number[] = [];
  for (const format of ['avif', 'webp']) alone.push((await made(format)).bytes.length);
  const several = await made('avif,webp');
  t.ok(several.bytes.length <= Math.min(...alone), `${several.bytes.length} of ${alone} bytes`);
  t.equal(
    several.headers.get('x-service-warnings'),
    null,
    'a format that surely makes a larger file was tried',
  );
});

t.test('a header says when a search wrote its file without loss', async (t) => {
  const search = async (score: number) =>
    ok(await calls.transform({ op: 'compress', format: 'webp', ssimulacra2: score }, png));
  const lossless = await search(100);
  t.same(new Uint8Array(await sharp(lossless.bytes).removeAlpha().raw().toBuffer()), pixels);
  t.equal(lossless.headers.get('x-service-lossless'), 'true');
  t.equal((await search(50)).headers.get('x-service-lossless'), null);
  const assetId = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data.id;
  const parameters = { format: 'webp', ssimulacra2: 100 };
  const job = await server.call('/jobs', {
    key,
    json: { op: 'compress', assetIds: [assetId], parameters, wait: 30 },
  });
  t.match(job.json.data.items[0].achieved, { lossless: true, ssimulacra2: 100 });
});

t.test('a job and a preset take several formats too', async (t) => {
  const parameters = { format: ['webp', 'jpeg'], minSsim: 0.95 };
  const asset = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data.id;
  const call = ok(
    await server.call('/images/transform', { key, json: { assetId: asset, op: 'compress', parameters } }),
  );
  const job = await server.call('/jobs', {
    key,
    json: { op: 'compress', assetIds: [asset], parameters, wait: 30 },
  });
  const [item] = job.json.data.items;
  t.match(item, { status: 'COMPLETED', achieved: { ssim: Number } }, JSON.stringify(job.json));
  const made = await server.call(`/assets/${item.resultAssetId}/content`, { key });
  t.ok(made.bytes.equals(call.bytes));
  const steps = [
    { op: 'resize', parameters: { width: 90 } },
    { op: 'compress', parameters: { ...parameters, format: 'WEBP, jpg' } },
  ];
  const saved = await server.call('/presets', { key, json: { name: 'Small', slug: 'small', steps } });
  t.same(saved.json.data.steps[1].parameters.format, ['webp', 'jpeg']);
  t.equal((await pictureOf(await sendParts(calls, '?preset=small', [filePart(png)]))).width, 90);
});

t.test('a job takes several formats where child processes make them', async (t) => {
  const isolated = await openCalls(t, { IMAGE_ISOLATION: 'process' });
  const call = { key: isolated.key };
  const upload = await isolated.server.call('/assets/upload', { ...call, body: png, type: 'image/png' });
  const parameters = { format: ['webp', 'jpeg'], minSsim: 0.95 };
  const json = { op: 'compress', assetIds: [upload.json.data.id], parameters, wait: 60 };
  const [item] = (await isolated.server.call('/jobs', { ...call, json })).json.data.items;
  t.match(item, { status: 'COMPLETED', resultAssetId: String });
  const made = await isolated.server.call(`/assets/${item.resultAssetId}/content`, call);
  t.equal((await pictureOf(made)).width, width);
});

t.test('a drawing is drawn for each format', async (t) => {
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><circle cx="20" cy="15" r="9" fill="red"/></svg>',
  );
  const answer = ok(
    await calls.transform({ op: 'compress', format: 'webp,png', minSsim: 0.98 }, svg, 'image/svg+xml'),
  );
  const [red, , , alpha] = (await pictureOf(answer)).at(20, 15);
  t.ok(red > 200 && alpha > 200);
});

t.test('formats that keep no promise are left out; where none keeps it, the nearest is told', async (t) => {
  const query = { op: 'compress', maxBytes: 2_000 };
  const one = await calls.transform({ ...query, format: 'png' }, png);
  const both = await calls.transform({ ...query, format: 'tiff,webp' }, png);
  t.equal(formatOf(ok(both)), 'webp');
  t.type(one.status, 'number');
  const none = refusalOf(await calls.transform({ ...query, format: 'jpeg,webp', maxBytes: 120 }, png));
  t.match(none, { ...INVALID, param: 'maxBytes' });
});

t.test('an animation is written in the formats that move, although a still picture is smaller', async (t) => {
  const colours = ['#f00', '#0f0', '#00f'];
  const frames = await Promise.all(
    colours.map((background) => pngOf(sharp({ create: { width: 60, height: 40, channels: 3, background } }))),
  );
  const gif = await sharp(frames, { join: { animated: true } })
    .gif({ delay: [100, 100, 100] })
    .toBuffer();
  const json = { op: 'compress', parameters: { minSsim: 0.9 } };
  const asset = (await server.call('/assets/upload', { key, body: new Uint8Array(gif), type: 'image/gif' }))
    .json.data.id;
  for (const [format, frame, expected, pages] of [
    ['avif,webp', {}, 'webp', 3],
    ['jpeg,png,webp', {}, 'webp', 3],
    ['jpeg,webp', { frame: 'first' }, /webp|jpeg/, undefined],
  ] as const) {
    const query = { op: 'compress', minSsim: 0.9, format, ...frame };
    const sent = ok(await calls.transform(query, new Uint8Array(gif), 'image/gif'));
    const parameters = { ...json.parameters, format, ...frame };
    const stored = ok(
      await server.call('/images/transform', { key, json: { ...json, assetId: asset, parameters } }),
    );
    for (const answer of [sent, stored]) {
      t.match(formatOf(answer), expected, format);
      t.equal((await sharp(answer.bytes).metadata()).pages, pages, format);
    }
    const dry = await calls.transform({ ...query, dryRun: true }, new Uint8Array(gif), 'image/gif');
    t.match(dry.json.data, { frames: pages ?? 1, format: pages === undefined ? null : expected });
  }
});

t.test(
  'a format that loses transparency or kept metadata is none of several, unless a background is sent',
  async (t) => {
    /** Soft colours, which are a smaller JPEG than PNG, with one alpha for all the left half. */
    const soft = (alpha: number) => {
      const data = Uint8Array.from({ length: 128 * 128 * 4 }, (_, at) => {
        const [x, y] = [(at >> 2) % 128, at >> 9];
        const wave = Math.sin([x / 9, y / 11, (x + y) / 13][at % 4] ?? 0);
        return at % 4 < 3 ? 128 + 127 * wave : x < 64 ? alpha : 255;
      });
      return pngOf(sharp(data, { raw: { width: 128, height: 128, channels: 4 } }));
    };
    const [clear, translucent, opaque] = await Promise.all([0, 128, 255].map(soft));
    const rows: Array<[what: string, body: Uint8Array | undefined, query: object, expected: string]> = [
      ['transparent', clear, { format: 'png,jpeg' }, 'png'],
      ['translucent', translucent, { format: 'jpeg,png' }, 'png'],
      ['with an alpha channel, and opaque', opaque, { format: 'png,jpeg' }, 'jpeg'],
      ['on a background', clear, { format: 'png,jpeg', background: '#ff0000' }, 'jpeg'],
      ['levels of alpha that a GIF lacks', translucent, { format: 'gif,webp', minSsim: 0.8 }, 'webp'],
      ['the best of two that lose something', clear, { format: 'gif,jpeg', minSsim: 0.8 }, 'gif'],
      ['metadata that a GIF lacks', opaque, { format: 'gif,png', minSsim: 0.8, metadata: 'keep' }, 'png'],
    ];
    for (const [what, body, query, expected] of rows) {
      const sent = { op: 'compress', minSsim: 0.85, ...query };
      const answer = ok(await calls.transform(sent, body as Uint8Array));
      t.equal(formatOf(answer), expected, what);
      if (expected === 'jpeg' || what.startsWith('metadata')) continue;
      t.ok((await pictureOf(answer)).at(5, 5)[3] < 255, `${what}: it is still transparent`);
    }
    const rounded = [
      { op: 'round_corners', parameters: { radius: 20 } },
      { op: 'compress', parameters: { format: ['jpeg', 'png'], minSsim: 0.85 } },
    ];
    const answer = ok(await sendParts(calls, '', [field('steps', rounded), filePart(opaque as Uint8Array)]));
    t.equal(formatOf(answer), 'png', 'a step made it transparent');
    t.ok((await pictureOf(answer)).at(0, 0)[3] < 9);
    const [svg] = [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><circle r="9"/></svg>'),
    ];
    const drawn = await calls.transform(
      { op: 'compress', format: 'jpeg,png', minSsim: 0.9 },
      svg,
      'image/svg+xml',
    );
    t.equal(formatOf(ok(drawn)), 'png', 'a drawing with nothing behind it');
  },
);

t.test('a list with another word, and one that the parameters exclude, is refused', async (t) => {
  for (const [query, param, message] of [
    [{ format: 'avif,bmp', minSsim: 0.9 }, 'format', /list/],
    [{ format: 'webp,webp', minSsim: 0.9 }, 'format', /list/],
    [{ format: 'webp,', minSsim: 0.9 }, 'format', /list/],
    [{ format: 'webp,jpeg', minSsim: 0.9, lossless: true }, 'lossless', /jpeg has no lossless/],
    [{ format: 'webp,jpeg', minSsim: 0.9, frame: 'all' }, 'frame', /jpeg/],
    [{ format: 'webpp', minSsim: 0.9 }, 'format', /Did you mean webp\?/],
  ] as const)
    t.match(refusalOf(await calls.transform({ op: 'compress', ...query }, png)), {
      ...INVALID,
      param,
      message,
    });
  const other = refusalOf(await calls.transform({ op: 'convert', format: 'webp,jpeg' }, png));
  t.match(other, { ...INVALID, param: 'format' }, 'only compress chooses');
});
