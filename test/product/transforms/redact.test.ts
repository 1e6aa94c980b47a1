// needs: server
import ExifReader from 'exifreader';
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, pngOf, type Query, rasterOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);

/** Cameras' files with a thumbnail in their EXIF. */
const CAMERAS = ['apple-iphone-4s', 'canon-eos-450d', 'htc-one-m8', 'nikon-d90'].map(
  (name) => `photos/${name}.jpg`,
);

function thumbnailOf(file: Uint8Array): Buffer {
  const { Thumbnail } = ExifReader.load(Buffer.from(file), { expanded: true });
  return Buffer.from((Thumbnail?.image as ArrayBuffer | undefined) ?? new ArrayBuffer(0));
}

/** A fingerprint of a thumbnail: bytes of its middle, which are in no other file. */
function middleOf(thumbnail: Buffer): Buffer {
  return thumbnail.subarray(thumbnail.length >> 1, (thumbnail.length >> 1) + 48);
}

t.test('no thumbnail of the picture as it was goes along with kept metadata', corpus, async (t) => {
  const regions = [{ x: 0, y: 0, width: 150, height: 150 }];
  const queries: Query[] = [
    { op: 'redact', regions },
    { op: 'crop', x: 0, y: 0, width: 100, height: 100 },
    { op: 'resize', width: 200 },
    { op: 'compress', maxBytes: 100_000 },
    { op: 'grayscale', format: 'webp' },
    { op: 'redact', regions, format: 'png' },
  ];
  for (const name of CAMERAS) {
    const thumbnail = thumbnailOf(image(name));
    t.ok(thumbnail.length > 5_000, `${name} has one`);
    const whole = { file: image(name), queries: queries.slice(0, 1) };
    const small = { file: await sharp(image(name)).resize(400).keepExif().jpeg().toBuffer(), queries };
    for (const { file, queries } of [whole, small]) {
      const { Make } = ExifReader.load(Buffer.from(file));
      for (const query of queries) {
        const { status, bytes } = await calls.transform({ ...query, metadata: 'keep' }, file, 'image/jpeg');
        const label = `${name} ${query.op} ${query.format}`;
        t.equal(status, 200, label);
        t.equal(bytes.indexOf(middleOf(thumbnail)), -1, `${label}: the thumbnail is gone`);
        t.equal(thumbnailOf(bytes).length, 0, `${label}: and no other came`);
        t.same(ExifReader.load(bytes).Make?.description, Make?.description, `${label}: the rest is kept`);
      }
    }
  }
});

t.test('a thumbnail in a PNG, a WebP and an AVIF goes as well', corpus, async (t) => {
  const file = image('photos/htc-one-m8.jpg');
  const thumbnail = thumbnailOf(file);
  const small = sharp(file).resize(120).keepExif();
  for (const format of ['png', 'webp', 'avif'] as const) {
    const input = await small.clone().toFormat(format).toBuffer();
    t.ok(input.indexOf(middleOf(thumbnail)) > 0, `${format} carries it`);
    const answer = await calls.transform(
      { op: 'redact', regions: [{ x: 0, y: 0, width: 9, height: 9 }], metadata: 'keep' },
      input,
      `image/${format}`,
    );
    t.equal(answer.status, 200, answer.json?.error?.message);
    t.equal(answer.bytes.indexOf(middleOf(thumbnail)), -1, `${format} does not any more`);
    t.match(ExifReader.load(answer.bytes).Make?.description, /HTC/);
  }
});

t.test('a redaction keeps no block that may hold a copy, other ops do', corpus, async (t) => {
  const file = image('modern/paris_exif_xmp_icc.jpg');
  const blocksOf = async (query: Query) => {
    const { bytes } = await calls.transform({ ...query, metadata: 'keep' }, file, 'image/jpeg');
    const { exif, xmp, icc } = await sharp(bytes).metadata();
    return [exif, xmp, icc].map((block) => block !== undefined);
  };
  t.same(await blocksOf({ op: 'flip' }), [true, true, true]);
  t.same(await blocksOf({ op: 'redact', regions: [{ x: 0, y: 0, width: 9, height: 9 }] }), [
    true,
    false,
    true,
  ]);
});

t.test('what is covered cannot be told from the result, in any style, frame or format', corpus, async (t) => {
  const box = { x: 100, y: 80, width: 120, height: 60 };
  // Two pictures that differ in the covered region alone, the more so the less is left of it.
  const photo = sharp(image('photos/kodak-20.png')).resize(400);
  const cover = async (background: string) => {
    const input = await sharp({ create: { width: box.width, height: box.height, channels: 3, background } })
      .png()
      .toBuffer();
    return pngOf(
      photo
        .clone()
        .composite([{ input, left: box.x, top: box.y }])
        .removeAlpha(),
    );
  };
  const [one, other] = [await pngOf(photo.clone()), await cover('#ff00ff')];
  for (const format of ['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff']) {
    const query = { op: 'redact', regions: [box], format };
    const [first, second] = [await calls.transform(query, one), await calls.transform(query, other)];
    t.ok(first.status === 200 && first.bytes.equals(second.bytes), `${format}: byte for byte the same`);
  }
  const before = await rasterOf(one);
  for (const style of ['blur', 'pixelate']) {
    const after = await pictureOf(
      await calls.transform({ op: 'redact', regions: [box], style, format: 'png' }, one),
    );
    const colours = new Set<string>();
    for (let y = box.y; y < box.y + box.height; y += 1) {
      for (let x = box.x; x < box.x + box.width; x += 1) colours.add(after.at(x, y).join());
    }
    if (style === 'pixelate') t.ok(colours.size <= 8 * 8, `${colours.size} blocks are left`);
    t.ok(detailOf(after, box) < detailOf(before, box) / 3, `${style}: no detail is left`);
    t.same(after.at(99, 79), before.at(99, 79), `${style}: and outside all is as it was`);
  }
  const { data } = await pictureOf(
    await calls.transform(
      { op: 'redact', regions: [{ x: 0, y: 0, width: 20, height: 20 }] },
      image('animated/anim.webp'),
      'image/webp',
    ),
  );
  const frameBytes = 200 * 200 * 4;
  for (let frame = 0; frame < 6; frame += 1) {
    const at = frame * frameBytes + (10 * 200 + 10) * 4;
    t.same([...data.subarray(at, at + 4)], [0, 0, 0, 255], `frame ${frame}`);
  }
});

t.test(
  'a region at the edge covers what there is, and colour is opaque whatever was asked',
  corpus,
  async (t) => {
    const clear = await pngOf(
      sharp({ create: { width: 30, height: 30, channels: 4, background: { r: 9, g: 9, b: 9, alpha: 0 } } }),
    );
    const result = await pictureOf(
      await calls.transform(
        { op: 'redact', regions: [{ x: 20, y: 20, width: 500, height: 500 }], color: 'rgba(255, 0, 0, 0)' },
        clear,
      ),
    );
    t.same(result.at(25, 25), [255, 0, 0, 255]);
    t.equal(result.at(5, 5)[3], 0);
  },
);

t.test('a colour that fills nothing says so', async (t) => {
  const plain = await pngOf(sharp({ create: { width: 300, height: 300, channels: 3, background: '#888' } }));
  const large = { x: 0, y: 0, width: 200, height: 200 };
  const rows: Array<[query: Query, warnings: string | null]> = [
    [{ regions: [large], style: 'blur', color: 'red' }, 'no_effect:color'],
    [{ regions: [large], style: 'pixelate', color: 'red' }, 'no_effect:color'],
    [{ regions: [large], style: 'fill', color: 'red' }, null],
    [{ regions: [large], style: 'blur' }, null],
    [{ regions: [{ ...large, width: 20 }], style: 'blur', color: 'red' }, null],
    [{ regions: [{ ...large, x: 290 }], style: 'blur', color: 'red' }, null],
  ];
  for (const [query, warnings] of rows) {
    for (const dryRun of [false, true]) {
      const { status, headers } = await calls.transform({ op: 'redact', dryRun, ...query }, plain);
      t.same([status, headers.get('x-service-warnings')], [200, warnings], JSON.stringify(query));
    }
  }
});

/** How much neighbours differ within a box. */
function detailOf(
  { at }: { at(x: number, y: number): number[] },
  box: { x: number; y: number; width: number; height: number },
): number {
  let sum = 0;
  for (let y = box.y; y < box.y + box.height; y += 1) {
    for (let x = box.x; x < box.x + box.width - 1; x += 1)
      sum += Math.abs((at(x, y)[1] ?? 0) - (at(x + 1, y)[1] ?? 0));
  }
  return sum;
}
