// needs: pixels
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { TIFF_PAGE_TAGS } from '../../../workers/formats/tiff-page.ts';
import { srgbToLinear } from '../../../workers/image/colour/colour.ts';
import { buildIccProfile, type DisplayColours } from '../../../workers/image/colour/icc-profile.ts';
import { SRGB_PRIMARIES } from '../../../workers/image/colour/named-colours.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { makeFileReadable } from '../../../workers/image/readable.ts';
import { made, passOf, raster, type StepText } from './passes.ts';
import { tiffWith } from './tiff-files.ts';

/*
 * 16-bit RGB with a profile, as cameras and photo editors write it. The expected colours are those that the equations
 * of IEC 61966-2-1 give, with the matrix from Rec. 2020 to Rec. 709 of ITU-R BT.2407.
 */

const WIDE: DisplayColours = {
  ...SRGB_PRIMARIES,
  name: 'Wide',
  red: [0.708, 0.292],
  green: [0.17, 0.797],
  blue: [0.131, 0.046],
  curve: (value) => value ** 2,
};
const WIDE_TO_SRGB = [
  [1.6605, -0.5876, -0.0728],
  [-0.1246, 1.1329, -0.0083],
  [-0.0182, -0.1006, 1.1187],
];
/** Dark, neutral and saturated colours, of which the last three are outside of sRGB. */
const COLOURS = [
  [0.02, 0.02, 0.02],
  [0.1, 0.06, 0.04],
  [0.5, 0.5, 0.5],
  [0.8, 0.6, 0.5],
  [0.1, 0.9, 0.3],
  [0.95, 0.1, 0.05],
  [0.05, 0.2, 0.98],
];

function shownColour(stored: readonly number[]): number[] {
  const light = stored.map((value) => value ** 2);
  return WIDE_TO_SRGB.map((row) => {
    const sum = row.reduce((total, weight, channel) => total + weight * (light[channel] as number), 0);
    const clipped = Math.min(1, Math.max(0, sum));
    return Math.round(255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055));
  });
}

const SAMPLES = Uint16Array.from(COLOURS.flat(), (value) => Math.round(65_535 * value));
const PROFILE = buildIccProfile(WIDE);

/** A PNG with one column per colour, and with transparent pixels if asked for. */
async function widePng(alpha?: number, profile = PROFILE): Promise<Buffer> {
  const samples =
    alpha === undefined
      ? SAMPLES
      : Uint16Array.from(
          COLOURS.flatMap((colour) => [...colour, alpha]),
          (value) => Math.round(65_535 * value),
        );
  const raw = { width: COLOURS.length, height: 1, channels: alpha === undefined ? 3 : 4 } as const;
  const plain = await sharp(samples as unknown as Buffer, { raw })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  const content = Buffer.concat([Buffer.from('wide\0\0', 'latin1'), deflateSync(profile)]);
  return Buffer.concat([plain.subarray(0, 33), buildPngChunk('iCCP', content), plain.subarray(33)]);
}

function wideTiff(profile = PROFILE): Buffer {
  const tags = { [TIFF_PAGE_TAGS.profile]: [0, 0] };
  const file = tiffWith({
    width: COLOURS.length,
    height: 1,
    perPixel: 3,
    photometric: 2,
    samples: SAMPLES,
    tags,
  });
  const entry = file.indexOf(Buffer.from([0x73, 0x87, 3, 0]));
  file.writeUInt16LE(7, entry + 2);
  file.writeUInt32LE(profile.length, entry + 4);
  file.writeUInt32LE(file.length, entry + 8);
  return Buffer.concat([file, profile]);
}

const FILES: [name: string, file: Buffer][] = [
  ['PNG', await widePng()],
  ['TIFF', wideTiff()],
];

t.test('16-bit RGB is converted from its profile to sRGB within a level', async (t) => {
  const passes: StepText[][] = [[], [['extend', { bottom: 1, background: '#123456' }]]];
  for (const [name, file] of FILES)
    for (const format of ['png', 'webp', 'tiff'] as const)
      for (const steps of passes) {
        const encode = format === 'webp' ? { format, lossless: true } : { format };
        const picture = await raster((await made(file, passOf(steps, encode))).data);
        for (const [x, colour] of COLOURS.entries()) {
          const shown = picture.at(x, 0);
          for (const [channel, value] of shownColour(colour).entries())
            t.ok(
              Math.abs((shown[channel] as number) - value) <= 2,
              `${name} as ${format}: ${colour} is ${shown}`,
            );
        }
      }
});

t.test('the background under 16-bit RGB with a profile has the colour that was asked for', async (t) => {
  const encode = { format: 'jpeg', quality: 100, chroma: '4:4:4', background: '#804020' } as const;
  const picture = await raster((await made(await widePng(0), passOf([], encode))).data);
  for (const [channel, value] of [0x80, 0x40, 0x20].entries())
    t.ok(Math.abs((picture.at(3, 0)[channel] as number) - value) <= 2, String(picture.at(3, 0)));
});

t.test(
  'the header tells that 16-bit RGB with a profile is rewritten, so that its memory and time are counted',
  async (t) => {
    for (const [name, file] of FILES) t.match(readImageHeader(file), { mustBeRewritten: true }, name);
    const plain = await sharp(FILES[0]?.[1], { ignoreIcc: true }).toColourspace('rgb16').png().toBuffer();
    t.notOk(readImageHeader(plain)?.mustBeRewritten, 'no profile');
  },
);

t.test('16-bit RGB with an sRGB profile keeps its values, and its pixels are not rewritten', async (t) => {
  const profile = buildIccProfile({ ...SRGB_PRIMARIES, name: 'sRGB', curve: srgbToLinear });
  const [png, tiff] = [await widePng(undefined, profile), wideTiff(profile)];
  for (const [name, file] of Object.entries({ png, tiff })) {
    const picture = await raster((await made(file, passOf([], { format: 'webp', lossless: true }))).data);
    for (const [x, colour] of COLOURS.entries())
      for (const [channel, value] of colour.entries()) {
        const shown = picture.at(x, 0)[channel] as number;
        t.ok(Math.abs(shown - Math.round(255 * value)) <= 1, `${name}: ${colour} is ${shown}`);
      }
    const described = await describeImage(new Uint8Array(file));
    t.match(described, { metadata: { icc: { 'ICC Description': 'sRGB' } } }, name);
    t.notOk(readImageHeader(file)?.mustBeRewritten, name);
  }
  const readablePng = Buffer.from((await makeFileReadable(new Uint8Array(png))).input);
  t.same(readablePng.subarray(33), png.subarray(png.indexOf('pHYs') - 4), 'only the profile is dropped');
  const readableTiff = Buffer.from((await makeFileReadable(new Uint8Array(tiff))).input);
  t.same(readableTiff.subarray(8, tiff.length), tiff.subarray(8), 'only a directory is added');
  t.ok(readableTiff.length < tiff.length + 2 * SAMPLES.byteLength + 200);
});

t.test('kept metadata keep the profile and the values of 16-bit RGB', async (t) => {
  for (const [name, file] of FILES) {
    const { data } = await made(file, passOf([], { format: 'png', metadata: 'keep' }));
    const values = await sharp(data, { ignoreIcc: true })
      .toColourspace('rgb16')
      .raw({ depth: 'ushort' })
      .toBuffer();
    t.same(new Uint16Array(values.buffer, values.byteOffset, SAMPLES.length), SAMPLES, name);
    t.ok((await sharp(data).metadata()).icc, name);
  }
});

t.test('a PNG that is converted from its profile keeps its density and its texts', async (t) => {
  const file = await widePng();
  const text = buildPngChunk('tEXt', Buffer.from('Title\0Wide colours', 'latin1'));
  const { input } = await makeFileReadable(
    new Uint8Array(Buffer.concat([file.subarray(0, 33), text, file.subarray(33)])),
  );
  const { density, comments, icc } = await sharp(input).metadata();
  t.match(comments, [{ keyword: 'Title', text: 'Wide colours' }]);
  t.equal(density, (await sharp(file).metadata()).density);
  t.equal(icc, undefined);
});

t.test('the facts of 16-bit RGB report its profile', async (t) => {
  for (const [name, file] of FILES) {
    const described = await describeImage(new Uint8Array(file));
    if (described.kind === 'failure') return t.fail(described.message);
    t.equal(described.image.bitDepth, 16, name);
    t.match(described.metadata.icc, { 'ICC Description': 'Wide' }, name);
  }
});
