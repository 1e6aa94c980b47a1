// needs: pixels
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { TIFF_PAGE_TAGS } from '../../../workers/formats/tiff-page.ts';
import { buildIccProfile } from '../../../workers/image/colour/icc-profile.ts';
import { SRGB_PRIMARIES } from '../../../workers/image/colour/named-colours.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { drawn, made, passOf, raster, type StepText } from './passes.ts';
import { tiffWith } from './tiff-files.ts';

/*
 * 16-bit grey with a profile, as scanners and photo editors write it. The numbers are linear light here, so 128 is
 * 188 in sRGB.
 */

const LINEAR_RGB = buildIccProfile({ ...SRGB_PRIMARIES, name: 'Linear grey', curve: (value) => value });
/** A grey profile: the one of RGB, with its space and the name of a curve replaced. */
const LINEAR = Buffer.from(
  LINEAR_RGB.toString('latin1').replace('RGB ', 'GRAY').replace('rTRC', 'kTRC'),
  'latin1',
);
const LIGHT = 128 * 257;
const SHOWN = 188;

async function pngWithProfile(): Promise<Buffer> {
  const plain = await sharp(await drawn(8, 6, () => [128, 128, 128]))
    .toColourspace('grey16')
    .png()
    .toBuffer();
  const content = Buffer.concat([Buffer.from('grey\0\0', 'latin1'), deflateSync(LINEAR)]);
  return Buffer.concat([plain.subarray(0, 33), buildPngChunk('iCCP', content), plain.subarray(33)]);
}

/** A TIFF whose profile lies at its end. */
function tiffWithProfile({ isInverted = false } = {}): Buffer {
  const file = tiffWith({
    width: 8,
    height: 6,
    perPixel: 1,
    photometric: isInverted ? 0 : 1,
    samples: new Uint16Array(48).fill(isInverted ? 65_535 - LIGHT : LIGHT),
    tags: { [TIFF_PAGE_TAGS.profile]: [0, 0] },
  });
  const entry = file.indexOf(Buffer.from([0x73, 0x87, 3, 0]));
  file.writeUInt16LE(7, entry + 2);
  file.writeUInt32LE(LINEAR.length, entry + 4);
  file.writeUInt32LE(file.length, entry + 8);
  return Buffer.concat([file, LINEAR]);
}

const FILES: [name: string, file: Buffer][] = [
  ['PNG', await pngWithProfile()],
  ['TIFF', tiffWithProfile()],
  ['inverted TIFF', tiffWithProfile({ isInverted: true })],
];

t.test('the profile of 16-bit grey is applied in every format and after every step', async (t) => {
  const passes: StepText[][] = [
    [],
    [['resize', { width: 4 }]],
    [['extend', { left: 4, background: '#fff' }]],
  ];
  for (const [name, file] of FILES)
    for (const format of ['png', 'webp', 'jpeg', 'tiff'] as const)
      for (const steps of passes) {
        const { data } = await made(file, passOf(steps, { format }));
        const picture = await raster(data);
        const [grey = 0] = picture.at(picture.width - 1, 1);
        t.ok(Math.abs(grey - SHOWN) <= 2, `${name} as ${format}, ${JSON.stringify(steps)}: ${grey}`);
      }
});

t.test('linear light in 8-bit grey is converted within a level', async (t) => {
  const ramp = await sharp(Buffer.from(Array.from({ length: 256 }, (_, level) => level)), {
    raw: { width: 256, height: 1, channels: 1 },
  })
    .toColourspace('b-w')
    .png()
    .toBuffer();
  const content = Buffer.concat([Buffer.from('grey\0\0', 'latin1'), deflateSync(LINEAR)]);
  const file = Buffer.concat([ramp.subarray(0, 33), buildPngChunk('iCCP', content), ramp.subarray(33)]);
  const picture = await raster((await made(file, passOf([], { format: 'png' }))).data);
  for (let level = 0; level < 256; level++) {
    const light = level / 255;
    const shown = 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
    t.ok(Math.abs((picture.at(level, 0)[0] as number) - shown) <= 1, `${level}: ${picture.at(level, 0)[0]}`);
  }
});

t.test('measurements apply the profile of 16-bit grey, and the facts report it', async (t) => {
  for (const [name, file] of FILES) {
    t.match(readImageHeader(file), { mustBeRewritten: true }, name);
    const described = await describeImage(new Uint8Array(file));
    if (described.kind === 'failure') return t.fail(described.message);
    const { image, metadata } = described;
    t.ok(Math.abs(Number.parseInt(image.averageColor.slice(1, 3), 16) - SHOWN) <= 2, `${name} is measured`);
    t.equal(image.bitDepth, 16, name);
    t.match(metadata.icc, { 'ICC Description': 'Linear grey' }, name);
  }
});

t.test('a picture with a profile of another colour space still gets the colours of a step', async (t) => {
  const rgb = await drawn(8, 6, () => [200, 100, 50]);
  const content = Buffer.concat([Buffer.from('grey\0\0', 'latin1'), deflateSync(LINEAR)]);
  const file = Buffer.concat([rgb.subarray(0, 33), buildPngChunk('iCCP', content), rgb.subarray(33)]);
  const steps: StepText[] = [['extend', { left: 2, background: '#ff8800' }]];
  const { data } = await made(file, passOf(steps, { format: 'png', metadata: 'keep' }));
  const decoder = sharp(data, { ignoreIcc: true }).raw();
  const pixels = await decoder.toBuffer();
  t.same([...pixels.subarray(0, 3)], [255, 136, 0]);
});
