// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { requireReadableHeader } from '../../../src/imaging/images/source.ts';
import { TIFF_PAGE_TAGS } from '../../../workers/formats/tiff-page.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { caseFile, needsCases } from '../../support/cases.ts';
import { drawn, made, passOf, raster, type StepText } from './passes.ts';
import { type Stored, tiffWith } from './tiff-files.ts';

const cases = needsCases(t);
const YCBCR = 6;
const [GREY, RGB, CMYK] = [1, 2, 5];

/** A page of one colour. */
const even = (pixel: number[], photometric: number, more: Partial<Stored> = {}): Stored => ({
  width: 8,
  height: 6,
  perPixel: pixel.length,
  photometric,
  samples: Uint8Array.from({ length: 48 * pixel.length }, (_, at) => pixel[at % pixel.length] as number),
  ...more,
});
const wide = <A extends Uint16Array | Uint32Array>(pixel: number[], factor: number, samples: A): A => {
  for (let at = 0; at < samples.length; at++) samples[at] = (pixel[at % pixel.length] as number) * factor;
  return samples;
};
/** A page of grey floating-point numbers. They are linear light. */
const floats = (light: Float32Array | Float16Array, bigEndian = false): Stored => ({
  ...even([0], GREY, { tags: { [TIFF_PAGE_TAGS.sampleFormat]: 3 }, bigEndian }),
  samples:
    light instanceof Float32Array
      ? new Uint32Array(light.buffer)
      : new Uint16Array(light.buffer as ArrayBuffer),
});
const extra = (...meanings: number[]) => ({ [TIFF_PAGE_TAGS.extraSamples]: meanings });
const plain = { [TIFF_PAGE_TAGS.subsampling]: [1, 1] };

const near = (one: number[], other: number[], within: number) =>
  other.every((value, channel) => Math.abs(value - (one[channel] as number)) <= within);

/** YCbCr 96, 91 and 224 are 231, 40 and 30 by ITU-R BT.601 in the full range. */
const RED_YCBCR = [96, 91, 224];
const RED = [231, 40, 30, 255];
/** One block of 2 x 2 pixels. */
const BLOCK = [96, 96, 96, 96, 91, 224];

const ROWS: [name: string, stored: Stored, expected: number[]][] = [
  ['YCbCr', even(RED_YCBCR, YCBCR, { tags: plain }), RED],
  [
    'YCbCr, deflated, in a big-endian file',
    even(RED_YCBCR, YCBCR, { tags: plain, deflated: true, bigEndian: true }),
    RED,
  ],
  ['YCbCr in a BigTIFF', even(RED_YCBCR, YCBCR, { tags: plain, isBig: true }), RED],
  [
    'YCbCr in blocks of 2 x 2',
    even(RED_YCBCR, YCBCR, {
      samples: Uint8Array.from({ length: 12 * 6 }, (_, at) => BLOCK[at % 6] as number),
    }),
    RED,
  ],
  ['RGB, alpha and one more', even([200, 100, 50, 128, 7], RGB, { tags: extra(2, 0) }), [200, 100, 50, 128]],
  [
    'RGB, premultiplied, and one more',
    even([100, 50, 25, 128, 7], RGB, { tags: extra(1, 0) }),
    [199, 100, 50, 128],
  ],
  ['RGB and two of no meaning', even([200, 100, 50, 9, 7], RGB, { tags: extra(0, 0) }), [200, 100, 50, 255]],
  [
    'RGB, one of no meaning, then alpha',
    even([200, 100, 50, 9, 128], RGB, { tags: extra(0, 2) }),
    [200, 100, 50, 128],
  ],
  ['RGB and four more', even([200, 100, 50, 128, 7, 8, 9], RGB, { tags: extra(2) }), [200, 100, 50, 128]],
  ['grey, alpha and one more', even([90, 128, 7], GREY, { tags: extra(2, 0) }), [90, 90, 90, 128]],
  [
    '16 bits with two more',
    even([200, 100, 50, 128, 7], RGB, {
      tags: extra(2, 0),
      samples: wide([200, 100, 50, 128, 7], 257, new Uint16Array(48 * 5)),
      bigEndian: true,
    }),
    [200, 100, 50, 128],
  ],
  [
    '32 bits',
    even([200, 100, 50], RGB, { samples: wide([200, 100, 50], 0x01010101, new Uint32Array(48 * 3)) }),
    [200, 100, 50, 255],
  ],
  [
    '32 bits of grey, big-endian',
    even([90], GREY, { samples: wide([90], 0x01010101, new Uint32Array(48 * 1)), bigEndian: true }),
    [90, 90, 90, 255],
  ],
  [
    'signed 16 bits',
    even([100], GREY, {
      samples: wide([100], 128, new Uint16Array(48 * 1)),
      tags: { [TIFF_PAGE_TAGS.sampleFormat]: 2 },
    }),
    [100, 100, 100, 255],
  ],
  ['light of 32 bits', floats(new Float32Array(48).fill(0.2158605)), [128, 128, 128, 255]],
  ['light of 16 bits, big-endian', floats(new Float16Array(48).fill(0.2158605), true), [128, 128, 128, 255]],
  [
    'premultiplied grey of 32 bits',
    even([50, 128], GREY, {
      samples: wide([50, 128], 0x01010101, new Uint32Array(48 * 2)),
      tags: extra(1),
    }),
    [100, 100, 100, 128],
  ],
  ['a negative number', even([200], GREY, { tags: { [TIFF_PAGE_TAGS.sampleFormat]: 2 } }), [0, 0, 0, 255]],
  // CIE L*a*b* of sRGB red under D50: 54, 81, 70.
  ['L*a*b* of 8 bits', even([138, 81, 70], 8), [255, 0, 0, 255]],
  ['L*a*b* of ICC', even([138, 128 + 81, 128 + 70], 9), [255, 0, 0, 255]],
];

t.test('samples of a TIFF that the decoder takes for others are what they mean', async (t) => {
  for (const [name, stored, expected] of ROWS) {
    const file = tiffWith(stored);
    t.match(requireReadableHeader(file), { format: 'tiff', mustBeRewritten: true }, name);
    for (const steps of [
      [],
      [['flip'], ['flop']],
      [
        ['resize', { width: 4 }],
        ['border', { width: 2, color: 'red' }],
      ],
    ] as StepText[][]) {
      const { data } = await made(file, passOf(steps, { format: 'png' }));
      const picture = await raster(data);
      const found = picture.at(picture.width >> 1, picture.height >> 1);
      t.ok(near(found, expected, 3), `${name}: ${found}`);
    }
    const described = await describeImage(new Uint8Array(file));
    if (described.kind === 'failure') return t.fail(`${name}: ${described.message}`);
    const { averageColor, bitDepth, hasAlpha } = described.image;
    t.ok(
      near([...Buffer.from(averageColor.slice(1), 'hex')], expected.slice(0, 3), 3),
      `${name} is ${averageColor}`,
    );
    t.same([bitDepth, hasAlpha], [8 * stored.samples.BYTES_PER_ELEMENT, (expected[3] as number) < 255], name);
  }
});

t.test('alpha of 16-bit CMYK is read as it is', async (t) => {
  const pixel = [0, 255, 255, 0, 128];
  const stored = even(pixel, CMYK, { tags: extra(2), samples: wide(pixel, 257, new Uint16Array(48 * 5)) });
  const opaque = even(pixel.slice(0, 4), CMYK, {
    samples: wide(pixel.slice(0, 4), 257, new Uint16Array(48 * 4)),
  });
  const [found, expected] = await Promise.all(
    [stored, opaque].map(async (one) =>
      (await raster((await made(tiffWith(one), passOf([], { format: 'png' }))).data)).at(3, 3),
    ),
  );
  t.ok(near(found ?? [], [...(expected ?? []).slice(0, 3), 128], 3), `${found}`);
});

t.test('each pixel of a block has its own Y, and rows and columns beyond the picture are cut', async (t) => {
  // 3 x 3 pixels in 2 x 2 blocks: Y counts up, Cb and Cr are without colour.
  const blocks = [
    [10, 20, 40, 50],
    [30, 0, 60, 0],
    [70, 80, 0, 0],
    [90, 0, 0, 0],
  ];
  const samples = Uint8Array.from(blocks.flatMap((luma) => [...luma, 128, 128]));
  const stored = { width: 3, height: 3, samples, perPixel: 3, photometric: YCBCR };
  const picture = await raster((await made(tiffWith(stored), passOf([], { format: 'png' }))).data);
  const values = Array.from({ length: 9 }, (_, at) => picture.at(at % 3, Math.floor(at / 3))[0]);
  t.same(values, [10, 20, 30, 40, 50, 60, 70, 80, 90]);
});

t.test('values that are stored as differences are added up, of each sample by itself', async (t) => {
  const pixels = [1, 2, 3].flatMap((x) => [50 * x, 20 * x, 10 * x, 128, 7]);
  const samples = Uint8Array.from(pixels, (value, at) => value - (pixels[at - 5] ?? 0));
  const tags = { ...extra(2, 0), [TIFF_PAGE_TAGS.predictor]: 2 };
  const file = tiffWith({
    width: 3,
    height: 1,
    samples,
    perPixel: 5,
    photometric: RGB,
    tags,
    deflated: true,
  });
  const picture = await raster((await made(file, passOf([], { format: 'png' }))).data);
  t.same(picture.at(2, 0), [150, 60, 30, 128]);
});

t.test('the file that was written anew is no result, and what describes the picture stays', async (t) => {
  const file = tiffWith(even(RED_YCBCR, YCBCR, { tags: { ...plain, [TIFF_PAGE_TAGS.orientation]: 6 } }));
  const { data, width, height } = await made(file, passOf([], { format: 'tiff' }));
  t.same([width, height], [6, 8], 'it is turned upright');
  t.notOk(Buffer.from(data).includes(file.subarray(8, 80)), 'the samples as they were stored are gone');
  const upright = tiffWith(even(RED_YCBCR, YCBCR, { tags: plain }));
  const same = await made(upright, passOf([], { format: 'tiff' }));
  t.equal((await sharp(same.data).metadata()).space, 'srgb');
  t.notOk(Buffer.from(same.data).includes(upright.subarray(8, 80)));
});

t.test('what is not read is refused by its name, with what to send instead', async (t) => {
  const rows: [tags: Stored['tags'], perPixel: number, photometric: number, message: RegExp][] = [
    [{ [TIFF_PAGE_TAGS.compression]: 50_000 }, 3, RGB, /compressed with Zstandard.*save it with LZW/],
    [{ [TIFF_PAGE_TAGS.compression]: 34_925 }, 3, RGB, /compressed with LZMA/],
    [{ [TIFF_PAGE_TAGS.compression]: 34_712 }, 3, RGB, /compressed with JPEG 2000/],
    [{ [TIFF_PAGE_TAGS.compression]: 33_003 }, 3, RGB, /compressed with JPEG 2000/],
    [{ [TIFF_PAGE_TAGS.compression]: 50_002 }, 3, RGB, /compressed with JPEG XL/],
    [{ [TIFF_PAGE_TAGS.compression]: 12_345 }, 3, RGB, /compressed with scheme 12345/],
    [
      { [TIFF_PAGE_TAGS.planar]: 2, [TIFF_PAGE_TAGS.tileWidth]: 16, [TIFF_PAGE_TAGS.tileHeight]: 16 },
      3,
      RGB,
      /tiles with one plane per sample/,
    ],
    [{ [TIFF_PAGE_TAGS.planar]: 2, ...extra(2, 0) }, 5, RGB, /one plane per sample/],
    [{ [TIFF_PAGE_TAGS.bits]: 12 }, 1, GREY, /12 bits per sample.*8 or 16/],
    [{ [TIFF_PAGE_TAGS.bits]: 64, [TIFF_PAGE_TAGS.sampleFormat]: 3 }, 1, GREY, /64 bits per sample/],
    [{ [TIFF_PAGE_TAGS.sampleFormat]: 6 }, 1, GREY, /complex numbers/],
    [{ [TIFF_PAGE_TAGS.compression]: 7, ...extra(2, 0) }, 5, RGB, /5 samples per pixel/],
    [{}, 3, 10, /ITU L\*a\*b\*/],
    [{}, 1, 32_803, /raw samples of a camera/],
    [{ [TIFF_PAGE_TAGS.compression]: 6 }, 3, YCBCR, /JPEG of the old kind.*save it with LZW/],
    [{ [TIFF_PAGE_TAGS.compression]: 32_909 }, 3, RGB, /compressed with PixarLog/],
    [{}, 1, 4, /transparency mask/],
    [{ [TIFF_PAGE_TAGS.compression]: 34_676 }, 1, 32_844, /LogL/],
    [{}, 3, 32_845, /colours of kind 32845/],
    [{}, 1, 51_177, /depth map/],
    [{}, 3, 99, /colours of kind 99/],
    [{}, 1, RGB, /fewer samples per pixel/],
    [{}, 3, CMYK, /fewer samples per pixel/],
    [{}, 1, YCBCR, /fewer samples per pixel/],
  ];
  for (const [tags, perPixel, photometric, message] of rows) {
    const file = tiffWith(even(Array(perPixel).fill(1), photometric, { tags: tags ?? {} }));
    t.throws(() => requireReadableHeader(file), { code: 'unsupported_format', message }, String(message));
  }
});

t.test('ordinary TIFFs are not written anew', async (t) => {
  const rgba = await drawn(8, 8, () => [200, 100, 50, 128]);
  for (const options of [
    {},
    { compression: 'jpeg' },
    { compression: 'deflate', predictor: 'horizontal' },
  ] as const)
    t.notOk(readImageHeader(await sharp(rgba).tiff(options).toBuffer())?.mustBeRewritten);
  const cmyk = tiffWith(even([10, 20, 30, 40], CMYK));
  t.notOk(readImageHeader(cmyk)?.mustBeRewritten);
});

t.test('the shared cases come out right', cases, async (t) => {
  const colourOf = async (name: string, x: number) =>
    (await raster((await made(caseFile(name), passOf([], { format: 'png' }))).data)).at(x, 4);
  t.ok(near(await colourOf('tiff-five-samples.tif', 4), [199, 99, 49, 128], 1));
  t.ok(near(await colourOf('tiff-lab-8.tif', 4), [255, 0, 1, 255], 12));
  t.ok(near(await colourOf('tiff-ycbcr-deflate.tif', 2), [231, 40, 30, 255], 1));
  t.ok(near(await colourOf('tiff-ycbcr-deflate.tif', 30), [30, 60, 220, 255], 1));
});
