// needs: pixels
import { encode } from 'blurhash';
import sharp from 'sharp';
import t from 'tap';
import { blurHash } from '../../../workers/image/facts/blur-hash.ts';
import { greyOf } from '../../../workers/image/facts/grey-facts.ts';
import { measure } from '../../../workers/image/facts/measure.ts';
import { raster } from './passes.ts';

/** Noise in all channels, from a fixed seed: of a plain picture many a wrong sum would be right. */
function noise(width: number, height: number, channels: 3 | 4): Uint8Array {
  let state = 12345;
  return Uint8Array.from({ length: width * height * channels }, (_, at) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 24) + (at >> 4)) & 255;
  });
}

const SIZES = [
  [1, 1],
  [1, 9],
  [9, 1],
  [2, 2],
  [33, 17],
  [64, 100],
] as const;

t.test('entropy and sharpness are those that sharp computes', async (t) => {
  for (const [width, height] of SIZES) {
    for (const channels of [3, 4] as const) {
      const data = noise(width, height, channels);
      const { entropy, sharpness } = await measure({ data, width, height, channels });
      const stats = await sharp(data, { raw: { width, height, channels } }).stats();
      const name = `${width} × ${height}, ${channels} channels`;
      t.ok(Math.abs(entropy - stats.entropy) < 1e-5, `entropy, ${name}: ${entropy}, ${stats.entropy}`);
      if (width * height === 1) t.equal(sharpness, 0, 'a single pixel has no edges');
      else t.ok(Math.abs(sharpness - stats.sharpness) < 1e-5, `sharpness, ${name}`);
    }
  }
});

t.test('one grey all over has neither entropy nor edges', async (t) => {
  const data = new Uint8Array(20 * 10 * 3).fill(90);
  t.match(await measure({ data, width: 20, height: 10, channels: 3 }), {
    entropy: 0,
    sharpness: 0,
    averageColor: '#5a5a5a',
    dominantColor: '#5a5a5a',
  });
});

t.test('a BlurHash is the one of its reference, for any number of parts', async (t) => {
  let compared = 0;
  for (const [width, height] of SIZES) {
    const file = sharp(noise(width, height, 3), { raw: { width, height, channels: 3 } }).png();
    const { data } = await raster(await file.toBuffer());
    for (const [across, down] of [
      [1, 1],
      [4, 3],
      [3, 4],
      [9, 9],
    ] as const) {
      const expected = encode(new Uint8ClampedArray(data), width, height, across, down);
      const hash = blurHash(data, { width, height }, across, down);
      // The reference in C takes the largest part by its size, this one overlooks the negative ones.
      if (hash[1] !== expected[1]) continue;
      t.equal(hash, expected, `${width} × ${height}`);
      compared++;
    }
  }
  t.ok(compared >= 12, `${compared} compared`);
});

t.test('grey is what libvips makes of the colours', async (t) => {
  const [width, height] = [256, 256];
  for (const channels of [3, 4] as const) {
    const data = noise(width, height, channels);
    for (let value = 0; value < 256; value++) data.fill(value, channels * value, channels * value + channels);
    const grey = greyOf(data, channels, { width, height });
    const opened = sharp(data, { raw: { width, height, channels } }).removeAlpha();
    const expected = await opened.toColourspace('b-w').raw().toBuffer();
    const apart = grey.data.filter((value, at) => value !== expected[at]);
    t.ok(apart.length < 4, `${channels} channels: ${apart.length} pixels differ`);
    t.ok(
      grey.data.every((value, at) => Math.abs(value - (expected[at] ?? 0)) <= 1),
      'by one step at most',
    );
  }
});
