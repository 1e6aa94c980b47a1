// needs: server
import sharp, { type Metadata } from 'sharp';
import { ssim } from 'ssim.js';
import t from 'tap';
import { image, imagesIn, needsImages, withoutGamma } from '../../support/images.ts';
import { openCalls, pictureOf, pngOf, rasterOf, refusalOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);

t.test(
  'every EXIF orientation comes out upright, in both shapes, through one pipeline or several',
  corpus,
  async (t) => {
    const calls = await openCalls(t);
    for (const shape of ['landscape', 'portrait']) {
      const size = shape === 'landscape' ? [150, 100] : [67, 100];
      const upright = await rasterOf(
        sharp(image(`orientation/${shape}_1.jpg`)).resize(size[0], size[1], { fit: 'fill' }),
      );
      for (let orientation = 0; orientation <= 8; orientation += 1) {
        const file = image(`orientation/${shape}_${orientation}.jpg`);
        const name = `${shape} ${orientation}`;
        const resized = await pictureOf(
          await calls.transform({ op: 'resize', height: 100, format: 'png' }, file, 'image/jpeg'),
        );
        t.same([resized.width, resized.height], size, name);
        const { mssim } = ssim(resized, upright);
        t.ok(mssim > 0.9, `${name} looks upright: ${mssim.toFixed(3)}`);
        const facts = (await calls.metadata(file, 'image/jpeg')).json.data.image;
        t.same(
          [facts.width > facts.height, facts.orientation],
          [shape === 'landscape', Math.max(1, orientation)],
          name,
        );
      }
      // A crop counts in the picture as it is seen, and what is kept of EXIF turns nobody a second time.
      const file = image(`orientation/${shape}_6.jpg`);
      const query = { op: 'crop', x: 0, y: 0, width: 600, height: 600, metadata: 'keep' };
      const cropped = await calls.transform(query, file, 'image/jpeg');
      const wanted = sharp(image(`orientation/${shape}_1.jpg`)).extract({
        left: 0,
        top: 0,
        width: 600,
        height: 600,
      });
      const likeness = ssim(await pictureOf(cropped), await rasterOf(wanted)).mssim;
      t.ok(likeness > 0.7, `the corner of the upright ${shape}: ${likeness.toFixed(3)}`);
      t.ok(
        ((await sharp(cropped.bytes).metadata()).orientation ?? 1) === 1,
        'no orientation is left to turn by',
      );
    }
  },
);

t.test(
  'transparency survives where it can, and lies on white or the background where it cannot',
  async (t) => {
    const calls = await openCalls(t);
    const half = {
      create: { width: 20, height: 20, channels: 4 as const, background: { r: 255, g: 0, b: 0, alpha: 0.5 } },
    };
    const file = await pngOf(sharp(half));
    for (const format of ['png', 'webp', 'avif', 'tiff']) {
      const [red, , , alpha] = (
        await pictureOf(
          await calls.transform(
            {
              op: 'resize',
              width: 10,
              format,
              ...(format === 'png' || format === 'tiff' ? {} : { lossless: true }),
            },
            file,
          ),
        )
      ).at(5, 5);
      t.ok((red ?? 0) > 250 && Math.abs((alpha ?? 0) - 128) <= 2, `${format}: ${red}, ${alpha}`);
    }
    const onWhite = await pictureOf(await calls.transform({ op: 'resize', width: 10, format: 'jpeg' }, file));
    const onBlue = await pictureOf(
      await calls.transform({ op: 'resize', width: 10, format: 'jpeg', background: 'blue' }, file),
    );
    const flat = await pictureOf(await calls.transform({ op: 'flatten', background: '#00f' }, file));
    const near = (actual: readonly number[], wanted: readonly number[]) =>
      actual.every((value, channel) => Math.abs(value - (wanted[channel] ?? 0)) <= 4);
    t.ok(near(onWhite.at(5, 5), [255, 127, 127, 255]), `white: ${onWhite.at(5, 5)}`);
    t.ok(near(onBlue.at(5, 5), [127, 0, 127, 255]), `blue: ${onBlue.at(5, 5)}`);
    t.ok(near(flat.at(5, 5), [127, 0, 127, 255]), `flatten: ${flat.at(5, 5)}`);
    t.ok(
      near((await pictureOf(await calls.transform({ op: 'remove_alpha' }, file))).at(5, 5), [255, 0, 0, 255]),
      'remove_alpha',
    );
    t.ok(
      near(
        (await pictureOf(await calls.transform({ op: 'alpha', opacity: 0.5 }, file))).at(5, 5),
        [255, 0, 0, 64],
      ),
      'alpha',
    );
    t.ok(
      near((await pictureOf(await calls.transform({ op: 'negate' }, file))).at(5, 5), [0, 255, 255, 128]),
      'negate leaves it',
    );
    t.ok(
      near(
        (await pictureOf(await calls.transform({ op: 'extract_channel', channel: 'alpha' }, file))).at(5, 5),
        [128, 128, 128, 255],
      ),
      'extract_channel',
    );
  },
);

t.test(
  '16 bits, CMYK, grey, palette and a single bit are worked on as the colours that they show',
  corpus,
  async (t) => {
    const calls = await openCalls(t);
    const deep = await sharp(image('photos/kodak-20.png')).resize(96).toColourspace('rgb16').png().toBuffer();
    const cmyk = await sharp(image('photos/kodak-20.png'))
      .resize(96)
      .toColourspace('cmyk')
      .jpeg({ quality: 95 })
      .toBuffer();
    const grey = await sharp(image('photos/kodak-20.png')).resize(96).greyscale().png().toBuffer();
    t.match(await sharp(deep).metadata(), { depth: 'ushort' });
    t.match(await sharp(cmyk).metadata(), { space: 'cmyk' });
    const files: [string, Uint8Array, string][] = [
      ['16-bit PNG', deep, 'image/png'],
      ['CMYK JPEG', cmyk, 'image/jpeg'],
      ['grey PNG', grey, 'image/png'],
      ['16-bit TIFF', image('modern/rgb-3c-16b.tiff'), 'image/tiff'],
      ['fax', image('modern/fax4.tiff'), 'image/tiff'],
      ['palette', withoutGamma(image('pngsuite/basn3p04.png')), 'image/png'],
      ['grey with alpha, 16 bits', withoutGamma(image('pngsuite/basn4a16.png')), 'image/png'],
    ];
    for (const [name, file, type] of files) {
      const shown = await rasterOf(sharp(file));
      const same = await pictureOf(await calls.transform({ op: 'convert', format: 'png' }, file, type));
      t.same([same.width, same.height], [shown.width, shown.height], name);
      t.ok(ssim(same, shown, { windowSize: 8 }).mssim > 0.97, `${name} looks the same`);
      const tinted = await calls.transform(
        { op: 'border', width: 3, color: '#ff0000', format: 'png' },
        file,
        type,
      );
      t.same((await pictureOf(tinted)).at(1, 1), [255, 0, 0, 255], `${name} takes a red border`);
      const negative = await pictureOf(await calls.transform({ op: 'negate', format: 'png' }, file, type));
      const [x, y] = [shown.width >> 1, shown.height >> 1];
      const sum = negative.at(x, y).map((value, channel) => value + (same.at(x, y)[channel] ?? 0));
      t.ok(
        sum.slice(0, 3).every((value) => Math.abs(value - 255) <= 2),
        `${name} has a negative: ${sum}`,
      );
    }
  },
);

t.test('an animation stays one: frames, delays and loops, and the height of one frame', corpus, async (t) => {
  const animations: [file: string, type: string][] = [
    ['animated/anim.webp', 'image/webp'],
    ['animated/moon_impact.gif', 'image/gif'],
    ['animated/anim-gr.gif', 'image/gif'],
  ];
  const queries = [
    { op: 'resize', width: 50 },
    { op: 'rotate', angle: 90 },
    { op: 'border', width: 4, color: 'red' },
    { op: 'flip', axis: 'vertical' },
    { op: 'redact', regions: [{ x: 0, y: 0, width: 10, height: 10 }] },
    { op: 'text', text: 'hi', size: 12, margin: 0 },
  ];
  for (const [name, type] of animations) {
    const file = image(name);
    const before = await sharp(file, { pages: -1 }).metadata();
    for (const query of queries) {
      for (const format of ['gif', 'webp']) {
        const answer = await calls.transform({ ...query, format }, file, type);
        const label = `${name} ${JSON.stringify(query)} to ${format}`;
        if (answer.status !== 200) {
          t.fail(`${label}: ${JSON.stringify(answer.json)}`);
          continue;
        }
        const after = await sharp(answer.bytes, { pages: -1 }).metadata();
        if (after.format === before.format) t.equal(after.pages, before.pages, `${label}: frames`);
        t.equal(playTimeMs(after), playTimeMs(before), `${label}: delays`);
        t.equal(after.loop, before.loop, `${label}: loops`);
        t.equal(
          Number(answer.headers.get('x-service-height')),
          after.pageHeight,
          `${label}: height of a frame`,
        );
        t.equal(Number(answer.headers.get('x-service-width')), after.width, `${label}: width`);
      }
    }
  }
});

t.test('frames are counted from 0, and one that is not there is refused on frame', corpus, async (t) => {
  const gif = image('animated/moon_impact.gif');
  const frames = 14;
  for (const frame of [0, 5, frames - 1]) {
    const wanted = await rasterOf(sharp(gif, { page: frame }));
    for (const query of [
      { op: 'extract_frame', frame },
      { op: 'convert', frame },
    ]) {
      const one = await pictureOf(await calls.transform({ ...query, format: 'png' }, gif, 'image/gif'));
      t.same([one.width, one.height], [116, 100]);
      t.ok(Buffer.from(one.data).equals(Buffer.from(wanted.data)), `frame ${frame} by ${query.op}`);
    }
  }
  for (const query of [
    { op: 'extract_frame', frame: frames },
    { op: 'resize', width: 9, frame: frames },
  ]) {
    t.match(refusalOf(await calls.transform(query, gif, 'image/gif')), {
      status: 400,
      code: 'invalid_param',
      param: 'frame',
      details: { received: frames, limit: frames - 1 },
    });
  }
  const first = await calls.transform(
    { op: 'resize', width: 40, frame: 'first', format: 'gif' },
    gif,
    'image/gif',
  );
  t.equal((await sharp(first.bytes, { pages: -1 }).metadata()).pages ?? 1, 1, 'first is one frame');
  const still = await calls.transform({ op: 'resize', width: 40, format: 'jpeg' }, gif, 'image/gif');
  t.match(await sharp(still.bytes).metadata(), { format: 'jpeg', width: 40 });
  const all = await calls.transform(
    { op: 'resize', width: 40, frame: 'all', format: 'png' },
    gif,
    'image/gif',
  );
  t.match(refusalOf(all), { status: 400, code: 'invalid_param', param: 'frame' });
});

t.test('the result has the format of its input unless told otherwise, and says so', corpus, async (t) => {
  const small = sharp(image('photos/kodak-20.png')).resize(64);
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const) {
    const file = await small.clone().toFormat(format).toBuffer();
    const answer = await calls.transform({ op: 'resize', width: 32 }, file, `image/${format}`);
    t.equal(answer.headers.get('content-type'), `image/${format}`);
    const { format: written, width } = await sharp(answer.bytes).metadata();
    t.same([written === 'heif' ? 'avif' : written, width], [format, 32]);
    for (const to of ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif']) {
      const converted = await calls.transform({ op: 'convert', format: to }, file, `image/${format}`);
      t.equal(converted.headers.get('content-type'), `image/${to}`);
      const { mssim } = ssim(await pictureOf(converted), await rasterOf(sharp(file)));
      t.ok(
        mssim > (to === 'gif' || format === 'gif' ? 0.6 : 0.85),
        `${format} to ${to}: ${mssim.toFixed(3)}`,
      );
    }
  }
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#0a0"/></svg>',
  );
  const drawn = await calls.transform({ op: 'resize', width: 20 }, svg, 'image/svg+xml');
  t.equal(drawn.headers.get('content-type'), 'image/png', 'what cannot be written becomes png');
  t.same((await pictureOf(drawn)).at(10, 5), [0, 170, 0, 255]);
  const dense = await calls.transform({ op: 'convert', format: 'png', density: 192 }, svg, 'image/svg+xml');
  t.equal((await pictureOf(dense)).width, 80);
});

t.test('the encoder does as it is told', corpus, async (t) => {
  const file = await pngOf(sharp(image('photos/kodak-20.png')).resize(256));
  const convert = async (query: object) => (await calls.transform({ op: 'convert', ...query }, file)).bytes;
  const facts = async (query: object) => sharp(await convert(query)).metadata();
  t.equal((await facts({ format: 'jpeg', progressive: true })).isProgressive, true);
  t.equal((await facts({ format: 'jpeg' })).isProgressive, true);
  t.equal((await facts({ format: 'jpeg', progressive: false })).isProgressive, false);
  t.equal((await facts({ format: 'jpeg', quality: 90 })).chromaSubsampling, '4:4:4');
  t.equal((await facts({ format: 'jpeg', quality: 89 })).chromaSubsampling, '4:2:0');
  t.equal((await facts({ format: 'jpeg', chroma: '4:4:4' })).chromaSubsampling, '4:4:4');
  t.equal((await facts({ format: 'jpeg', chroma: '4:2:0' })).chromaSubsampling, '4:2:0');
  t.equal((await facts({ format: 'png', palette: true })).isPalette, true);
  for (const query of [
    { format: 'png', colors: 16 },
    { format: 'gif', colors: 4 },
  ]) {
    const { width, height, at } = await rasterOf(await convert(query));
    const pixels = Array.from({ length: width * height }, (_, index) =>
      at(index % width, Math.floor(index / width)).join(),
    );
    const colours = new Set(pixels).size;
    t.ok(colours > 1 && colours <= query.colors, `${JSON.stringify(query)}: ${colours} colours`);
  }
  const [low, high] = [
    await convert({ format: 'webp', quality: 10 }),
    await convert({ format: 'webp', quality: 95 }),
  ];
  t.ok(low.length * 3 < high.length, `${low.length} and ${high.length} bytes`);
  const lossless = await rasterOf(await convert({ format: 'webp', lossless: true }));
  t.ok(Buffer.from(lossless.data).equals(Buffer.from((await rasterOf(file)).data)), 'lossless is exact');
  t.match(refusalOf(await calls.transform({ op: 'convert', format: 'jpeg', lossless: true }, file)), {
    status: 400,
    param: 'lossless',
  });
});

t.test('compress reaches its target, or says what it reached', corpus, async (t) => {
  const file = await pngOf(sharp(image('photos/kodak-20.png')).resize(256));
  const photo = await rasterOf(file);
  for (const format of ['jpeg', 'webp', 'png', 'gif']) {
    const maxBytes = format === 'png' || format === 'gif' ? 20_000 : 6_000;
    const { status, bytes } = await calls.transform({ op: 'compress', maxBytes, format }, file);
    t.ok(status === 200 && bytes.length <= maxBytes, `${format}: ${status}, ${bytes.length} bytes`);
    t.ok(bytes.length > maxBytes / 4, `${format} uses what it may`);
  }
  for (const format of ['jpeg', 'webp', 'png']) {
    const answer = await calls.transform({ op: 'compress', minSsim: 0.95, format }, file);
    const { mssim } = ssim(await pictureOf(answer), photo);
    t.ok(mssim >= 0.94, `${format}: another measure finds ${mssim.toFixed(4)}`);
  }
  const tooSmall = refusalOf(await calls.transform({ op: 'compress', maxBytes: 100, format: 'webp' }, file));
  t.match(tooSmall, { status: 400, code: 'invalid_param', param: 'maxBytes' });
  t.ok(tooSmall.details.reached > 100, JSON.stringify(tooSmall.details));
  const tooGood = refusalOf(await calls.transform({ op: 'compress', minSsim: 1, format: 'jpeg' }, file));
  t.match(tooGood, { status: 400, code: 'invalid_param', param: 'minSsim' });
  t.ok(tooGood.details.reached < 1 && tooGood.details.reached > 0.9, JSON.stringify(tooGood.details));
});

t.test('photographs of cameras are told by what they are', corpus, async (t) => {
  for (const name of imagesIn('photos').filter((file) => file.endsWith('.jpg'))) {
    const { status, json } = await calls.metadata(image(name), 'image/jpeg');
    t.equal(status, 200, name);
    t.match(
      json.data,
      { image: { format: 'jpeg', hasAlpha: false, isOpaque: true, frames: 1 }, durationMs: Number },
      name,
    );
    const resized = await calls.transform({ op: 'resize', width: 320 }, image(name), 'image/jpeg');
    t.equal((await pictureOf(resized)).width, 320, name);
  }
});

/** A frame of at most 10 ms is shown for 100, as browsers do; GIF to WebP, equal frames become a longer one. */
function playTimeMs({ delay = [] }: Metadata): number {
  return delay.reduce((sum, delayMs) => sum + (delayMs <= 10 ? 100 : Math.min(delayMs, 65_535)), 0);
}
