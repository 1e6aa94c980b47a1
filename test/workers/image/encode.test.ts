// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { computeSsimulacra2 } from '../../../workers/image/likeness/ssimulacra2.ts';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, drawn, made, passOf, raster, refused, WHITE } from './passes.ts';

const corpus = needsImages(t);

t.test('the format is the input’s own where it can be written, else png', corpus, async (t) => {
  const table = {
    'photos/kodak-1.png': 'image/png',
    'orientation/landscape_1.jpg': 'image/jpeg',
    'modern/simple-rgb.webp': 'image/webp',
    'modern/paris_icc_exif_xmp.avif': 'image/avif',
    'animated/interlaced.gif': 'image/gif',
    'modern/mandrill.tiff': 'image/tiff',
  };
  for (const [name, type] of Object.entries(table)) {
    t.equal((await made(image(name), passOf([['resize', { width: 32 }]]))).contentType, type, name);
  }
  const raw = { width: 2, height: 2, channels: 4 } as const;
  const pixels = Uint8Array.from({ length: 16 }, () => 255);
  const drawing = await made(pixels, passOf([['negate']]), { raw });
  t.equal(drawing.contentType, 'image/png');
  t.same((await raster(drawing.data)).at(0, 0), [0, 0, 0, 255]);
  t.same((await raster((await made(pixels, passOf([]), { raw })).data)).at(1, 1), WHITE);
});

t.test('every format is written with every setting it has', async (t) => {
  const input = await drawn(64, 64, (x, y) => [x * 4, y * 4, (x * y) % 256]);
  const size = async (encode: object) => (await made(input, passOf([], encode))).data.byteLength;
  for (const format of ['jpeg', 'webp', 'avif', 'tiff'])
    t.ok((await size({ format, quality: 20 })) < (await size({ format, quality: 95 })), `${format}: quality`);
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'gif'])
    for (const effort of [0, 9]) t.ok((await size({ format, effort })) > 0, `${format}: effort ${effort}`);
  for (const format of ['webp', 'avif']) {
    const { data } = await made(input, passOf([], { format, lossless: true } as object));
    t.ok(
      difference(await raster(data), await raster(input)) <= (format === 'avif' ? 3 : 0),
      `${format}: lossless`,
    );
  }
  t.ok((await size({ format: 'png', colors: 4 })) < (await size({ format: 'png' })));
  t.ok((await size({ format: 'png', palette: true })) < (await size({ format: 'png' })));
  t.ok((await size({ format: 'gif', colors: 4 })) < (await size({ format: 'gif' })));
  t.ok((await size({ format: 'jpeg', chroma: '4:2:0' })) < (await size({ format: 'jpeg', chroma: '4:4:4' })));
  t.ok(
    (await sharp((await made(input, passOf([], { format: 'jpeg', progressive: true }))).data).metadata())
      .isProgressive,
  );
  for (const lossy of [
    { format: 'jpeg' },
    { format: 'gif' },
    { format: 'tiff' },
    { format: 'png', colors: 8 },
  ])
    t.match(await refused(input, passOf([], { ...lossy, lossless: true } as object)), {
      code: 'invalid_param',
      param: 'lossless',
    });
  const setting = await refused(input, passOf([['negate'], ['webp', { lossless: true }]]));
  t.match(setting, { code: 'invalid_param', param: 'steps[1].operation' }, 'the catalogue merges settings');
});

t.test('a small JPEG is sequential, because its scans would cost more than they save', corpus, async (t) => {
  const photo = sharp(image('photos/kodak-4.png'));
  for (const [width, isProgressive] of [
    [64, false],
    [128, false],
    [512, true],
  ] as const) {
    const input = await photo.clone().resize(width).png().toBuffer();
    const jpeg = async (settings: object) => {
      const { data } = await made(input, passOf([], { format: 'jpeg', quality: 80, ...settings }));
      return { bytes: data.byteLength, isProgressive: (await sharp(data).metadata()).isProgressive };
    };
    const usual = await jpeg({});
    t.equal(usual.isProgressive, isProgressive, `${width} px by default`);
    for (const progressive of [true, false]) {
      const asked = await jpeg({ progressive });
      t.equal(asked.isProgressive, progressive, `${width} px, progressive ${progressive}`);
      t.ok(
        usual.bytes <= asked.bytes,
        `${width} px: ${usual.bytes} bytes by default, ${asked.bytes} when asked`,
      );
    }
    const slowest = await jpeg({ effort: 8 });
    t.ok(slowest.bytes <= usual.bytes, `${width} px: ${slowest.bytes} bytes with effort 8`);
  }
});

t.test('the AVIF of a drawing gets the effort from which its encoder knows drawings', corpus, async (t) => {
  // Lines of ten glyphs of 8 × 12 pixels, as on a screen.
  const [width, height] = [600, 400];
  const pixels = Buffer.alloc(width * height * 3, 255);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const glyph = (7 * (x >> 3) + 3 * ((y / 16) | 0)) % 10;
      const isInk =
        y % 16 < 12 && (((glyph + 3) * 0x9e3779b1) >>> (((x & 7) >> 1) + 4 * ((y % 16) >> 2))) & 1;
      if (isInk) pixels.set([200, 0, 40], (y * width + x) * 3);
    }
  const drawing = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  const photo = await sharp(image('photos/kodak-4.png')).resize(600).png().toBuffer();
  const bytes = async (input: Buffer, settings: object) =>
    (await made(input, passOf([], { format: 'avif', ...settings }))).data.byteLength;
  t.equal(await bytes(drawing, {}), await bytes(drawing, { effort: 3 }), 'a drawing');
  t.ok(
    (await bytes(drawing, {})) < 0.8 * (await bytes(drawing, { effort: 0 })),
    'is a fifth smaller than with 0',
  );
  t.equal(await bytes(photo, {}), await bytes(photo, { effort: 0 }), 'a photograph');
  const large = await sharp(drawing).resize(1800, 1200, { kernel: 'nearest' }).png().toBuffer();
  t.equal(await bytes(large, {}), await bytes(large, { effort: 0 }), 'a large drawing');
});

t.test('more effort makes smaller files, and the usual effort is one of them', corpus, async (t) => {
  const usual = { jpeg: 4, webp: 3, avif: 0 };
  for (const name of ['photos/kodak-1.png', 'photos/kodak-4.png']) {
    const input = await sharp(image(name)).resize(512).png().toBuffer();
    for (const format of ['jpeg', 'webp', 'avif'] as const) {
      const sizeAt = async (encode: EncodeOptions) =>
        (await made(input, passOf([], { format, ...encode }))).data.byteLength;
      const [least = 0, middle = 0, most = 0] = await Promise.all(
        [0, 4, 9].map((effort) => sizeAt({ effort })),
      );
      t.ok(middle < least && most < middle * 1.02, `${name} as ${format}: ${least}, ${middle}, ${most}`);
      t.equal(await sizeAt({}), await sizeAt({ effort: usual[format] }), `${format} by default`);
    }
  }
});

t.test('a raised quality gives back what trellis quantisation of a JPEG takes', corpus, async (t) => {
  const input = image('photos/kodak-4.png');
  const original = { channels: 4, ...(await raster(input)) } as const;
  for (const quality of [20, 50, 80]) {
    const [scans, trellis] = await Promise.all(
      [8, 9].map(async (effort) => {
        const { data } = await made(input, passOf([], { format: 'jpeg', quality, effort }));
        return computeSsimulacra2(original, { channels: 4, ...(await raster(data)) });
      }),
    );
    t.ok(Math.abs((trellis ?? 0) - (scans ?? 0)) < 3, `quality ${quality}: ${scans}, ${trellis}`);
  }
});

t.test('an edge is as long as its encoder takes it', async (t) => {
  const line = async (width: number) =>
    (
      await sharp({ create: { width, height: 2, channels: 3, background: 'red' } })
        .png()
        .toUint8Array()
    ).data;
  t.equal((await made(await line(100_000), passOf([['flip']], { format: 'png' }))).width, 100_000);
  t.equal((await made(await line(100_000), passOf([['flip']], { format: 'tiff' }))).width, 100_000);
  const table: [EncodeOptions, number][] = [
    [{ format: 'jpeg' }, 65_500],
    [{ format: 'tiff', quality: 80 }, 65_500],
    [{ format: 'gif' }, 65_535],
    [{ format: 'webp' }, 16_383],
    [{ format: 'avif' }, 16_384],
  ];
  for (const [encode, limit] of table)
    t.match(
      await refused(await line(limit + 1), passOf([], encode)),
      { param: 'format', details: { limit } },
      JSON.stringify(encode),
    );
  t.equal((await made(await line(65_500), passOf([], { format: 'jpeg' }))).width, 65_500);
});
