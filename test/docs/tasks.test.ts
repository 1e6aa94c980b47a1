// needs: server, browser
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { prepareZXingModule, writeBarcode } from 'zxing-wasm/writer';
import { type Answer, type CallOptions, sharedServer } from '../support/harness.ts';

/**
 * Tasks of people who come with a picture and a wish, each done with as few calls as the interface allows. What the
 * answers are is tested elsewhere: here the calls count, and that none fails and none is wrong without a word.
 */
const MAX_CALLS = 45;

const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });
const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });

let calls = 0;
let lost = 0;

/** Makes a call that must succeed, and counts it. */
async function ask(path: string, options: CallOptions = {}): Promise<Answer> {
  calls += 1;
  const answer = await server.call(path, { key, ...options });
  if (answer.status >= 300) {
    lost += 1;
    t.fail(`${path}: ${answer.bytes.toString('utf8', 0, 400)}`);
  }
  return answer;
}

type File = readonly [name: string, bytes: Uint8Array<ArrayBuffer>];

/** A form with files, and fields that are JSON where they are no text. */
function formOf(files: readonly File[], fields: Record<string, unknown> = {}): CallOptions {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields))
    body.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  for (const [name, bytes] of files) body.append(name, new Blob([bytes]), `${name}.png`);
  return { method: 'POST', body };
}

const transform = (bytes: Uint8Array<ArrayBuffer>, fields: Record<string, unknown>, more: File[] = []) =>
  ask('/images/transform', formOf([['file', bytes], ...more], fields));
const silent = ({ headers }: Answer, what: string) => t.equal(headers.get('x-service-warnings'), null, what);
const metadataOf = (file: Uint8Array) => sharp(file, { pages: -1 }).metadata();
const bytesOf = async (picture: Sharp) => new Uint8Array(await picture.toBuffer());

/** A photograph of noise over a gradient, of its own for each number. */
async function photograph(width: number, height: number, number = 0) {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const x = Math.floor(at / 3) % width;
    return (x / 4 + ((at * 7919 + number * 104_729) % 61)) % 256;
  });
  return sharp(data, { raw: { width, height, channels: 3 } });
}

const photo = await bytesOf(
  (await photograph(800, 600)).jpeg({ quality: 92 }).withMetadata({ orientation: 6 }),
);
const logo = await bytesOf(
  sharp({
    create: { width: 90, height: 60, channels: 4, background: { r: 0, g: 90, b: 200, alpha: 1 } },
  }).png(),
);
const page = await bytesOf(
  sharp({ create: { width: 800, height: 300, channels: 3, background: '#ffffff' } })
    .composite([
      {
        input: { text: { text: 'INVOICE 4711\nTotal 1234.50 EUR', font: 'sans 40', dpi: 72, rgba: true } },
        left: 40,
        top: 60,
      },
    ])
    .png(),
);
const moving = await bytesOf(
  sharp(
    await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map(async (number) => (await photograph(240, 140, number)).png().toBuffer()),
    ),
    { join: { animated: true } },
  ).gif({ delay: Array.from({ length: 8 }, () => 80) }),
);

t.test('one picture, while one waits', async (t) => {
  const sized = (name: string, width: number, maxBytes: number) => ({
    name,
    steps: [
      { op: 'resize', parameters: { width } },
      { op: 'compress', parameters: { maxBytes, format: 'webp' } },
    ],
  });
  const three = await transform(photo, {
    outputs: [sized('large', 500, 100_000), sized('medium', 300, 40_000), sized('small', 100, 8_000)],
  });
  t.equal(three.headers.get('x-service-outputs'), '3/3', 'three sizes with limits');

  const avatar = await transform(photo, {
    steps: [
      { op: 'thumbnail', parameters: { size: 200, format: 'png' } },
      { op: 'border', parameters: { width: 8, color: '#ffffff', radius: '50%' } },
    ],
  });
  silent(avatar, 'a round avatar with a ring');
  t.equal((await metadataOf(avatar.bytes)).hasAlpha, true);

  const marked = await transform(
    photo,
    { steps: [{ op: 'overlay', parameters: { position: 'southeast', margin: '4%', opacity: 0.8 } }] },
    [['layer', logo]],
  );
  silent(marked, 'a logo');

  const other = await bytesOf(
    sharp(page)
      .composite([{ input: Buffer.from(logo), left: 500, top: 100 }])
      .png(),
  );
  const difference = await ask(
    '/images/compare',
    formOf([
      ['file', page],
      ['other', other],
    ]),
  );
  t.match(difference.json.data.regions, [{ x: 500, y: 100, width: 90, height: 60 }], 'a difference');

  silent(
    await transform(photo, { op: 'redact', regions: [{ x: 90, y: 80, width: 200, height: 200 }] }),
    'a face',
  );

  const html = '<h1>Über 🎉</h1><pre>const a = 1;</pre>';
  const card = await ask('/images/render', {
    json: { html, css: 'h1 { font: 40px sans-serif }', width: 1_200, height: 630 },
  });
  t.equal((await metadataOf(card.bytes)).width, 1_200, 'a card');

  const smallest = await transform(photo, { op: 'compress', format: 'avif,webp,jpeg', minSsim: '0.95' });
  t.match(smallest.headers.get('x-service-format'), /avif|webp|jpeg/, 'the smallest file');

  const facts = await ask('/images/metadata?palette=5', formOf([['file', photo]]));
  t.ok(facts.json.data.image.palette.length > 0, 'a palette');

  const { image } = await writeBarcode('https://example.test/4711', { format: 'QRCode', scale: 4 });
  const code = new Uint8Array((await image?.arrayBuffer()) ?? new ArrayBuffer(0));
  const codes = await ask('/images/read-codes', formOf([['file', code]]));
  t.match(codes.json.data.codes, [{ text: 'https://example.test/4711' }], 'a code');

  const read = await ask('/images/read-text', formOf([['file', page]]));
  t.match(read.json.data.text, /INVOICE 4711\s+Total 1234\.50 EUR/, 'an invoice');

  const still = await transform(moving, { op: 'extract_frame', format: 'png' });
  t.equal((await metadataOf(still.bytes)).pages, undefined, 'a still');

  const webp = await transform(moving, { op: 'compress', format: 'webp', maxBytes: '120000', maxFps: '10' });
  t.ok(
    webp.bytes.length <= 120_000 && ((await metadataOf(webp.bytes)).pages ?? 1) > 1,
    'a smaller animation',
  );

  const clean = await transform(photo, { op: 'convert', format: 'jpeg' });
  t.match(await metadataOf(clean.bytes), { exif: undefined, orientation: undefined }, 'no metadata');

  t.match(clean.headers.get('server-timing'), /process;dur=.*encode;dur=.*total;dur=/, 'where the time went');

  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>',
  );
  const icon = await transform(new Uint8Array(svg), { op: 'resize', width: '512', format: 'png' });
  t.equal((await metadataOf(icon.bytes)).width, 512, 'an icon');

  const shape = (name: string, aspect: string) => ({
    name,
    op: 'crop',
    parameters: { aspect, gravity: 'attention' },
  });
  const shapes = await transform(photo, {
    outputs: [shape('square', '1:1'), shape('wide', '16:9'), shape('tall', '9:16')],
  });
  t.equal(shapes.headers.get('x-service-outputs'), '3/3', 'three shapes');
});

t.test('many pictures, and what is kept', async (t) => {
  const files = await Promise.all(
    Array.from({ length: 50 }, async (_, number): Promise<File> => {
      return ['file', await bytesOf((await photograph(60, 40, number)).png())];
    }),
  );
  const uploaded = await ask('/assets/upload?collection=spring', formOf(files));
  const { assets } = uploaded.json.data;
  t.equal(assets.length, 50);
  t.type(assets[49].image.thumbhash, 'string', 'a preview of each');
  const assetIds: string[] = assets.map(({ id }: { id: string }) => id);

  const data = Object.fromEntries(assetIds.slice(0, 6).map((id, at) => [`image${at + 1}`, `asset://${id}`]));
  const sheet = await ask('/images/render', { json: { templateId: 'contact-sheet', data } });
  t.equal(sheet.headers.get('content-type'), 'image/png', 'a contact sheet');

  const variants = [
    { name: 's', parameters: { width: 20 } },
    { name: 'm', parameters: { width: 40 } },
  ];
  const job = await ask('/jobs', {
    json: { op: 'resize', from: { collection: 'spring' }, variants, parameters: { format: 'webp' } },
  });
  const ended = await ask(`/jobs/${job.json.data.id}?wait=60&items=0`);
  t.match(ended.json.data, { status: 'COMPLETED', completedItems: 100 });
  const zip = await ask(`/jobs/${job.json.data.id}/results.zip`);
  t.match(zip.bytes.toString('latin1'), /-s\.webp/);

  const cut = await ask('/jobs?wait=60', {
    json: {
      assetIds: assetIds.slice(0, 1),
      steps: [
        { op: 'remove_background' },
        { op: 'pad', parameters: { all: 20, background: '#ffffff', format: 'jpeg' } },
      ],
    },
  });
  const [item] = cut.json.data.items;
  t.match(item, { status: 'COMPLETED' });
  const onWhite = await ask(`/assets/${item.resultAssetId}/content`);
  t.equal(cut.json.data.sandbox, true);
  t.match(
    onWhite.headers.get('x-service-warnings'),
    /^sandbox_model:/,
    'a cut-out on white, by no real model',
  );

  const priced = await ask('/jobs?dryRun=true', {
    json: {
      op: 'edit',
      model: 'sandbox-image',
      prompt: 'Blue',
      assetIds: assetIds.slice(0, 1),
      maxCredits: 50,
    },
  });
  t.type(priced.json.data.credits, 'number', 'the price first');

  const slow = await ask('/jobs', {
    json: { op: 'edit', prompt: 'Blue [sandbox:wait=400]', assetIds: assetIds.slice(0, 20) },
  });
  const path = `/jobs/${slow.json.data.id}`;
  await ask(`${path}/cancel`, { method: 'POST' });
  const stopped = await ask(`${path}?wait=60&items=0`);
  if (stopped.json.data.status === 'CANCELLED') await ask(`${path}/resume`, { method: 'POST' });

  const similar = await ask(`/assets?similarTo=${assetIds[0]}&distance=7`);
  t.ok(Array.isArray(similar.json.data), 'near duplicates');

  const link = await ask('/delivery-links', {
    json: { assetId: assetIds[0], op: 'resize', parameters: { width: 30 }, format: 'webp' },
  });
  t.match(link.json.data.html, /^<img src=/, 'an element for a page');
});

t.test(`the tasks take at most ${MAX_CALLS} calls`, async (t) => {
  t.comment(`${calls} calls, ${lost} lost`);
  t.ok(calls <= MAX_CALLS, `${calls} calls`);
  t.equal(lost, 0);
});
