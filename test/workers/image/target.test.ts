// needs: pixels
import sharp from 'sharp';
import { ssim as ssimJs } from 'ssim.js';
import t from 'tap';
import { computeSsim, type LumaPlane } from '../../../workers/image/likeness/ssim.ts';
import { computeSsimulacra2 } from '../../../workers/image/likeness/ssimulacra2.ts';
import { searchSetting } from '../../../workers/image/search/trials.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, drawn, made, passOf, raster, refused, type StepText } from './passes.ts';

const corpus = needsImages(t);
const SMALL: StepText[] = [['resize', { width: 256 }]];

/** Luma by Rec. 601. */
async function lumaOf(file: Uint8Array): Promise<LumaPlane> {
  const { data, info } = await sharp(file)
    .removeAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  const luma = (at: number) =>
    Math.round(0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0));
  return {
    data: Uint8Array.from({ length: info.width * info.height }, (_, index) => luma(index * 3)),
    width: info.width,
    height: info.height,
  };
}

/** RGB. */
async function rasterOf(file: Uint8Array) {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

t.test('maxBytes is reached, as closely as the encoder allows', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  for (const format of ['jpeg', 'webp', 'avif', 'png', 'gif', 'tiff'] as const) {
    const free = (await made(photo, passOf(SMALL, { format }))).data.byteLength;
    const maxBytes = Math.round(free * (format === 'png' ? 0.45 : 0.6));
    const { data } = await made(photo, passOf(SMALL, { format, target: { maxBytes } }));
    t.ok(data.byteLength <= maxBytes, `${format}: ${data.byteLength} of ${maxBytes}`);
    if (format === 'jpeg' || format === 'webp')
      t.ok(data.byteLength > 0.9 * maxBytes, `${format} is not smaller than it must be`);
    const generous = await made(photo, passOf(SMALL, { format, target: { maxBytes: 10_000_000 } }));
    t.ok(
      generous.data.byteLength <= Math.max(free * 1.3, free + 1000),
      `${format}: room to spare is not filled`,
    );
  }
});

t.test('what cannot be reached is refused with what was reached', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  const bytes = await refused(photo, passOf(SMALL, { format: 'jpeg', target: { maxBytes: 200 } }));
  t.match(bytes, { code: 'invalid_param', param: 'maxBytes' });
  t.ok((bytes.details?.reached as number) > 200);
  const likeness = await refused(photo, passOf(SMALL, { format: 'gif', target: { minSsim: 1 } }));
  t.match(likeness, { code: 'invalid_param', param: 'minSsim' });
  t.ok((likeness.details?.reached as number) < 1);
});

t.test('minSsim is reached by the smallest file', corpus, async (t) => {
  const photo = image('photos/kodak-4.png');
  const original = await lumaOf((await made(photo, passOf(SMALL, { format: 'png' }))).data);
  for (const format of ['jpeg', 'webp'] as const) {
    let before = 0;
    for (const minSsim of [0.85, 0.95, 0.98]) {
      const { data } = await made(photo, passOf(SMALL, { format, target: { minSsim } }));
      const reached = computeSsim(original, await lumaOf(data));
      t.ok(reached >= minSsim && reached < minSsim + 0.03, `${format}: ${reached} for ${minSsim}`);
      t.ok(data.byteLength > before, 'more likeness takes more bytes');
      before = data.byteLength;
    }
  }
  const exact = await made(photo, passOf(SMALL, { format: 'png', target: { minSsim: 1 } }));
  t.equal(computeSsim(original, await lumaOf(exact.data)), 1);
});

t.test('a score of SSIMULACRA 2 is reached by the smallest file, and told', corpus, async (t) => {
  const photo = image('photos/kodak-4.png');
  const original = await rasterOf((await made(photo, passOf(SMALL, { format: 'png' }))).data);
  for (const format of ['jpeg', 'webp', 'avif'] as const) {
    const target = { ssimulacra2: 75 };
    const { data, achieved } = await made(photo, passOf(SMALL, { format, target }));
    const reached = computeSsimulacra2(original, await rasterOf(data));
    t.ok(reached >= 75 && reached < 77, `${format}: ${reached}`);
    t.equal(achieved?.ssimulacra2, Math.floor(reached * 100) / 100, `${format}: what is told`);
    t.ok((achieved?.trials ?? 99) <= 5, `${format}: ${achieved?.trials} trials`);
  }
  const exact = await made(photo, passOf(SMALL, { format: 'webp', target: { ssimulacra2: 100 } }));
  t.equal(computeSsimulacra2(original, await rasterOf(exact.data)), 100);
  const tooGood = await refused(photo, passOf(SMALL, { format: 'jpeg', target: { ssimulacra2: 99 } }));
  t.match(tooGood, { code: 'invalid_param', param: 'ssimulacra2' });
});

t.test('a score has its bounds: what is too small or too large is refused', async (t) => {
  for (const [width, height] of [
    [7, 100],
    [2001, 2000],
  ] as const) {
    const file = await sharp({ create: { width, height, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    const refusal = await refused(file, passOf([], { format: 'webp', target: { ssimulacra2: 80 } }));
    t.match(refusal, { code: 'invalid_param', param: 'ssimulacra2' }, `${width} × ${height}`);
  }
});

t.test('a format that can be lossless reaches any likeness', corpus, async (t) => {
  const small = (await made(image('photos/kodak-4.png'), passOf(SMALL, { format: 'png' }))).data;
  for (const format of ['tiff', 'webp', 'avif'] as const) {
    for (const minSsim of [0.999, 1]) {
      const { data } = await made(small, passOf([], { format, target: { minSsim } }));
      t.ok(computeSsim(await lumaOf(small), await lumaOf(data)) >= minSsim, `${format}: ${minSsim}`);
      if (format !== 'avif' && minSsim === 1)
        t.equal(difference(await raster(small), await raster(data)), 0, format);
    }
  }
  const bounded = await refused(small, passOf([], { format: 'webp', quality: 50, target: { minSsim: 1 } }));
  t.match(bounded, { param: 'minSsim' }, 'a quality that is asked for is not passed over');
});

t.test('an input that reaches the target already is the answer', corpus, async (t) => {
  const small = sharp(image('photos/kodak-4.png')).resize(128);
  const files = {
    jpeg: await small.clone().jpeg({ quality: 30 }).toBuffer(),
    png: await small.clone().png({ palette: true, colours: 16 }).toBuffer(),
    webp: await small.clone().webp({ quality: 20 }).toBuffer(),
    avif: await small.clone().avif({ quality: 30, effort: 2 }).toBuffer(),
    tiff: await small.clone().tiff({ compression: 'jpeg', quality: 40 }).toBuffer(),
    gif: Buffer.from(image('animated/interlaced.gif')),
  };
  for (const [format, file] of Object.entries(files)) {
    const result = await made(file, passOf([], { target: { maxBytes: 1_000_000 } }));
    t.ok(Buffer.from(result.data).equals(file), `${format}: byte for byte`);
    const { width, height } = await sharp(file).metadata();
    t.match(result, { width, height, contentType: `image/${format}` });
  }
  const { jpeg } = files;
  const alike = await made(jpeg, passOf([], { format: 'jpeg', target: { minSsim: 1 } }));
  t.ok(Buffer.from(alike.data).equals(jpeg), 'nothing is more like it than itself');
  const loose = await made(jpeg, passOf([], { format: 'jpeg', target: { minSsim: 0.8 } }));
  t.ok(loose.data.byteLength < jpeg.byteLength, 'a smaller file that reaches the target is better');
  const moving = await made(
    image('animated/moon_impact.gif'),
    passOf([], { target: { maxBytes: 25_000_000 } }),
  );
  t.ok(moving.data.byteLength <= image('animated/moon_impact.gif').byteLength, 'an animation grows no more');
});

t.test('what has to go from the input does, in a file that is no larger', corpus, async (t) => {
  const base = sharp(image('photos/kodak-4.png')).resize(128).jpeg({ quality: 50 });
  const secret = { IFD0: { ImageDescription: 'secret' } };
  const exif = await base.clone().withExif(secret).toBuffer();
  const table: Record<string, Buffer> = {
    exif,
    profile: await base.clone().withIccProfile('p3').toBuffer(),
    'rest after the end': Buffer.concat([await base.clone().toBuffer(), Buffer.from('secret')]),
    'text chunk': await sharp(image('photos/kodak-4.png'))
      .resize(64)
      .png()
      .withXmp('<x>secret</x>')
      .toBuffer(),
    'gif comment': withComment(Buffer.from(image('animated/interlaced.gif'))),
    webp: await sharp(image('photos/kodak-4.png')).resize(64).webp().withExif(secret).toBuffer(),
    avif: await sharp(image('photos/kodak-4.png')).resize(64).avif({ effort: 2 }).withExif(secret).toBuffer(),
    tiff: await sharp(image('photos/kodak-4.png')).resize(64).tiff().withXmp('<x>secret</x>').toBuffer(),
  };
  for (const [name, file] of Object.entries(table)) {
    const { data } = await made(file, passOf([], { target: { maxBytes: 1_000_000 } }));
    t.notOk(Buffer.from(data).includes('secret'), name);
    t.notOk((await sharp(data).metadata()).icc, name);
    if (name !== 'tiff')
      t.ok(data.byteLength <= file.byteLength, `${name}: ${data.byteLength} of ${file.byteLength}`);
  }
  const kept = await made(exif, passOf([], { metadata: 'keep', target: { maxBytes: 1_000_000 } }));
  t.ok(
    kept.data.byteLength <= exif.byteLength && Buffer.from(kept.data).includes('secret'),
    'kept, it stays',
  );
  const turned = await base.clone().withMetadata({ orientation: 6 }).toBuffer();
  const upright = await made(turned, passOf([], { target: { maxBytes: 1_000_000 } }));
  t.equal(upright.width > upright.height, true, 'and it is turned upright');
  const asked = await made(exif, passOf([], { quality: 95, target: { maxBytes: 1_000_000 } }));
  t.ok(asked.data.byteLength > exif.byteLength, 'a quality that is asked for is what is wanted');
});

/** A GIF with a comment before its first frame. */
function withComment(gif: Buffer): Buffer {
  const start = 13 + 3 * 2 ** (((gif[10] as number) & 7) + 1);
  return Buffer.concat([
    gif.subarray(0, start),
    Buffer.from([0x21, 0xfe, 6]),
    Buffer.from('secret\0'),
    gif.subarray(start),
  ]);
}

t.test('a photograph takes few trials, and the answer says what was reached', corpus, async (t) => {
  const counts: number[] = [];
  for (const name of ['kodak-23']) {
    for (const format of ['jpeg', 'webp'] as const) {
      const photo = image(`photos/${name}.png`);
      for (const minSsim of [0.9, 0.97]) {
        const { achieved } = await made(photo, passOf([], { format, target: { minSsim } }));
        if (achieved === undefined) return t.fail('nothing is said');
        const { quality = 0, ssim = 0, trials } = achieved;
        counts.push(trials);
        t.ok(ssim >= minSsim && 1 - ssim > 0.9 * (1 - minSsim), `${name} ${format}: ${ssim} for ${minSsim}`);
        t.ok(quality > 1 && quality <= 100);
      }
      const { data, achieved } = await made(photo, passOf([], { format, target: { maxBytes: 30_000 } }));
      t.match(achieved, { bytes: data.byteLength, quality: Number });
      t.notOk(achieved?.ssim, 'a likeness that nobody asked for is not measured');
      t.ok(data.byteLength <= 30_000 && data.byteLength > 28_500, `${name} ${format}: ${data.byteLength}`);
      counts.push(achieved?.trials ?? 99);
    }
  }
  t.ok(Math.max(...counts) <= 5, `trials: ${counts}`);
  t.ok(counts.reduce((sum, count) => sum + count, 0) / counts.length <= 4, 'four in the mean');
});

t.test('a size that not even the smallest setting reaches is refused after two trials', async (t) => {
  const asked: number[] = [];
  await searchSetting({
    count: 80,
    pick: 'last',
    target: Math.log(100),
    tolerance: 0.03,
    expected: (index) => 8 + index / 20,
    hasTime: () => true,
    async attempt(index) {
      asked.push(index);
      return { value: 9 + index / 20, reaches: false };
    },
  });
  t.equal(asked.at(-1), 0);
  t.ok(asked.length <= 2, `${asked}`);
});

t.test('a size out of reach costs one trial where nothing is expected of a setting', async (t) => {
  const asked: number[] = [];
  await searchSetting({
    ...{ count: 14, pick: 'last', target: Math.log(100), tolerance: 0.03, firstMayFail: true },
    hasTime: () => true,
    async attempt(index) {
      asked.push(index);
      return { value: 9 + index, reaches: false };
    },
  });
  t.same(asked, [0]);
});

t.test('whatever is expected, the search ends at the last setting that reaches the target', async (t) => {
  const curves: ((index: number) => number)[] = [
    (index) => index,
    (index) => index ** 3 / 1000,
    (index) => (index < 50 ? 0 : 1000 + index),
  ];
  for (const curve of curves) {
    for (const target of [-5, 0.4, 17.3, 49.9, 1060.5, 5000]) {
      const kept: number[] = [];
      const failed: number[] = [];
      await searchSetting({
        count: 100,
        pick: 'last',
        target,
        tolerance: 0,
        expected: (index) => index * 2,
        hasTime: () => true,
        async attempt(index) {
          const reaches = curve(index) <= target;
          (reaches ? kept : failed).push(index);
          return { value: curve(index), reaches };
        },
      });
      t.ok(kept.length + failed.length <= 12, `${kept.length + failed.length} trials`);
      t.equal(Math.min(100, ...failed) - Math.max(-1, ...kept), 1, 'between them is nothing');
    }
  }
});

t.test('a search ends when time is up, with the best that reaches the target', corpus, async (t) => {
  const photo = image('photos/kodak-4.png');
  const pass = passOf(SMALL, { format: 'webp', target: { minSsim: 0.93 } });
  const hurried = await made(photo, pass, { deadlineMs: Date.now() + 2_500 });
  const unhurried = await made(photo, pass);
  t.ok((hurried.achieved?.ssim ?? 0) >= 0.93);
  t.ok((hurried.achieved?.trials ?? 99) <= (unhurried.achieved?.trials ?? 0));
});

t.test('animations and transparency reach targets too', async (t) => {
  const soft = await drawn(64, 64, (x, y) => [x * 4, y * 4, (x * y) % 256, x * 4]);
  const { data } = await made(soft, passOf([], { format: 'webp', target: { minSsim: 0.9 } }));
  t.equal((await sharp(data).metadata()).hasAlpha, true);
});

t.test('similarity agrees with an independent computation', corpus, async (t) => {
  const original = await made(image('photos/kodak-23.png'), passOf(SMALL, { format: 'png' }));
  for (const quality of [5, 20, 50, 90]) {
    const { data } = await made(original.data, passOf([], { format: 'jpeg', quality }));
    const [a, b] = [await raster(original.data), await raster(data)].map((one) => ({
      ...one,
      data: Uint8ClampedArray.from(one.data),
    }));
    if (a === undefined || b === undefined) throw new Error('no pictures');
    const theirs = ssimJs(a, b, { ssim: 'original', downsample: false }).mssim;
    const ours = computeSsim(await lumaOf(original.data), await lumaOf(data));
    t.ok(Math.abs(ours - theirs) < 0.004, `quality ${quality}: ${ours}, ${theirs}`);
  }
  const flat = { data: new Uint8Array(9), width: 3, height: 3 };
  t.equal(computeSsim(flat, flat), 1, 'a picture smaller than a window');
});
