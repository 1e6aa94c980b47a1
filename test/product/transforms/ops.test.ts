// needs: server
import sharp, { type Sharp } from 'sharp';
import { ssim } from 'ssim.js';
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, pngOf, type Query, type Raster, type Rgba, rasterOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);
const PHOTO = 'photos/kodak-1.png';

type Pixel = (x: number, y: number, photo: Raster) => readonly number[];

/** What an op has to make of the photograph, 768 × 512. */
interface Row {
  query: Query;
  size: [width: number, height: number];
  /** By hand: the colour of a pixel of the result, computed from the photograph. */
  pixel?: Pixel;
  /** What rounding may cost, per channel. */
  within?: number;
  /** By another way through sharp: the results have to look the same. */
  like?: (photo: Sharp) => Sharp;
  /** Least likeness to it. */
  ssim?: number;
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value));
const opaque = (of: (red: number, green: number, blue: number) => readonly number[]): Pixel => {
  return (x, y, photo) => {
    const [red, green, blue] = photo.at(x, y);
    return [...of(red, green, blue).map((value) => clamp(Math.round(value), 255)), 255];
  };
};
const moved = (x: number, y: number): Pixel => {
  return (left, top, photo) => photo.at(left + x, top + y);
};
/** The photograph at (20, 10) of a larger canvas, with something else around it. */
const framed = (around: (x: number, y: number, photo: Raster) => Rgba): Pixel => {
  return (x, y, photo) => {
    const [left, top] = [x - 20, y - 10];
    const isInside = left >= 0 && top >= 0 && left < 768 && top < 512;
    return isInside ? photo.at(left, top) : around(left, top, photo);
  };
};
const SEPIA = [
  [0.393, 0.769, 0.189],
  [0.349, 0.686, 0.168],
  [0.272, 0.534, 0.131],
];
const sum = (weights: number[], values: number[]) =>
  weights.reduce((total, weight, index) => total + weight * (values[index] ?? 0), 0);
const mirrored = (at: number, edge: number) => (at < 0 ? -1 - at : at >= edge ? 2 * edge - 1 - at : at);
const wrapped = (at: number, edge: number) => (at + edge) % edge;
const pad = { op: 'pad', left: 20, top: 10 };
const DARK = [0x1b, 0x14, 0x64];
const LIGHT = [0xff, 0xe2, 0x6a];

const ROWS: Row[] = [
  { query: { op: 'resize', width: 384 }, size: [384, 256], like: (photo) => photo.resize(384) },
  {
    query: { op: 'resize', height: 100 },
    size: [150, 100],
    like: (photo) => photo.resize(150, 100, { fit: 'fill' }),
  },
  {
    query: { op: 'resize', width: 100, dpr: 2 },
    size: [200, 133],
    like: (photo) => photo.resize(200, 133, { fit: 'fill' }),
  },
  { query: { op: 'resize', width: 1000 }, size: [768, 512], like: (photo) => photo },
  {
    query: { op: 'resize', width: 1000, enlarge: true },
    size: [1000, 667],
  },
  {
    query: { op: 'resize', width: 200, height: 200 },
    size: [200, 133],
    like: (photo) => photo.resize(200, 133, { fit: 'fill' }),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'outside' },
    size: [300, 200],
    like: (photo) => photo.resize(300, 200, { fit: 'fill' }),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'fill' },
    size: [200, 200],
    like: (photo) => photo.resize(200, 200, { fit: 'fill' }),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'cover' },
    size: [200, 200],
    like: (photo) => photo.resize(200, 200),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'cover', gravity: 'west' },
    size: [200, 200],
    like: (photo) => photo.resize(200, 200, { position: 'west' }),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'cover', focalX: 1 },
    size: [200, 200],
    like: (photo) => photo.resize(200, 200, { position: 'east' }),
  },
  {
    query: { op: 'resize', width: 200, height: 200, fit: 'cover', gravity: 'attention' },
    size: [200, 200],
    like: (photo) => photo.resize(200, 200, { position: 'attention' }),
    ssim: 0.9,
  },
  {
    query: { op: 'resize', width: 300, height: 300, fit: 'contain', background: '#102030' },
    size: [300, 300],
    like: (photo) => photo.resize(300, 300, { fit: 'contain', background: '#102030' }),
  },
  {
    query: { op: 'resize', width: 256, kernel: 'nearest' },
    size: [256, 171],
    pixel: (x, y, photo) => photo.at(3 * x + 1, Math.floor(((y + 0.5) * 512) / 171)),
  },
  {
    query: { op: 'crop', x: 100, y: 50, width: 300, height: 200 },
    size: [300, 200],
    pixel: moved(100, 50),
  },
  { query: { op: 'crop', width: 768, height: 512 }, size: [768, 512], pixel: moved(0, 0) },
  { query: { op: 'crop', aspect: '16:9' }, size: [768, 432], pixel: moved(0, 40) },
  { query: { op: 'crop', aspect: '1:1' }, size: [512, 512], pixel: moved(128, 0) },
  { query: { op: 'crop', aspect: '1:1', gravity: 'east' }, size: [512, 512], pixel: moved(256, 0) },
  { query: { op: 'crop', aspect: '1:1', focalX: 0 }, size: [512, 512], pixel: moved(0, 0) },
  { query: { op: 'crop', aspect: '1:2', focalX: 1 }, size: [256, 512], pixel: moved(512, 0) },
  {
    query: { op: 'thumbnail', size: 128, gravity: 'center' },
    size: [128, 128],
    like: (photo) => photo.resize(128, 128),
  },
  {
    query: { op: 'thumbnail' },
    size: [256, 256],
    like: (photo) => photo.resize(256, 256, { position: 'attention' }),
    ssim: 0.9,
  },
  { query: { op: 'rotate', angle: 90 }, size: [512, 768], pixel: (x, y, photo) => photo.at(y, 511 - x) },
  { query: { op: 'rotate', angle: -90 }, size: [512, 768], pixel: (x, y, photo) => photo.at(767 - y, x) },
  {
    query: { op: 'rotate', angle: 180 },
    size: [768, 512],
    pixel: (x, y, photo) => photo.at(767 - x, 511 - y),
  },
  { query: { op: 'rotate', angle: -360 }, size: [768, 512], pixel: moved(0, 0) },
  {
    query: { op: 'rotate', angle: 30, background: '#00ff00' },
    size: [922, 828],
    ssim: 0.9,
  },
  {
    query: { op: 'flip', axis: 'horizontal' },
    size: [768, 512],
    pixel: (x, y, photo) => photo.at(767 - x, y),
  },
  {
    query: { op: 'flip', axis: 'vertical' },
    size: [768, 512],
    pixel: (x, y, photo) => photo.at(x, 511 - y),
  },
  {
    query: { op: 'flip', axis: 'both' },
    size: [768, 512],
    pixel: (x, y, photo) => photo.at(767 - x, 511 - y),
  },
  { query: { ...pad, background: '#ff0080' }, size: [788, 522], pixel: framed(() => [255, 0, 128, 255]) },
  { query: pad, size: [788, 522], pixel: framed(() => [0, 0, 0, 0]) },
  {
    query: { op: 'pad', all: 20, background: 'white' },
    size: [808, 552],
    pixel: (x, y, photo) =>
      x < 20 || y < 20 || x >= 788 || y >= 532 ? [255, 255, 255, 255] : photo.at(x - 20, y - 20),
  },
  {
    query: { ...pad, mode: 'copy' },
    size: [788, 522],
    pixel: framed((x, y, photo) => photo.at(clamp(x, 767), clamp(y, 511))),
  },
  {
    query: { ...pad, mode: 'mirror' },
    size: [788, 522],
    pixel: framed((x, y, photo) => photo.at(mirrored(x, 768), mirrored(y, 512))),
  },
  {
    query: { ...pad, mode: 'repeat' },
    size: [788, 522],
    pixel: framed((x, y, photo) => photo.at(wrapped(x, 768), wrapped(y, 512))),
  },
  {
    query: { op: 'border', width: 7, color: '#123456' },
    size: [782, 526],
    pixel: (x, y, photo) =>
      x < 7 || y < 7 || x >= 775 || y >= 519 ? [0x12, 0x34, 0x56, 255] : photo.at(x - 7, y - 7),
  },
  { query: { op: 'border', width: 0 }, size: [768, 512], pixel: moved(0, 0) },
  { query: { op: 'blur', sigma: 5 }, size: [768, 512], like: (photo) => photo.blur(5), ssim: 0.97 },
  {
    query: { op: 'sharpen', sigma: 2, flat: 1, jagged: 3 },
    size: [768, 512],
    like: (photo) => photo.sharpen({ sigma: 2, m1: 1, m2: 3 }),
  },
  { query: { op: 'median', size: 5 }, size: [768, 512], like: (photo) => photo.median(5) },
  {
    query: { op: 'pixelate', size: 16 },
    size: [768, 512],
    pixel: (x, y, photo) => meanOf(photo, x - (x % 16), y - (y % 16), 16),
    within: 1,
  },
  { query: { op: 'grayscale' }, size: [768, 512], like: (photo) => photo.greyscale() },
  {
    query: { op: 'negate' },
    size: [768, 512],
    pixel: opaque((...rgb) => rgb.map((value) => 255 - value)),
  },
  {
    query: { op: 'sepia' },
    size: [768, 512],
    pixel: opaque((...rgb) => SEPIA.map((weights) => sum(weights, rgb))),
    within: 1,
  },
  { query: { op: 'normalize' }, size: [768, 512] },
  { query: { op: 'normalize', lower: 10, upper: 90 }, size: [768, 512] },
  {
    query: { op: 'adjust', contrast: 2 },
    size: [768, 512],
    pixel: opaque((...rgb) => rgb.map((value) => 128 + 2 * (value - 128))),
    within: 1,
  },
  { query: { op: 'adjust', contrast: 1 }, size: [768, 512], pixel: moved(0, 0) },
  {
    query: { op: 'adjust', brightness: 1, saturation: 1, hue: 0, lightness: 0, gamma: 1 },
    size: [768, 512],
    pixel: moved(0, 0),
    within: 2,
  },
  {
    query: { op: 'adjust', lightness: 100 },
    size: [768, 512],
    pixel: () => [255, 255, 255, 255],
    within: 4,
  },
  {
    query: { op: 'adjust', brightness: 1.2, saturation: 0.5, hue: 90 },
    size: [768, 512],
    like: (photo) => photo.modulate({ brightness: 1.2, saturation: 0.5, hue: 90 }),
  },
  { query: { op: 'tint', color: '#ff8800' }, size: [768, 512], like: (photo) => photo.tint('#ff8800') },
  {
    query: { op: 'duotone', dark: '#1b1464', light: '#ffe26a' },
    size: [768, 512],
    pixel: opaque((...rgb) => {
      const share = sum([0.2126, 0.7152, 0.0722], rgb) / 255;
      return DARK.map((low, index) => low + share * ((LIGHT[index] ?? 0) - low));
    }),
    within: 2,
  },
  {
    query: { op: 'threshold', value: 100 },
    size: [768, 512],
    like: (photo) => photo.threshold(100),
  },
  { query: { op: 'threshold', value: 0 }, size: [768, 512], pixel: () => [255, 255, 255, 255] },
  {
    query: { op: 'redact', regions: [{ x: 40, y: 60, width: 100, height: 50 }], color: '#336699' },
    size: [768, 512],
    pixel: (x, y, photo) =>
      x >= 40 && x < 140 && y >= 60 && y < 110 ? [0x33, 0x66, 0x99, 255] : photo.at(x, y),
  },
  { query: { op: 'flatten', background: 'red' }, size: [768, 512], pixel: moved(0, 0) },
  { query: { op: 'remove_alpha' }, size: [768, 512], pixel: moved(0, 0) },
  {
    query: { op: 'alpha', opacity: 0.5 },
    size: [768, 512],
    pixel: (x, y, photo) => [...photo.at(x, y).slice(0, 3), 128],
    within: 1,
  },
  { query: { op: 'extract_frame', frame: 0 }, size: [768, 512], pixel: moved(0, 0) },
  ...(['red', 'green', 'blue'] as const).map((channel, index) => ({
    query: { op: 'extract_channel', channel },
    size: [768, 512] as [number, number],
    pixel: opaque((...rgb) => Array<number>(3).fill(rgb[index] ?? 0)),
  })),
  {
    query: { op: 'placeholder', kind: 'color' },
    size: [1, 1],
    pixel: (_x, _y, photo) => meanOf(photo, 0, 0, 768, 512),
    within: 2,
  },
  {
    query: { op: 'placeholder', kind: 'pixel' },
    size: [8, 5],
    pixel: (x, y, photo) => meanOf(photo, x * 96, Math.floor(y * 102.4), 96, 102),
    within: 40,
  },
  {
    query: { op: 'placeholder' },
    size: [32, 21],
    like: (photo) => photo.resize(32, 21, { fit: 'fill' }).blur(1),
    ssim: 0.9,
  },
];

/** The mean colour of a block. */
function meanOf(photo: Raster, left: number, top: number, width: number, height = width): number[] {
  const total = [0, 0, 0, 0];
  for (let y = top; y < top + height; y += 1) {
    for (let at = (y * photo.width + left) * 4, end = at + width * 4; at < end; at += 1) {
      total[at % 4] = (total[at % 4] ?? 0) + (photo.data[at] ?? 0);
    }
  }
  return total.map((value) => Math.round(value / (width * height)));
}

/** The first pixel that is another than it should be, of a grid over the whole picture; null when there is none. */
function firstWrong(result: Raster, photo: Raster, pixel: Pixel, within = 0): string | null {
  for (let y = 0; y < result.height; y += y < 30 ? 1 : 23) {
    for (let x = 0; x < result.width; x += x < 30 ? 1 : 19) {
      const [actual, wanted] = [result.at(x, y), pixel(x, y, photo)];
      const isNear = actual.every((value, channel) => Math.abs(value - (wanted[channel] ?? -999)) <= within);
      if (!isNear) return `(${x}, ${y}) is ${actual}, not ${wanted}`;
    }
  }
  return null;
}

t.test('each op makes of a photograph what the catalogue says, pixel by pixel', corpus, async (t) => {
  const file = image(PHOTO);
  const photo = await rasterOf(file);
  for (const row of ROWS) {
    const { query, size, like, ssim: least = 0.985 } = row;
    const name = JSON.stringify(query);
    const answer = await calls.transform({ ...query, format: 'png' }, file);
    const result = await pictureOf(answer);
    const told = ['x-service-width', 'x-service-height'].map((header) => Number(answer.headers.get(header)));
    t.same([[result.width, result.height], told], [size, size], `${name}: size, and size in the headers`);
    if (row.pixel !== undefined) t.equal(firstWrong(result, photo, row.pixel, row.within), null, name);
    if (like === undefined) continue;
    const { mssim } = ssim(result, await rasterOf(await pngOf(like(sharp(file)))));
    t.ok(mssim >= least, `${name}: likeness ${mssim.toFixed(4)}`);
  }
});

t.test(
  'the hashes of a placeholder are those that the metadata tells of the real picture',
  corpus,
  async (t) => {
    const drawn = await pngOf(
      sharp({ create: { width: 60, height: 40, channels: 3, background: '#336699' } }).extend({
        left: 36,
        background: 'white',
      }),
    );
    const photo = image(PHOTO);
    const veiled = await pngOf(sharp(photo).ensureAlpha(0.4).resize(300, 1300, { fit: 'fill' }));
    const grey = await pngOf(sharp(photo).greyscale().toColourspace('b-w'));
    for (const file of [drawn, photo, veiled, grey, image('photos/kodak-4.png')]) {
      const { json } = await calls.metadata(file);
      for (const kind of ['blur', 'color', 'pixel']) {
        const { headers } = await calls.transform({ op: 'placeholder', kind }, file);
        t.same(
          [headers.get('x-service-thumbhash'), headers.get('x-service-blurhash')],
          [json.data.image.thumbhash, json.data.image.blurhash],
        );
      }
    }
  },
);
