// needs: pixels
import sharp, { type Sharp } from 'sharp';
import { ssim } from 'ssim.js';
import t from 'tap';
import { image, needsImages } from '../../images.ts';
import {
  BLACK,
  BLUE,
  CLEAR,
  drawn,
  GREEN,
  made,
  passOf,
  quarters,
  type Raster,
  RED,
  raster,
  rasterOf,
  refused,
  type StepText,
  WHITE,
} from './passes.ts';

const corpus = needsImages(t);
/** 40 x 20: red, green over blue, white. */
const four = await quarters(40, 20);
const clearLeft = await drawn(20, 20, (x) => (x < 10 ? [255, 255, 255, 0] : [255, 0, 0, 255]));
const halfRed = await drawn(4, 4, () => [255, 0, 0, 128]);
const ramp = await drawn(256, 4, (x) => [x, x, x]);

interface Row {
  step: StepText;
  input?: Uint8Array;
  size?: [width: number, height: number];
  /** Pixels, with what may be lost to rounding. */
  pixels?: [x: number, y: number, rgba: number[]][];
  within?: number;
}

const ROWS: Row[] = [
  {
    step: ['resize', { width: 20 }],
    within: 1,
    size: [20, 10],
    pixels: [
      [2, 2, RED],
      [17, 7, WHITE],
    ],
  },
  { step: ['resize', { height: 10 }], size: [20, 10] },
  { step: ['resize', { width: 10, height: 10 }], size: [10, 5] },
  { step: ['resize', { width: 10, height: 10, fit: 'outside' }], size: [20, 10] },
  { step: ['resize', { width: 10, height: 20, fit: 'fill' }], size: [10, 20] },
  { step: ['resize', { width: 80 }], size: [40, 20] },
  { step: ['resize', { width: 80, enlarge: true }], size: [80, 40] },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover' }],
    size: [10, 10],
    pixels: [
      [1, 1, RED],
      [8, 8, WHITE],
    ],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', gravity: 'west' }],
    within: 1,
    size: [10, 10],
    pixels: [
      [1, 1, RED],
      [7, 1, RED],
    ],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', gravity: 'east' }],
    size: [10, 10],
    pixels: [[1, 1, GREEN]],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', focalX: 0 }],
    within: 1,
    size: [10, 10],
    pixels: [[7, 1, RED]],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', focalX: 1, focalY: 0.5 }],
    pixels: [[1, 1, GREEN]],
  },
  { step: ['resize', { width: 80, height: 80, fit: 'cover' }], size: [20, 20] },
  {
    step: ['resize', { width: 30, height: 30, fit: 'contain' }],
    size: [30, 30],
    pixels: [
      [15, 1, CLEAR],
      [3, 9, RED],
      [15, 28, CLEAR],
    ],
  },
  {
    step: ['resize', { width: 30, height: 30, fit: 'contain', gravity: 'north', background: '#000' }],
    pixels: [
      [3, 1, RED],
      [3, 28, BLACK],
    ],
  },
  {
    step: ['extract', { left: 20, top: 0, width: 20, height: 10 }],
    size: [20, 10],
    pixels: [
      [0, 0, GREEN],
      [19, 9, GREEN],
    ],
  },
  {
    step: ['crop', { aspect: '1:1' }],
    size: [20, 20],
    pixels: [
      [0, 0, RED],
      [19, 19, WHITE],
    ],
  },
  {
    step: ['crop', { aspect: '1:2', gravity: 'southeast' }],
    size: [10, 20],
    pixels: [
      [0, 0, GREEN],
      [0, 19, WHITE],
    ],
  },
  { step: ['crop', { aspect: '4:1', focalY: 1 }], size: [40, 10], pixels: [[0, 0, BLUE]] },
  {
    step: ['rotate', { angle: 90 }],
    size: [20, 40],
    pixels: [
      [0, 0, BLUE],
      [19, 0, RED],
      [19, 39, GREEN],
    ],
  },
  {
    step: ['rotate', { angle: -90 }],
    size: [20, 40],
    pixels: [
      [0, 0, GREEN],
      [0, 39, RED],
    ],
  },
  {
    step: ['rotate', { angle: 180 }],
    size: [40, 20],
    pixels: [
      [0, 0, WHITE],
      [39, 0, BLUE],
    ],
  },
  { step: ['rotate', { angle: 360 }], size: [40, 20], pixels: [[0, 0, RED]] },
  { step: ['rotate', { angle: 45 }], pixels: [[0, 0, CLEAR]] },
  { step: ['rotate', { angle: 45, background: 'blue' }], pixels: [[0, 0, BLUE]] },
  { step: ['autoOrient'], size: [40, 20], pixels: [[0, 0, RED]] },
  {
    step: ['flip'],
    pixels: [
      [0, 0, BLUE],
      [39, 0, WHITE],
    ],
  },
  {
    step: ['flop'],
    pixels: [
      [0, 0, GREEN],
      [39, 0, RED],
    ],
  },
  {
    step: ['affine', { matrix: [1, 0, 0, 2], interpolator: 'nearest' }],
    size: [40, 40],
    pixels: [
      [0, 0, RED],
      [0, 39, BLUE],
    ],
  },
  {
    step: ['extend', { top: 3, left: 5 }],
    size: [45, 23],
    pixels: [
      [0, 0, CLEAR],
      [5, 3, RED],
    ],
  },
  { step: ['extend', { right: 4, background: 'lime' }], size: [44, 20], pixels: [[43, 19, GREEN]] },
  {
    step: ['extend', { left: 4, extendWith: 'copy' }],
    pixels: [
      [0, 0, RED],
      [0, 19, BLUE],
    ],
  },
  { step: ['extend', { right: 1, extendWith: 'repeat' }], pixels: [[40, 0, RED]] },
  { step: ['extend', { right: 1, extendWith: 'mirror' }], pixels: [[40, 0, GREEN]] },
  {
    step: ['border', { width: 4, color: 'blue' }],
    size: [48, 28],
    pixels: [
      [0, 0, BLUE],
      [4, 4, RED],
    ],
  },
  {
    step: ['border', { width: 4, color: 'blue', radius: 6 }],
    size: [48, 28],
    pixels: [
      [0, 0, CLEAR],
      [47, 27, CLEAR],
      [24, 0, BLUE],
    ],
  },
  {
    // The inner corners have the outer radius less the width: 20 - 5 around pixel 20, 20.
    step: ['border', { width: 5, color: 'blue', radius: 20 }],
    input: await drawn(100, 80, () => [255, 0, 0]),
    size: [110, 90],
    pixels: [
      [0, 0, CLEAR],
      [8, 8, BLUE],
      [101, 81, BLUE],
      [10, 10, RED],
      [5, 45, RED],
      [4, 45, BLUE],
      [55, 5, RED],
    ],
  },
  {
    step: ['border', { width: 5, color: '#0000ff80', radius: 20 }],
    input: await drawn(100, 80, () => [255, 0, 0]),
    pixels: [[8, 8, [0, 0, 255, 128]]],
  },
  {
    step: ['roundCorners', { radius: 120 }],
    input: await drawn(300, 200, () => [255, 0, 0]),
    // A pill: half circles of radius 100 at both ends.
    pixels: [
      [0, 100, RED],
      [101, 0, RED],
      [60, 12, RED],
      [60, 5, [255, 0, 0, 0]],
      [28, 28, [255, 0, 0, 0]],
      [31, 31, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: 8192 }],
    input: await drawn(200, 300, () => [255, 0, 0]),
    pixels: [
      [28, 28, [255, 0, 0, 0]],
      [31, 31, RED],
      [0, 101, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: 5 }],
    pixels: [
      [0, 0, [255, 0, 0, 0]],
      [39, 19, [255, 255, 255, 0]],
      [5, 5, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: '50%' }],
    within: 1,
    pixels: [
      [1, 1, [255, 0, 0, 0]],
      [20, 0, GREEN],
      [10, 5, RED],
    ],
  },
  {
    step: ['flatten', { background: 'blue' }],
    input: clearLeft,
    pixels: [
      [0, 0, BLUE],
      [19, 0, RED],
    ],
  },
  {
    step: ['unflatten'],
    pixels: [
      [39, 19, [255, 255, 255, 0]],
      [0, 0, RED],
    ],
  },
  {
    step: ['removeAlpha'],
    input: clearLeft,
    pixels: [
      [0, 0, WHITE],
      [19, 0, RED],
    ],
  },
  { step: ['ensureAlpha', { alpha: 0.5 }], pixels: [[0, 0, [255, 0, 0, 128]]], within: 1 },
  {
    step: ['opacity', { opacity: 0.5 }],
    input: clearLeft,
    pixels: [
      [0, 0, [255, 255, 255, 0]],
      [19, 0, [255, 0, 0, 128]],
    ],
    within: 1,
  },
  {
    step: ['extractChannel', { channel: 'green' }],
    pixels: [
      [0, 0, BLACK],
      [39, 0, WHITE],
    ],
  },
  {
    step: ['extractChannel', { channel: 'alpha' }],
    input: clearLeft,
    pixels: [
      [0, 0, BLACK],
      [19, 0, WHITE],
    ],
  },
  {
    step: ['bandbool', { operator: 'and' }],
    pixels: [
      [0, 0, BLACK],
      [39, 19, WHITE],
    ],
  },
  {
    step: ['greyscale'],
    pixels: [
      [39, 19, WHITE],
      [0, 0, [127, 127, 127, 255]],
    ],
    within: 1,
  },
  {
    step: ['negate'],
    pixels: [
      [0, 0, [0, 255, 255, 255]],
      [39, 19, BLACK],
    ],
  },
  { step: ['negate'], input: clearLeft, pixels: [[19, 0, [0, 255, 255, 255]]] },
  {
    step: ['gamma', { gamma: 2 }],
    input: ramp,
    pixels: [
      [64, 0, [128, 128, 128, 255]],
      [0, 0, BLACK],
      [255, 0, WHITE],
    ],
    within: 1,
  },
  { step: ['linear', { a: 0.5, b: 10 }], input: ramp, pixels: [[100, 0, [60, 60, 60, 255]]] },
  {
    step: ['normalise', { lower: 0, upper: 100 }],
    input: await drawn(64, 4, (x) => [64 + x, 64 + x, 64 + x]),
    pixels: [
      [0, 0, BLACK],
      [63, 0, WHITE],
    ],
    within: 4,
  },
  {
    step: [
      'recomb',
      {
        matrix: [
          [0, 1, 0],
          [0, 0, 1],
          [1, 0, 0],
        ],
      },
    ],
    pixels: [
      [0, 0, BLUE],
      [39, 0, RED],
    ],
  },
  {
    step: ['gamma', { gamma: 3 }],
    input: ramp,
    pixels: [
      [255, 0, WHITE],
      [32, 0, [128, 128, 128, 255]],
      [0, 0, BLACK],
    ],
  },
  { step: ['gamma', { gamma: 3 }], input: halfRed, pixels: [[0, 0, [255, 0, 0, 128]]] },
  {
    step: ['modulate', { brightness: 0 }],
    pixels: [
      [0, 0, BLACK],
      [39, 0, BLACK],
      [0, 19, BLACK],
      [39, 19, BLACK],
    ],
  },
  {
    step: ['modulate', { lightness: -100 }],
    pixels: [
      [0, 0, BLACK],
      [0, 19, BLACK],
      [39, 19, BLACK],
    ],
  },
  { step: ['modulate', { brightness: 0.5 }], pixels: [[39, 19, [119, 119, 119, 255]]], within: 1 },
  { step: ['modulate', { saturation: 0 }], pixels: [[39, 19, WHITE]], within: 1 },
  { step: ['modulate', { hue: 120 }], size: [40, 20] },
  { step: ['tint', { color: 'red' }], size: [40, 20] },
  {
    step: ['duotone', { dark: '#100020', light: '#ffe000' }],
    input: ramp,
    pixels: [
      [0, 0, [16, 0, 32, 255]],
      [255, 0, [255, 224, 0, 255]],
    ],
    within: 1,
  },
  {
    step: ['threshold', { threshold: 128 }],
    input: ramp,
    pixels: [
      [127, 0, BLACK],
      [128, 0, WHITE],
    ],
  },
  {
    step: ['threshold', { threshold: 128 }],
    input: await drawn(4, 1, (x) => [x * 80, x * 80, x * 80, x * 70]),
    pixels: [
      [0, 0, [0, 0, 0, 0]],
      [1, 0, [0, 0, 0, 70]],
      [2, 0, [255, 255, 255, 140]],
      [3, 0, [255, 255, 255, 210]],
    ],
  },
  {
    step: ['threshold', { threshold: 128, greyscale: false }],
    input: halfRed,
    pixels: [[0, 0, [255, 0, 0, 128]]],
  },
  { step: ['threshold', { threshold: 0 }], input: halfRed, pixels: [[0, 0, [255, 255, 255, 128]]] },
  { step: ['threshold', { threshold: 0 }], input: ramp, pixels: [[0, 0, WHITE]] },
  {
    step: ['blur', { sigma: 2 }],
    pixels: [
      [0, 0, RED],
      [20, 2, [128, 128, 0, 255]],
    ],
    within: 40,
  },
  { step: ['sharpen', { sigma: 1 }], pixels: [[2, 2, RED]] },
  {
    step: ['median', { size: 3 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [255, 255, 255] : [0, 0, 0])),
    pixels: [[4, 4, BLACK]],
  },
  {
    step: ['erode', { width: 1 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [255, 255, 255] : [0, 0, 0])),
    pixels: [
      [5, 4, WHITE],
      [7, 4, BLACK],
    ],
  },
  {
    step: ['dilate', { width: 1 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [0, 0, 0] : [255, 255, 255])),
    pixels: [
      [5, 4, BLACK],
      [7, 4, WHITE],
    ],
  },
  {
    step: ['convolve', { width: 3, height: 3, kernel: [0, 0, 0, 1, 0, 0, 0, 0, 0] }],
    pixels: [
      [20, 2, RED],
      [21, 2, GREEN],
    ],
  },
  { step: ['clahe', { width: 8, height: 8 }], size: [40, 20] },
  {
    step: ['pixelate', { size: 40 }],
    pixels: [
      [0, 0, [128, 128, 128, 255]],
      [39, 19, [128, 128, 128, 255]],
    ],
  },
  {
    step: ['redact', { regions: [{ x: 0, y: 0, width: 10, height: 10 }] }],
    pixels: [
      [0, 0, BLACK],
      [9, 9, BLACK],
      [10, 0, RED],
      [0, 10, BLUE],
    ],
  },
  {
    step: ['redact', { regions: [{ x: 30, y: 10, width: 100, height: 100 }], color: '#f000' }],
    pixels: [
      [39, 19, RED],
      [29, 19, WHITE],
    ],
  },
  {
    step: ['toColourspace', { space: 'b-w' }],
    pixels: [
      [39, 19, WHITE],
      [0, 0, [127, 127, 127, 255]],
    ],
    within: 1,
  },
  {
    step: ['placeholder', { kind: 'color' }],
    size: [1, 1],
    pixels: [[0, 0, [128, 128, 128, 255]]],
    within: 2,
  },
  { step: ['placeholder', { kind: 'pixel' }], size: [8, 4] },
  { step: ['placeholder', { kind: 'blur' }], size: [32, 16] },
];

for (const { step, input = four, size, pixels = [], within = 0 } of ROWS) {
  t.test(`${step[0]} ${JSON.stringify(step[1] ?? {})}`, async (t) => {
    const result = await rasterOf(input, [step]);
    if (size !== undefined) t.same([result.width, result.height], size, 'size');
    for (const [x, y, expected] of pixels) {
      const actual = result.at(x, y);
      // What colour a fully transparent pixel has, nobody sees.
      const compared = expected === CLEAR ? actual.slice(3) : actual;
      const against = expected === CLEAR ? [0] : expected;
      const off = Math.max(...compared.map((value, index) => Math.abs(value - (against[index] as number))));
      t.ok(off <= within, `${x}, ${y}: ${actual} is ${expected}`);
    }
  });
}

t.test('trim cuts the edges away', async (t) => {
  const framed = await drawn(30, 20, (x, y) =>
    x >= 5 && x < 15 && y >= 8 && y < 12 ? [255, 0, 0] : [255, 255, 255],
  );
  const { width, height } = await made(framed, passOf([['trim']]));
  t.same([width, height], [10, 4]);
  const kept = await rasterOf(framed, [['trim', { background: 'red' }]]);
  t.same([kept.width, kept.height], [30, 20], 'nothing is cut that is not the given background');
  const blank = await made(await drawn(8, 6, () => [9, 9, 9]), passOf([['trim']]));
  t.same([blank.width, blank.height], [8, 6], 'a picture of nothing but background stays');
});

t.test('a second asset is laid over, joined or taken as transparency', async (t) => {
  const layers = { logo: await drawn(4, 4, () => [0, 0, 0, 255]), mask: await drawn(2, 1, (x) => [x * 255]) };
  const over = (params: object): Promise<Raster> =>
    rasterOf(four, [['composite', { layerAssetId: 'logo', ...params }]], { layers });
  t.same((await over({ position: 'northwest' })).at(3, 3), BLACK);
  t.same((await over({ position: 'northwest' })).at(4, 4), RED);
  t.same((await over({})).at(39, 19), BLACK, 'southeast by default');
  t.same((await over({ x: -2, y: -2 })).at(1, 1), BLACK);
  t.same((await over({ x: -2, y: -2 })).at(2, 2), RED);
  t.same((await over({ x: 100, y: 100 })).at(39, 19), WHITE, 'beside the picture');
  t.same(
    (await over({ position: 'northwest', scale: 0.5 })).at(19, 19),
    BLACK,
    'half as wide as the picture',
  );
  const [red = 0] = (await over({ position: 'northwest', opacity: 0.5 })).at(0, 0);
  t.ok(Math.abs(red - 127) <= 2, `half of it shines through: ${red}`);
  t.same((await over({ tile: true })).at(17, 11), BLACK);
  t.same((await over({ tile: true })).at(0, 0), BLACK);
  const masked = await rasterOf(four, [['joinChannel', { assetId: 'mask' }]], { layers });
  t.equal(masked.at(0, 0)[3], 0);
  t.same(masked.at(39, 19), WHITE);
  const joined = await rasterOf(four, [['boolean', { assetId: 'logo', operator: 'and' }]], { layers });
  t.same(joined.at(39, 19), BLACK);
  t.match(await refused(four, passOf([['composite', { layerAssetId: 'gone' }]])), {
    param: 'steps[0].params.layerAssetId',
  });
});

t.test('text is drawn as text, never parsed as markup', async (t) => {
  const blank = await drawn(200, 60, () => [0, 0, 0]);
  const ink = async (text: string, params: object = {}) => {
    const { data } = await rasterOf(blank, [['text', { text, size: 20, ...params }]]);
    return data.reduce((sum, value, index) => (index % 4 === 0 ? sum + value : sum), 0);
  };
  t.ok((await ink('x')) > 0);
  t.ok((await ink('<b>x</b>')) > 3 * (await ink('x')), 'a tag is as long as it is written');
  t.ok((await ink('&amp;&#0;<span')) > 0, 'what is no markup at all does not fail');
  t.ok((await ink('a\u0000\u0007b')) > 0, 'control characters neither');
  t.equal(await ink(' \n '), 0);
  t.ok((await ink('x', { rotate: 30 })) > 0);
  t.ok((await ink('WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW', { size: 40 })) > 0, 'longer than the picture');
  const word = 'x'.repeat(30);
  const broken = await ink(word);
  const inLines = (letters: number) => word.replace(new RegExp(`.{${letters}}(?=.)`, 'g'), '$&\n');
  const splits = await Promise.all(Array.from({ length: 20 }, (_, index) => ink(inLines(index + 1))));
  t.ok(splits.includes(broken), 'a word that is broken gets no hyphen');
  t.equal(await ink('x', { font: 'sans\u0000' }), await ink('x'), 'nor does a font');
  const half = await ink('x', { opacity: 0.5 });
  t.ok(Math.abs(half / (await ink('x')) - 0.5) < 0.05);
  const huge = passOf([['text', { text: 'W\n'.repeat(250), size: 1000 }]]);
  t.match(await refused(blank, huge), { code: 'invalid_param', param: 'steps[0].params.size' });
});

for (const style of ['blur', 'pixelate']) {
  t.test(`redact ${style} leaves nothing of what lay under it`, corpus, async (t) => {
    const region = { x: 300, y: 200, width: 96, height: 64 };
    const result = await rasterOf(image('photos/kodak-4.png'), [['redact', { regions: [region], style }]]);
    const original = await raster(image('photos/kodak-4.png'));
    const inverted = await sharp(original.data, { raw: { width: 768, height: 512, channels: 4 } })
      .extract({ left: 300, top: 200, width: 96, height: 64 })
      .raw()
      .toBuffer();
    const colours = new Set<string>();
    let same = 0;
    for (let y = 0; y < 64; y++) {
      for (let x = 0; x < 96; x++) {
        colours.add(result.at(300 + x, 200 + y).join());
        if (
          result.at(300 + x, 200 + y).join() ===
          [...inverted.subarray((y * 96 + x) * 4, (y * 96 + x) * 4 + 4)].join()
        )
          same++;
      }
    }
    t.ok(same < 96 * 64 * 0.02, `${same} pixels are as they were`);
    if (style === 'pixelate') t.ok(colours.size <= 48, `${colours.size} blocks`);
    t.same(result.at(299, 200), original.at(299, 200), 'beside it nothing changed');
  });
}

t.test('photographs come out as an independent computation makes them', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  const table: [StepText, (picture: Sharp) => Sharp][] = [
    [['resize', { width: 256 }], (picture) => picture.resize(256)],
    [['resize', { width: 200, height: 200, fit: 'cover' }], (picture) => picture.resize(200, 200)],
    [
      ['resize', { width: 200, height: 300, fit: 'cover', gravity: 'attention' }],
      (picture) => picture.resize(200, 300, { position: 'attention' }),
    ],
    [['sharpen', { sigma: 2 }], (picture) => picture.sharpen({ sigma: 2 })],
    [['greyscale'], (picture) => picture.greyscale()],
    [
      ['modulate', { brightness: 1.2, saturation: 0.5 }],
      (picture) => picture.modulate({ brightness: 1.2, saturation: 0.5 }),
    ],
  ];
  for (const [step, bare] of table) {
    const ours = await rasterOf(photo, [step]);
    const theirs = await raster(await bare(sharp(photo)).png().toBuffer());
    t.same([ours.width, ours.height], [theirs.width, theirs.height], `${step[0]}: size`);
    const likeness = ssim(
      { ...ours, data: Uint8ClampedArray.from(ours.data) },
      { ...theirs, data: Uint8ClampedArray.from(theirs.data) },
    ).mssim;
    t.ok(likeness > 0.995, `${step[0]} ${JSON.stringify(step[1])}: ${likeness}`);
  }
});

t.test(
  'a redacted region of one or few pixels is gone in every style, and so is every edge of a larger one',
  async (t) => {
    const noise = (x: number, y: number) => [
      (x * 97 + y * 31) % 256,
      (x * 53 + y * 211) % 256,
      (x * y * 7) % 256,
    ];
    const picture = await drawn(64, 64, noise);
    const regions = [
      { x: 5, y: 5, width: 1, height: 1 },
      { x: 10, y: 5, width: 3, height: 5 },
      { x: 20, y: 20, width: 13, height: 13 },
      { x: 2, y: 40, width: 25, height: 1 },
    ];
    for (const style of ['blur', 'pixelate']) {
      const { at } = await rasterOf(picture, [['redact', { regions, style, color: '#123456' }]]);
      t.same(at(5, 5), [0x12, 0x34, 0x56, 255], `${style}: a single pixel`);
      for (const { x: left, y: top, width, height } of regions) {
        for (let y = top; y < top + height; y++) {
          for (let x = left; x < left + width; x++) {
            const alone = at(x, y).join() === [...noise(x, y), 255].join();
            if (alone) t.fail(`${style}: pixel ${x}, ${y} is as it was`);
          }
        }
      }
      t.same(at(6, 5), [...noise(6, 5), 255], `${style}: what lies beside is as it was`);
    }
  },
);

t.test('lines of text end where the text stands', async (t) => {
  const blank = await drawn(400, 120, () => [0, 0, 0]);
  // Of the short line, below the long one: how far from the left its ink begins and ends.
  const inkOf = async (position: string) => {
    const text = 'WWWWWWWWWW\nI';
    const { at } = await rasterOf(blank, [['text', { text, size: 30, position, margin: 0 }]]);
    const long: number[] = [];
    const short: number[] = [];
    for (let x = 0; x < 400; x++) {
      const inked = Array.from({ length: 120 }, (_, y) => y).filter((y) => (at(x, y)[0] ?? 0) > 100);
      if (inked.length === 0) continue;
      long.push(x);
      if (Math.max(...inked) - Math.min(...inked) > 30) short.push(x);
    }
    const [left = 0, right = 0] = [long[0], long.at(-1)];
    return ((short[0] ?? 0) - left) / (right - left);
  };
  t.ok((await inkOf('west')) < 0.1);
  t.ok((await inkOf('east')) > 0.9);
  t.ok(Math.abs((await inkOf('south')) - 0.5) < 0.1);
});
