// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { performCompareTask } from '../../../workers/image/facts/compare.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { caseFile, needsCases } from '../../support/cases.ts';
import { drawn, made, passOf, raster, rasterOf, type StepText } from './passes.ts';

const cases = needsCases(t);

/** The values of linear light that sRGB writes as 188, 137 and 229, as the specification of sRGB computes them. */
const LINEAR = [128, 64, 200];
const SHOWN = [188, 137, 229];

type Chunk = [type: string, content: Uint8Array];
const numbers = (...values: number[]) => {
  const content = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) content.writeUInt32BE(value, 4 * index);
  return content;
};
const gamma = (value: number): Chunk => ['gAMA', numbers(value)];
const SRGB: Chunk = ['sRGB', Buffer.of(0)];
const P3: Chunk = ['cHRM', numbers(31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000)];

/** A PNG with chunks after its header. */
function withHead(png: Uint8Array, ...chunks: Chunk[]): Buffer {
  const written = chunks.map(([type, content]) => buildPngChunk(type, content));
  return Buffer.concat([png.subarray(0, 33), ...written, png.subarray(33)]);
}

const plain = (colour: number[], ...chunks: Chunk[]) =>
  drawn(16, 16, () => colour).then((png) => withHead(png, ...chunks));

async function colourOf(file: Uint8Array, encode: EncodeOptions = { format: 'png' }, steps: StepText[] = []) {
  return (await raster((await made(file, passOf(steps, encode))).data)).at(3, 3);
}

const near = (one: number[], other: number[], within = 2) =>
  other.every((value, channel) => Math.abs(value - (one[channel] as number)) <= within);

t.test('the gamma of a PNG says what its numbers mean, in every kind of PNG', async (t) => {
  const rgb = await drawn(16, 16, () => LINEAR);
  const deep = await sharp(rgb).toColourspace('rgb16').png().toBuffer();
  const grey = await sharp(await drawn(16, 16, () => [128, 128, 128]))
    .toColourspace('b-w')
    .png()
    .toBuffer();
  const deepGrey = await sharp(grey).toColourspace('grey16').png().toBuffer();
  const rows: [name: string, png: Uint8Array, expected: number[]][] = [
    ['RGB', rgb, [...SHOWN, 255]],
    ['palette', await sharp(rgb).png({ palette: true }).toBuffer(), [...SHOWN, 255]],
    ['RGBA', await drawn(16, 16, () => [...LINEAR, 100]), [...SHOWN, 100]],
    ['16 bits', deep, [...SHOWN, 255]],
    ['grey', grey, [188, 188, 188, 255]],
    ['grey of 16 bits', deepGrey, [188, 188, 188, 255]],
    ['grey with alpha', await sharp(grey).ensureAlpha(0.5).png().toBuffer(), [188, 188, 188, 128]],
  ];
  for (const [name, png, expected] of rows) {
    const file = withHead(png, gamma(100_000));
    for (const encode of [
      {},
      { format: 'png' },
      { format: 'webp', lossless: true },
      { metadata: 'keep' },
    ] as EncodeOptions[]) {
      // sharp, by which the results are read, converts 16 bits with a profile to Display P3.
      if (encode.metadata === 'keep' && png === deep) continue;
      const colour = await colourOf(file, encode);
      t.ok(near(colour, expected), `${name} with ${JSON.stringify(encode)}: ${colour}`);
    }
    const resized = await colourOf(file, { format: 'png' }, [['resize', { width: 8 }]]);
    t.ok(near(resized, expected, 3), `${name}, resized: ${resized}`);
    const described = await describeImage(new Uint8Array(file));
    if (described.kind === 'failure') return t.fail(described.message);
    for (const hex of [described.image.averageColor, described.image.dominantColor])
      t.ok(
        near([...Buffer.from(hex.slice(1), 'hex')], expected.slice(0, 3)),
        `${name} is described by ${hex}`,
      );
  }
  const kept = (await made(withHead(grey, gamma(100_000)), passOf([], { format: 'jpeg' }))).data;
  t.equal((await sharp(kept).metadata()).channels, 1, 'a grey picture stays grey');
});

t.test('every tone of a grey PNG in linear light is that of the specification of sRGB', async (t) => {
  const shown = (light: number) =>
    255 * (light <= 0.003_130_8 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
  for (const [bits, last] of [
    [8, 255],
    [16, 65_535],
  ] as const) {
    const levels = Array.from({ length: 256 }, (_, level) => (level * last) / 255);
    const data = bits === 8 ? Uint8Array.from(levels) : Uint16Array.from(levels);
    const raw = { width: 256, height: 1, channels: 1 } as const;
    const space = bits === 8 ? 'b-w' : 'grey16';
    for (const hasAlpha of [false, true]) {
      const grey = sharp(data, { raw }).toColourspace(space);
      const png = await (hasAlpha ? grey.ensureAlpha(0.5) : grey).png().toBuffer();
      const file = withHead(png, gamma(100_000));
      for (const metadata of ['strip', 'keep'] as const) {
        const result = await made(file, passOf([], { format: 'png', metadata }));
        t.equal((await sharp(result.data).metadata()).channels, hasAlpha ? 2 : 1, 'the picture stays grey');
        const picture = await raster(result.data);
        const worst = Math.max(
          ...levels.map((level, x) => Math.abs((picture.at(x, 0)[0] as number) - shown(level / last))),
        );
        t.ok(worst <= 1, `${bits} bits, alpha ${hasAlpha}, ${metadata}: ${worst} levels off`);
      }
    }
  }
});

t.test('cICP comes before a profile, sRGB and gamma; a gamma close to 2.2 is that of sRGB', async (t) => {
  const p3 = await sharp(await drawn(16, 16, () => LINEAR))
    .withIccProfile('p3')
    .png()
    .toBuffer();
  const codePoints = (primaries: number): Chunk => ['cICP', Buffer.of(primaries, 13, 0, 1)];
  const longCodePoints: Chunk = ['cICP', Buffer.of(1, 13, 0, 1, 0)];
  const longP3: Chunk = ['cHRM', Buffer.concat([P3[1], Buffer.of(0)])];
  // The shown colours of Display P3 are those of colour-science 0.4.6 (RGB_to_RGB with Bradford).
  const rows: [name: string, file: Uint8Array, expected: number[]][] = [
    ['gamma', await plain(LINEAR, gamma(100_000)), SHOWN],
    ['sRGB before gamma', await plain(LINEAR, gamma(100_000), SRGB), LINEAR],
    ['cICP before gamma', await plain(LINEAR, codePoints(1), gamma(100_000)), LINEAR],
    ['unknown cICP, then gamma', await plain(LINEAR, codePoints(99), gamma(100_000)), SHOWN],
    ['sRGB and a profile', withHead(p3, SRGB, gamma(100_000)), await colourOf(p3)],
    [
      'cICP of sRGB before a profile',
      withHead(await sharp(p3).keepIccProfile().png().toBuffer(), codePoints(1)),
      (await raster(await sharp(p3, { ignoreIcc: true }).png().toBuffer())).at(3, 3),
    ],
    ['gamma of sRGB', await plain(LINEAR, gamma(45_455)), LINEAR],
    ['gamma within 5 %', await plain(LINEAR, gamma(47_000)), LINEAR],
    ['gamma 1.8', await plain(LINEAR, gamma(55_556)), [147, 83, 208]],
    ['no gamma', await plain(LINEAR, gamma(0)), LINEAR],
    [
      'impossible primaries',
      await plain(LINEAR, gamma(100_000), ['cHRM', numbers(0, 0, 0, 0, 0, 0, 0, 0)]),
      SHOWN,
    ],
    ['primaries alone', await plain([200, 100, 50], P3), [215, 93, 31]],
    ['primaries and gamma', await plain([200, 100, 50], gamma(45_455), P3), [215, 93, 31]],
    ['a chunk that is too short', await plain(LINEAR, ['gAMA', Buffer.of(1)]), LINEAR],
    ['gamma that is too long', await plain(LINEAR, ['gAMA', numbers(100_000, 0)]), LINEAR],
    ['such a gamma, then one', await plain(LINEAR, ['gAMA', numbers(55_556, 0)], gamma(100_000)), SHOWN],
    ['sRGB that is too long', await plain(LINEAR, gamma(100_000), ['sRGB', Buffer.of(0, 0)]), SHOWN],
    ['sRGB without content', await plain(LINEAR, gamma(100_000), ['sRGB', Buffer.of()]), SHOWN],
    ['cICP that is too long', await plain(LINEAR, longCodePoints, gamma(100_000)), SHOWN],
    ['primaries that are too long', await plain([200, 100, 50], longP3), [200, 100, 50]],
  ];
  for (const [name, file, expected] of rows) {
    const colour = await colourOf(file);
    t.ok(near(colour, expected), `${name}: ${colour} for ${expected}`);
  }
});

t.test('compared and laid over, a picture has the same colours as by itself', async (t) => {
  const file = new Uint8Array(await plain(LINEAR, gamma(100_000)));
  const shown = await drawn(16, 16, () => SHOWN);
  const deadlineMs = Date.now() + 60_000;
  const compared = await performCompareTask({
    kind: 'compare',
    input: file,
    other: new Uint8Array(shown),
    deadlineMs,
  });
  t.ok(compared.kind === 'compared' && compared.difference.maxDifference <= 2);
  const laid = await rasterOf(
    await drawn(16, 16, () => [0, 0, 0]),
    [['composite', { layerAssetId: 'one' }]],
    {
      layers: { one: { input: file } },
    },
  );
  t.ok(near(laid.at(8, 8), SHOWN), `${laid.at(8, 8)}`);
});

t.test('an AVIF with premultiplied colours shows the plain ones', cases, async (t) => {
  const file = caseFile('avif-premultiplied.avif');
  const shown = [255, 0, 0, 100];
  for (const encode of [
    {},
    { format: 'png' },
    { format: 'webp' },
    { format: 'tiff' },
    { metadata: 'keep' },
  ] as EncodeOptions[]) {
    const { data, contentType } = await made(file, passOf([], encode));
    t.equal(contentType, `image/${encode.format ?? 'avif'}`);
    const colour = (await raster(data)).at(3, 3);
    t.ok(near(colour, shown, 4), `${JSON.stringify(encode)}: ${colour}`);
  }
  for (const step of [
    ['resize', { width: 9 }],
    ['flip'],
    ['blur', { sigma: 2 }],
    ['extract', { width: 5, height: 5 }],
  ] as StepText[]) {
    const colour = (await rasterOf(file, [step])).at(2, 2);
    t.ok(near(colour, shown, 3), `${step[0]}: ${colour}`);
  }
  const flat = (await rasterOf(file, [['flatten', { background: '#0000ff' }]])).at(2, 2);
  t.ok(near(flat, [100, 0, 155, 255], 3), `${flat}`);
  t.match(await describeImage(file), {
    image: { averageColor: '#ff0000', dominantColor: '#ff0000', format: 'avif' },
  });
});
