// needs: nothing
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { made, passOf, raster, type StepText } from './passes.ts';

/** A picture as numbers of 16 bits. */
type Formula = (x: number, y: number, channel: number) => number;

const [WIDTH, HEIGHT] = [96, 64];
/** Tones that 8 bits do not hold: nearly every one lies between two of theirs. */
const ramp: Formula = (x, y, channel) => 9_000 + x * 301 + y * 143 + channel * 5_001;
const grey: Formula = (x, y) => ramp(x, y, 0);
const veiled: Formula = (x, y, channel) => (channel === 3 ? 65_535 - x * 401 : ramp(x, y, channel));
const greyVeil: Formula = (x, y, channel) => (channel === 1 ? 65_535 - x * 401 : ramp(x, y, 0));
const same = (pipeline: Sharp) => pipeline;
const unchanged = (file: Uint8Array) => file;

const SPACES = { 1: 'grey16', 2: 'grey16', 3: 'rgb16', 4: 'rgb16' } as const;

async function deepFile(
  formula: Formula,
  channels: 1 | 2 | 3 | 4,
  finish: (pipeline: Sharp) => Sharp,
): Promise<Uint8Array> {
  const data = new Uint16Array(WIDTH * HEIGHT * channels);
  for (let at = 0; at < data.length; at++) {
    const [pixel, channel] = [Math.floor(at / channels), at % channels];
    data[at] = formula(pixel % WIDTH, Math.floor(pixel / WIDTH), channel);
  }
  const pipeline = sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels } });
  return new Uint8Array(await finish(pipeline.toColourspace(SPACES[channels])).png().toBuffer());
}

interface Deep {
  width: number;
  height: number;
  channels: number;
  depth: string;
  at(x: number, y: number, channel: number): number;
}

/** A file's own numbers. */
async function numbersOf(file: Uint8Array): Promise<Deep> {
  const { depth, space } = await sharp(file).metadata();
  const opened = sharp(file, { ignoreIcc: true }).toColourspace(space === 'grey16' ? 'grey16' : 'rgb16');
  const { data, info } = await opened.raw({ depth: 'ushort' }).toBuffer({ resolveWithObject: true });
  const values = new Uint16Array(data.buffer, data.byteOffset, data.length / 2);
  const { width, height, channels } = info;
  return {
    width,
    height,
    channels,
    depth,
    at: (x, y, channel) => values[(y * width + x) * channels + channel] ?? -1,
  };
}

interface Chain {
  name: string;
  steps: StepText[];
  /** Where a pixel of the result comes from. */
  from(x: number, y: number): [x: number, y: number];
  size: [width: number, height: number];
  /** How far a number may lie from the formula's: kernels round. */
  within?: number;
  /** How much of the edges is left out, where kernels look beyond them. */
  margin?: number;
}

const half = (x: number, y: number): [number, number] => [2 * x + 0.5, 2 * y + 0.5];

/** Each needs more than one pipeline, by its steps or because pixels are worked on in memory. */
const CHAINS: readonly Chain[] = [
  {
    name: 'a crop of a crop',
    steps: [
      ['extract', { left: 10, top: 4, width: 60, height: 40 }],
      ['extract', { left: 5, top: 6, width: 40, height: 20 }],
    ],
    from: (x, y) => [x + 15, y + 10],
    size: [40, 20],
  },
  {
    name: 'a turn, a crop and a turn back',
    steps: [
      ['rotate', { angle: 90 }],
      ['extract', { left: 4, top: 10, width: 40, height: 50 }],
      ['rotate', { angle: -90 }],
    ],
    from: (x, y) => [x + 10, y + HEIGHT - 44],
    size: [50, 40],
  },
  {
    name: 'a crop, smaller, mirrored, and a crop',
    steps: [
      ['extract', { left: 8, top: 8, width: 80, height: 40 }],
      ['resize', { width: 40, kernel: 'linear' }],
      ['flop'],
      ['extract', { left: 3, top: 2, width: 30, height: 16 }],
    ],
    from: (x, y) => [half(39 - (x + 3), 0)[0] + 8, half(0, y + 2)[1] + 8],
    size: [30, 16],
    within: 3,
    margin: 2,
  },
  {
    name: 'larger',
    steps: [['resize', { width: 2 * WIDTH, enlarge: true, kernel: 'linear' }]],
    from: (x, y) => [x / 2 - 0.25, y / 2 - 0.25],
    size: [2 * WIDTH, 2 * HEIGHT],
    within: 1,
    margin: 2,
  },
  {
    name: 'larger and smaller again',
    steps: [['resize', { width: 2 * WIDTH, enlarge: true }], ['resize', { width: WIDTH }], ['flip']],
    from: (x, y) => [x, HEIGHT - 1 - y],
    size: [WIDTH, HEIGHT],
    within: 4,
    margin: 8,
  },
  {
    name: 'picked',
    steps: [['resize', { width: WIDTH / 3, kernel: 'nearest' }], ['flip']],
    from: (x, y) => [Math.floor(3 * (x + 0.5)), Math.floor(((21 - y - 1 + 0.5) * HEIGHT) / 21)],
    size: [32, 21],
  },
];

interface Given {
  formula: Formula;
  channels: 1 | 2 | 3 | 4;
  encode?: EncodeOptions;
  /** What the file has beside its pixels. */
  finish?: (pipeline: Sharp) => Sharp;
  amend?: (file: Uint8Array) => Uint8Array;
  /** How much further numbers may lie apart than the chain says. */
  more?: number;
}

const withArtist = (pipeline: Sharp) => pipeline.withExif({ IFD0: { Artist: 'A' } });
const [colours, greys] = [{ formula: ramp, channels: 3 } as const, { formula: grey, channels: 1 } as const];

const GIVEN: Readonly<Record<string, Given>> = {
  colours,
  greys,
  'colours with metadata': { ...colours, encode: { metadata: 'keep' }, finish: withArtist },
  'greys with metadata': { ...greys, encode: { metadata: 'keep' }, finish: withArtist },
  'colours with rights': { ...colours, encode: { metadata: 'copyright' }, finish: withArtist },
  // If colours are scaled by alpha and back, a little is lost in rounding.
  'a veil': { formula: veiled, channels: 4, more: 4 },
  'a grey veil': { formula: greyVeil, channels: 2, more: 4 },
};

async function apart(
  { formula, channels, encode, finish = same, amend = unchanged, more = 0 }: Given,
  chain: Chain,
  format: 'png' | 'tiff',
) {
  const { steps, from, size, within = 0, margin = 0 } = chain;
  const file = amend(await deepFile(formula, channels, finish));
  const { data, bitDepth } = await made(file, passOf(steps, { ...encode, format }));
  const result = await numbersOf(data);
  let most = 0;
  for (let y = margin; y < size[1] - margin; y += 3) {
    for (let x = margin; x < size[0] - margin; x += 3) {
      for (let channel = 0; channel < channels; channel++) {
        const wanted = formula(...from(x, y), channel);
        most = Math.max(most, Math.abs(result.at(x, y, channel) - wanted));
      }
    }
  }
  return {
    most,
    within: within + more,
    told: [result.depth, bitDepth, result.width, result.height, result.channels],
    wanted: ['ushort', 16, ...size, channels],
  };
}

for (const [name, given] of Object.entries(GIVEN)) {
  t.test(`chains of several pipelines hand on all 16 bits of ${name}`, async (t) => {
    for (const chain of CHAINS) {
      for (const format of ['png', 'tiff'] as const) {
        const { most, within, told, wanted } = await apart(given, chain, format);
        t.same(told, wanted, `${format}, ${chain.name}`);
        t.ok(most <= within, `${format}, ${chain.name}: ${most} apart, of ${within}`);
      }
    }
  });
}

/** The file with an EXIF block that says orientation 6, right after its header. */
function lying(png: Uint8Array): Uint8Array {
  const exif = Buffer.from('49492a0008000000010012010300010000000600000000000000', 'hex');
  return Buffer.concat([png.subarray(0, 33), buildPngChunk('eXIf', exif), png.subarray(33)]);
}

t.test('a file that lies on its side is turned and cut in all 16 bits', async (t) => {
  const chain: Chain = {
    name: 'on its side',
    steps: [['extract', { left: 4, top: 10, width: 40, height: 50 }], ['flip']],
    // Upright, x counts from what was the bottom, and y is what was x.
    from: (x, y) => [10 + (49 - y), HEIGHT - 1 - (x + 4)],
    size: [40, 50],
  };
  for (const format of ['png', 'tiff'] as const) {
    const { most, told, wanted } = await apart({ ...colours, amend: lying }, chain, format);
    t.same([told, most], [wanted, 0]);
  }
});

t.test('linear light has all 16 bits, too', async (t) => {
  const uniform: Formula = (_x, _y, channel) => 20_321 + channel * 777;
  const chain: Chain = {
    name: 'smaller in linear light',
    steps: [['resize', { width: WIDTH / 2, linear: true }], ['flop']],
    from: (x, y) => [x, y],
    size: [WIDTH / 2, HEIGHT / 2],
    // The tables of libvips between light and numbers round.
    within: 24,
  };
  const { most, within, told, wanted } = await apart({ formula: uniform, channels: 3 }, chain, 'png');
  t.same(told, wanted);
  t.ok(most <= within, `${most} apart`);
});

t.test('a profile is left for sRGB in 16 bits, to the same colours as in 8', async (t) => {
  const inP3 = (pipeline: Sharp) => pipeline.withIccProfile('p3');
  const file = await deepFile((x, y, channel) => 16_000 + x * 131 + y * 60 + channel * 2_000, 3, inP3);
  const steps: StepText[] = [
    ['extract', { left: 4, top: 4, width: 80, height: 50 }],
    ['rotate', { angle: 90 }],
    ['extract', { width: 40, height: 60 }],
  ];
  const { data, bitDepth } = await made(file, passOf(steps));
  const [fine, coarse] = [
    await numbersOf(data),
    await raster((await made(file, passOf(steps, { format: 'webp', lossless: true }))).data),
  ];
  t.equal(bitDepth, 16);
  const off = [];
  for (let y = 0; y < 60; y += 7) {
    for (let x = 0; x < 40; x += 7)
      off.push(
        ...coarse
          .at(x, y)
          .slice(0, 3)
          .map((value, channel) => Math.abs(fine.at(x, y, channel) / 257 - value)),
      );
  }
  t.ok(Math.max(...off) <= 1.1, `${Math.max(...off)} of 255 apart`);
});
