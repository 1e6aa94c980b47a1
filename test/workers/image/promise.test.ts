import sharp from 'sharp';
import { ssim as ssimJs } from 'ssim.js';
import t from 'tap';
import { type Luma, ssim } from '../../../workers/image/ssim.ts';
import { image, needsImages } from '../../images.ts';
import { drawn, made, passOf, raster, refused, type StepText } from './passes.ts';

const corpus = needsImages(t);
const SMALL: StepText[] = [['resize', { width: 256 }]];

async function lumaOf(file: Uint8Array): Promise<Luma> {
  const { data, info } = await sharp(file).greyscale().toColourspace('b-w').raw().toUint8Array();
  return { data, width: info.width, height: info.height };
}

t.test('maxBytes is kept, as closely as the encoder allows', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  for (const format of ['jpeg', 'webp', 'avif', 'png', 'gif', 'tiff'] as const) {
    const free = (await made(photo, passOf(SMALL, { format }))).data.byteLength;
    const maxBytes = Math.round(free * (format === 'png' ? 0.45 : 0.6));
    const { data } = await made(photo, passOf(SMALL, { format, promise: { maxBytes } }));
    t.ok(data.byteLength <= maxBytes, `${format}: ${data.byteLength} of ${maxBytes}`);
    if (format === 'jpeg' || format === 'webp')
      t.ok(data.byteLength > 0.9 * maxBytes, `${format} is not smaller than it must be`);
    const generous = await made(photo, passOf(SMALL, { format, promise: { maxBytes: 10_000_000 } }));
    t.ok(
      generous.data.byteLength <= Math.max(free * 1.3, free + 1000),
      `${format}: room to spare is not filled`,
    );
  }
});

t.test('what cannot be kept is refused with what was reached', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  const bytes = await refused(photo, passOf(SMALL, { format: 'jpeg', promise: { maxBytes: 200 } }));
  t.match(bytes, { code: 'invalid_param', param: 'maxBytes' });
  t.ok((bytes.details?.reached as number) > 200);
  const likeness = await refused(photo, passOf(SMALL, { format: 'gif', promise: { minSsim: 1 } }));
  t.match(likeness, { code: 'invalid_param', param: 'minSsim' });
  t.ok((likeness.details?.reached as number) < 1);
});

t.test('minSsim is kept by the smallest file', corpus, async (t) => {
  const photo = image('photos/kodak-4.png');
  const original = await lumaOf((await made(photo, passOf(SMALL, { format: 'png' }))).data);
  for (const format of ['jpeg', 'webp'] as const) {
    let before = 0;
    for (const minSsim of [0.85, 0.95, 0.98]) {
      const { data } = await made(photo, passOf(SMALL, { format, promise: { minSsim } }));
      const reached = ssim(original, await lumaOf(data));
      t.ok(reached >= minSsim && reached < minSsim + 0.03, `${format}: ${reached} for ${minSsim}`);
      t.ok(data.byteLength > before, 'more likeness takes more bytes');
      before = data.byteLength;
    }
  }
  const exact = await made(photo, passOf(SMALL, { format: 'png', promise: { minSsim: 1 } }));
  t.equal(ssim(original, await lumaOf(exact.data)), 1);
});

t.test('animations and transparency keep promises too', async (t) => {
  const soft = await drawn(64, 64, (x, y) => [x * 4, y * 4, (x * y) % 256, x * 4]);
  const { data } = await made(soft, passOf([], { format: 'webp', promise: { minSsim: 0.9 } }));
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
    const ours = ssim(await lumaOf(original.data), await lumaOf(data));
    t.ok(Math.abs(ours - theirs) < 0.02, `quality ${quality}: ${ours}, ${theirs}`);
  }
  const flat = { data: new Uint8Array(9), width: 3, height: 3 };
  t.equal(ssim(flat, flat), 1, 'a picture smaller than a window');
});
