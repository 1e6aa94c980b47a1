// needs: nothing
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { buildPngChunk, replacePngChunks } from '../../../workers/formats/png.ts';
import { buildIccProfile, type DisplayColours } from '../../../workers/image/colour/icc-profile.ts';
import { hasSrgbProfile } from '../../../workers/image/colour/srgb-profile.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, drawn, made, passOf, raster } from './passes.ts';

const corpus = needsImages(t);
const drawing = await drawn(64, 64, (x, y) => [x * 4, y * 4, 255 - x * 2 - y * 2]);
const numbers = await raster(drawing);

const SRGB: DisplayColours = {
  name: 'a display',
  white: [0.3127, 0.329],
  red: [0.64, 0.33],
  green: [0.3, 0.6],
  blue: [0.15, 0.06],
  curve: (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4),
};

/** The drawing as a PNG with a profile. */
function withProfile(profile: Buffer): Uint8Array {
  const chunk = buildPngChunk(
    'iCCP',
    Buffer.concat([Buffer.from('icc\0\0', 'latin1'), deflateSync(profile)]),
  );
  return replacePngChunks(new Uint8Array(drawing), ({ type, at, next }, png) =>
    type === 'IHDR' ? Buffer.concat([png.subarray(at, next), chunk]) : undefined,
  );
}

async function shown(file: Uint8Array) {
  return raster((await made(file, passOf([], { format: 'png', effort: 0 }))).data);
}

t.test('the numbers of a picture with an sRGB profile stay as they are', async (t) => {
  const files: [name: string, file: Uint8Array][] = [
    ['a table of points', withProfile(buildIccProfile(SRGB))],
    ['a power function', await sharp(drawing).withIccProfile('srgb').png().toBuffer()],
    ['WebP', await sharp(drawing).withIccProfile('srgb').webp({ lossless: true }).toBuffer()],
  ];
  for (const [name, file] of files) {
    t.ok(hasSrgbProfile(file), name);
    t.equal(difference(await shown(file), numbers), 0, `${name}: pixels`);
  }
  t.ok(hasSrgbProfile(await sharp(drawing).withIccProfile('srgb').jpeg().toBuffer()), 'JPEG');
});

t.test('the pictures of cameras and of the web have known profiles', corpus, async (t) => {
  t.ok(hasSrgbProfile(image('photos/kodak-pixpro-s-1.jpg')), 'sRGB IEC61966-2.1');
  t.notOk(hasSrgbProfile(image('photos/nikon-d90.jpg')), 'no profile');
});

t.test('pictures with other profiles are converted', async (t) => {
  const files: [name: string, file: Uint8Array][] = [
    ['another curve', withProfile(buildIccProfile({ ...SRGB, curve: (value) => value ** 1.8 }))],
    ['other primaries', withProfile(buildIccProfile({ ...SRGB, red: [0.68, 0.32] }))],
    ['Display P3', await sharp(drawing).withIccProfile('p3', { attach: true }).png().toBuffer()],
  ];
  for (const [name, file] of files) {
    t.notOk(hasSrgbProfile(file), name);
    t.ok(difference(await shown(file), await raster(file)) <= 1, `${name}: as sharp shows it`);
  }
});

t.test('a profile that cannot be read is none', async (t) => {
  const profile = buildIccProfile(SRGB);
  for (const bytes of [0, 100, 130, 200, 400]) {
    t.notOk(hasSrgbProfile(withProfile(profile.subarray(0, bytes))), `${bytes} bytes`);
  }
});
