// needs: server
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import t from 'tap';
import { prepareZXingModule, type WriteInputBarcodeFormat, writeBarcode } from 'zxing-wasm/writer';
import { sharedServer } from '../../support/harness.ts';
import { pngOf, refusalOf } from './calls.ts';

const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });

const server = await sharedServer();
const { key } = await server.account();

interface Found {
  text: string;
  format: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const read = (what: 'text' | 'codes', body: Uint8Array<ArrayBuffer>, query = '', type = 'image/png') =>
  server.call(`/images/read-${what}${query}`, { key, body, type });

const white = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#ffffff' } });

/** Two lines in black on white, 800 × 300. */
async function page(): Promise<Uint8Array<ArrayBuffer>> {
  const text = 'Invoice number 4711\nTotal 1234.50 EUR';
  const letters = { text: { text, font: 'sans 40', width: 700, dpi: 72, rgba: true } };
  return pngOf(
    white(800, 300).composite([{ input: Buffer.from(await pngOf(sharp(letters))), left: 50, top: 60 }]),
  );
}

async function codeOf(text: string, format: WriteInputBarcodeFormat): Promise<Buffer> {
  const { image } = await writeBarcode(text, { format, scale: 4 });
  if (image === null) throw new Error('no code was drawn');
  return Buffer.from(await image.arrayBuffer());
}

const WORDS = /Invoice number 4711\s+Total 1234\.50 EUR/;

t.test('text is read with its lines and their boxes, and counts one run', async (t) => {
  const used = async () => (await server.call('/account', { key })).json.data.processing.used;
  const before = await used();
  const { status, json, headers } = await read('text', await page());
  t.equal(status, 200, JSON.stringify(json));
  t.match(json.data, { width: 800, height: 300, text: WORDS, lines: [{}, {}] });
  t.ok(json.data.confidence > 0.8 && json.data.confidence <= 1);
  const [first, second] = json.data.lines as Found[];
  for (const line of [first, second]) t.ok(line && line.x >= 45 && line.x < 70 && line.width > 300);
  t.ok(first && second && first.y >= 55 && first.y + first.height <= second.y + 5 && second.y < 200);
  t.match(headers.get('x-service-duration-ms'), /^\d+$/);
  t.equal(await used(), before + 1);
});

t.test('text is read whichever way the picture is turned, and its boxes are where it stands', async (t) => {
  const upright = await page();
  const sized = (width: number, height: number) => ({ width, height, text: WORDS });
  const quarter = await read('text', await pngOf(sharp(upright).rotate(90)));
  t.match(quarter.json.data, sized(300, 800));
  for (const { x, y, width, height } of quarter.json.data.lines as Found[])
    t.ok(x > 90 && x + width < 245 && y >= 45 && y < 70 && height > 300 && width < 80);
  t.match((await read('text', await pngOf(sharp(upright).rotate(180)))).json.data, sized(800, 300));
  const tagged = new Uint8Array(
    await sharp(upright).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  );
  t.match((await read('text', tagged, '', 'image/jpeg')).json.data, sized(800, 300));
});

/** Rows of a text at the left and an amount at the right, on paper that lies a little askew. */
async function askew(
  rows: [string, string][],
  { size, width, angle }: Record<'size' | 'width' | 'angle', number>,
) {
  const written = (text: string) =>
    pngOf(sharp({ text: { text, font: `DejaVu Sans ${size}`, dpi: 72, rgba: true } }));
  const top = (row: number) => Math.round(size * (2 + 1.8 * row));
  const cells = rows.flatMap((row, index) =>
    row.map(async (text, column) => {
      const input = Buffer.from(await written(text));
      const left = column === 0 ? 60 : width - 60 - ((await sharp(input).metadata()).width ?? 0);
      return { input, left, top: top(index) };
    }),
  );
  const page = await pngOf(white(width, top(rows.length + 1)).composite(await Promise.all(cells)));
  return pngOf(sharp(page).rotate(angle, { background: '#ffffff' }));
}

t.test(
  'each row of an invoice is one line, with its amount and its unit, however far they stand apart',
  async (t) => {
    const rows: [string, string][] = [
      ['40 reams of paper, 80 g', '182.40'],
      ['Delivery', '12.00'],
      ['Total EUR', '194.40'],
    ];
    for (const angle of [0, 1.6, 2.2]) {
      const picture = await askew(rows, { size: 27, width: 1_000, angle });
      const { json } = await read('text', picture);
      t.same(
        json.data.lines.map(({ text }: Found) => text),
        rows.map((row) => row.join(' ')),
        `at ${angle} degrees`,
      );
    }
  },
);

t.test('a line that is read wrong is not called a sure one', async (t) => {
  const rows: [string, string][] = [
    ['Milk 1.5 l', '1.19'],
    ['Card **** 4021', '21.20'],
    ['Cash', '50.00'],
    ['Approval code 93X72Q', '560.00'],
  ];
  const picture = await askew(rows, { size: 13, width: 360, angle: 0 });
  const small = new Uint8Array(await sharp(picture).jpeg({ quality: 60 }).toBuffer());
  const { json } = await read('text', small, '', 'image/jpeg');
  const lines = json.data.lines as (Found & { confidence: number })[];
  t.equal(lines.length, rows.length);
  const wrong = lines.filter(({ text }, index) => text !== rows[index]?.join(' '));
  t.ok(wrong.length > 0 && wrong.length <= 2, 'small letters are hard to read');
  for (const { text, confidence } of wrong) t.ok(confidence < 0.6, `${text}: ${confidence}`);
  t.ok(lines.some(({ confidence }) => confidence > 0.8));
});

t.test('the boxes of a large picture are in its own pixels', async (t) => {
  const large = await pngOf(
    white(4_000, 1_500).composite([
      { input: Buffer.from(await pngOf(sharp(await page()).resize(3_200))), left: 400, top: 150 },
    ]),
  );
  const { json } = await read('text', large);
  t.match(json.data, { width: 4_000, height: 1_500, text: WORDS });
  for (const { x, width } of json.data.lines as Found[]) t.ok(x > 560 && x < 680 && width > 1_200);
});

const KINDS: [text: string, format: WriteInputBarcodeFormat, left: number, top: number][] = [
  ['https://example.test/a?b=1', 'QRCode', 40, 40],
  ['DM-4711', 'DataMatrix', 300, 40],
  ['Aztec 4711', 'Aztec', 500, 40],
  ['4006381333931', 'EAN13', 40, 300],
  ['ABC-4711', 'Code128', 560, 300],
  ['PDF 4711', 'PDF417', 40, 560],
];

t.test('codes of several kinds are read from one picture, at any angle', async (t) => {
  const drawn = await Promise.all(
    KINDS.map(async ([text, format, left, top]) => ({ input: await codeOf(text, format), left, top })),
  );
  const sheet = await pngOf(white(1_100, 800).composite(drawn));
  const { status, json } = await read('codes', sheet);
  t.equal(status, 200, JSON.stringify(json));
  const codes = json.data.codes as Found[];
  for (const [text, format, left, top] of KINDS) {
    const code = codes.find((one) => one.text === text);
    t.match(code, { format }, `${format} ${JSON.stringify(codes)}`);
    if (code === undefined) continue;
    t.ok(
      code.x >= left && code.x < left + 80 && code.y >= top - 5 && code.y < top + 80,
      JSON.stringify(code),
    );
  }
  t.strictSame(
    codes.map(({ y }) => y),
    codes.map(({ y }) => y).sort((one, other) => one - other),
  );
  for (const angle of [90, 33, 180, 10]) {
    const turned = await pngOf(sharp(sheet).rotate(angle, { background: '#ffffff' }));
    const found = (await read('codes', turned)).json.data.codes as Found[];
    for (const [text, format] of KINDS.filter(
      ([, format]) => /QR|Data|EAN/.test(format) && (format !== 'EAN13' || angle !== 33),
    ))
      t.ok(
        found.some((one) => one.text === text),
        `${format} at ${angle}`,
      );
  }
});

t.test('a turned bar code is one code, with all of its digits', async (t) => {
  const number = '00012345678905';
  const code = await pngOf(
    sharp(await codeOf(number, 'ITF')).extend({
      top: 70,
      bottom: 70,
      left: 90,
      right: 90,
      background: '#ffffff',
    }),
  );
  for (const angle of [0, 17, -17]) {
    const turned = await pngOf(sharp(code).rotate(angle, { background: '#ffffff' }));
    const { json } = await read('codes', turned);
    t.same(
      json.data.codes.map(({ text }: Found) => text),
      [number],
      `at ${angle} degrees`,
    );
  }
});

t.test('a picture with nothing to read is no failure', async (t) => {
  const plain = await pngOf(white(90, 60));
  t.match((await read('text', plain)).json.data, { width: 90, height: 60, text: '', lines: [] });
  t.same((await read('codes', plain)).json.data, { width: 90, height: 60, codes: [] });
});

t.test('the picture may be a file, an asset or a drawing; refusals name the field', async (t) => {
  const body = new FormData();
  body.append('file', new Blob([await page()], { type: 'image/png' }), 'page.png');
  t.match((await server.call('/images/read-text', { method: 'POST', key, body })).json.data.text, WORDS);
  const { json } = await server.call('/assets/upload', { key, body: await page(), type: 'image/png' });
  const assetId: string = json.data.id;
  const ofAsset = await server.call('/images/read-text?language=eng', { key, json: { assetId } });
  t.match(ofAsset.json.data, { width: 800, height: 300, text: WORDS });
  const drawing =
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="9" height="9"/></svg>';
  const bytes = new TextEncoder().encode(drawing);
  t.same((await read('codes', bytes, '', 'image/svg+xml')).json.data, {
    width: 2400,
    height: 1800,
    codes: [],
  });

  const refusals: [path: string, sent: object, refusal: object][] = [
    [
      '/images/read-text?language=klingon',
      {},
      { param: 'language', details: { received: 'klingon', allowed: ['eng'] } },
    ],
    ['/images/read-codes?language=eng', {}, { param: 'language' }],
    ['/images/read-text?lang=eng', {}, { param: 'lang', message: /language/ }],
    ['/images/read-text', { language: 'eng' }, { param: 'language', message: /\?language=eng/ }],
    ['/images/transform?op=read_text', {}, { param: 'op', message: /POST \/api\/v1\/images\/read-text/ }],
  ];
  for (const [path, sent, refusal] of refusals) {
    const answer = await server.call(path, { key, json: { assetId, ...sent } });
    t.match(refusalOf(answer), { status: 400, code: 'invalid_param', ...refusal }, path);
  }
  const steps = [{ op: 'flip' }, { op: 'read_codes' }];
  const inSteps = await server.call('/images/transform', { key, json: { assetId, steps } });
  t.match(refusalOf(inSteps), { status: 400, param: 'steps[1].op', message: /job/ });
  t.match(refusalOf(await read('text', new TextEncoder().encode('no picture'))), {
    status: 400,
    code: 'unsupported_format',
  });
});

t.test('both are ops of jobs, as the last step', async (t) => {
  const turned = await pngOf(sharp(await page()).rotate(180));
  const upload = async (body: Uint8Array<ArrayBuffer>) =>
    (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data.id as string;
  const [page180, code] = [
    await upload(turned),
    await upload(await pngOf(sharp(await codeOf('4711', 'QRCode')))),
  ];
  const submit = (json: object) => server.call('/jobs?wait=30', { key, json });
  const steps = [{ op: 'rotate', parameters: { angle: 180 } }, { op: 'read_text' }];
  const text = await submit({ steps, assetIds: [page180] });
  t.match(text.json.data, { type: 'process', status: 'COMPLETED', items: [{ output: { text: WORDS } }] });
  const codes = await submit({ op: 'read_codes', assetIds: [code] });
  t.match(codes.json.data, {
    status: 'COMPLETED',
    items: [{ output: { codes: [{ text: '4711', format: 'QRCode' }] } }],
  });
  const early = await submit({ steps: steps.toReversed(), assetIds: [page180] });
  t.match(refusalOf(early), { status: 400, param: 'steps[0].op' });
});

t.test('another word for an op is answered with the way that does it', async (t) => {
  const { json } = await server.call('/assets/upload', { key, body: await page(), type: 'image/png' });
  const ways: [word: string, way: RegExp][] = [
    ['ocr', /read_text/],
    ['qr', /read_codes/],
    ['barcode', /read_codes/],
    ['blurhash', /placeholder/],
    ['collage', /contact-sheet/],
    ['montage', /contact-sheet/],
    ['watermark', /overlay.*text/],
    ['face', /gravity=attention/],
    ['avatar', /round_corners/],
    ['thumb', /thumbnail/],
    ['scale', /resize/],
    ['resample', /resize/],
    ['colours', /metadata/],
    ['Colors', /metadata/],
  ];
  for (const [word, way] of ways) {
    const sync = await server.call(`/images/transform?op=${word}`, { key, json: { assetId: json.data.id } });
    t.match(refusalOf(sync), { status: 400, param: 'op', message: way }, word);
    const job = await server.call('/jobs', { key, json: { op: word, assetIds: [json.data.id] } });
    t.match(refusalOf(job), { status: 400, param: 'op', message: way }, `${word} as a job`);
    const step = await server.call('/jobs', {
      key,
      json: { steps: [{ op: word }], assetIds: [json.data.id] },
    });
    t.match(refusalOf(step), { status: 400, param: 'steps[0].op', message: way }, `${word} as a step`);
    const page = await server.call(`/ops/${word}`);
    t.match(page.json.error.message, way, `the page of ${word}`);
  }
});
