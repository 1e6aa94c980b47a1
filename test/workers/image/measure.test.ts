// needs: pixels
import { encode } from 'blurhash';
import sharp from 'sharp';
import t from 'tap';
import { rgbaToThumbHash } from 'thumbhash';
import { computeBlurHash } from '../../../workers/image/facts/blur-hash.ts';
import { greyPixelsOf } from '../../../workers/image/facts/brightness.ts';
import { averageAndDominantColours } from '../../../workers/image/facts/colours.ts';
import { placeholderHashesOf, scaledDownCopy } from '../../../workers/image/facts/hashes.ts';
import { measureImage } from '../../../workers/image/metadata/metadata.ts';
import type { PixelSample } from '../../../workers/image/pixels/pixels.ts';
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
      const { entropy, sharpness } = measureImage({ data, width, height, channels });
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
  t.match(measureImage({ data, width: 20, height: 10, channels: 3 }), {
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
      const hash = computeBlurHash(data, { width, height }, across, down);
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
    const grey = greyPixelsOf(data, channels, { width, height });
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

t.test('the ThumbHash of a picture of at most 100 px is the one of its pixels, byte for byte', async (t) => {
  for (const [width, height] of [...SIZES, [100, 66], [31, 100], [100, 100]] as const) {
    const opaque = noise(width, height, 4).map((value, at) => ((at & 3) === 3 ? 255 : value));
    const pictures = {
      veiled: noise(width, height, 4),
      opaque,
      grey: opaque.map((_, at) => ((at & 3) === 3 ? 255 : (opaque[at & ~3] ?? 0))),
      // What varies in these two is what rounding leaves.
      flat: new Uint8Array(4 * width * height)
        .fill(90)
        .map((value, at) => ((at & 3) === 3 ? 255 : value + (at & 3))),
      clear: new Uint8Array(4 * width * height),
    };
    for (const [name, rgba] of Object.entries(pictures)) {
      const { thumbhash } = placeholderHashesOf({ data: rgba, width, height, channels: 4 });
      const expected = Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64');
      t.equal(thumbhash, expected, `${name}, ${width} × ${height}`);
    }
  }
});

t.test(
  'each pixel of a small copy is the mean of the area that it stands for, weighted by alpha',
  async (t) => {
    for (const [width, height] of [
      [300, 200],
      [257, 101],
      [101, 257],
      [640, 3],
      [3, 640],
      [90, 70],
    ] as const) {
      for (const channels of [3, 4] as const) {
        const picture: PixelSample = { data: noise(width, height, channels), width, height, channels };
        const copy = scaledDownCopy(picture, 100);
        const expected = areaMeans(picture, copy);
        t.equal(copy.data.length, expected.length);
        const apart = Math.max(...copy.data.map((value, at) => Math.abs(value - (expected[at] ?? 0))));
        t.ok(apart <= 1, `${width} × ${height}, ${channels} channels: ${apart} apart`);
      }
    }
  },
);

/** The slow way: every pixel of the original, by the share of it that lies in the pixel of the copy. */
function areaMeans(
  { data, width, height, channels }: PixelSample,
  copy: { width: number; height: number },
): number[] {
  const [stepX, stepY] = [width / copy.width, height / copy.height];
  const shared = (pixel: number, index: number, step: number) =>
    Math.max(0, Math.min(pixel + 1, (index + 1) * step) - Math.max(pixel, index * step));
  return Array.from({ length: copy.width * copy.height }, (_, index) => {
    const [column, row] = [index % copy.width, Math.floor(index / copy.width)];
    const sums = [0, 0, 0, 0];
    for (let y = Math.floor(row * stepY); y < Math.min(height, (row + 1) * stepY); y++) {
      for (let x = Math.floor(column * stepX); x < Math.min(width, (column + 1) * stepX); x++) {
        const at = channels * (y * width + x);
        const alpha = channels === 4 ? (data[at + 3] ?? 0) : 255;
        const weight = alpha * shared(x, column, stepX) * shared(y, row, stepY);
        [0, 1, 2].forEach((channel) => {
          sums[channel] = (sums[channel] ?? 0) + weight * (data[at + channel] ?? 0);
        });
        sums[3] = (sums[3] ?? 0) + weight;
      }
    }
    const [red = 0, green = 0, blue = 0, weight = 0] = sums;
    return [...[red, green, blue].map((sum) => sum / Math.max(weight, 1e-9)), weight / (stepX * stepY)];
  }).flat();
}

t.test('colours are the mean and the mean of the most common bin, weighted by alpha', async (t) => {
  const rgb = [
    [10, 20, 30],
    [12, 20, 30],
    [12, 24, 30],
    [250, 0, 0],
    [250, 0, 0],
  ] as const;
  const opaque = { data: Uint8Array.from(rgb.flat()), width: 5, height: 1, channels: 3 } as const;
  t.same(averageAndDominantColours(opaque), { averageColor: '#6b0d12', dominantColor: '#0b151e' });
  const alphas = [10, 10, 10, 200, 20];
  const data = Uint8Array.from(rgb.flatMap((colour, at) => [...colour, alphas[at] ?? 0]));
  t.same(averageAndDominantColours({ data, width: 5, height: 1, channels: 4 }), {
    averageColor: '#dd0304',
    dominantColor: '#fa0000',
  });
  // Sums past 32 bits.
  const white = new Uint8Array(4 * 300 * 300).fill(255);
  t.same(averageAndDominantColours({ data: white, width: 300, height: 300, channels: 4 }), {
    averageColor: '#ffffff',
    dominantColor: '#ffffff',
  });
});
