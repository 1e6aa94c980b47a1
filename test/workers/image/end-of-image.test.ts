// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, made, passOf, raster, refused, run } from './passes.ts';

const corpus = needsImages(t);
const noise = { type: 'gaussian', mean: 120, sigma: 40 } as const;
const create = { width: 320, height: 240, channels: 3, background: '#888', noise } as const;
const picture = await sharp({ create }).png().toBuffer();

const KINDS = {
  baseline: await sharp(picture).jpeg().toBuffer(),
  progressive: await sharp(picture).jpeg({ progressive: true }).toBuffer(),
  grey: await sharp(picture).toColourspace('b-w').jpeg().toBuffer(),
  '4:4:4': await sharp(picture).jpeg({ chromaSubsampling: '4:4:4', quality: 95 }).toBuffer(),
};

t.test('a JPEG that lacks only its end is read like the whole', async (t) => {
  for (const [name, file] of Object.entries(KINDS)) {
    for (const cutBytes of [1, 2]) {
      const cut = file.subarray(0, -cutBytes);
      for (const pass of [
        passOf([], { format: 'png' }),
        passOf([['resize', { width: 50 }]], { format: 'png' }),
      ]) {
        const whole = await raster((await made(file, pass)).data);
        t.equal(
          difference(await raster((await made(cut, pass)).data), whole),
          0,
          `${name} without ${cutBytes}`,
        );
      }
      t.match(
        await describeImage(new Uint8Array(cut)),
        { kind: 'described', image: { width: 320, bytes: cut.length } },
        name,
      );
      const same = await made(cut, passOf([], { format: 'jpeg' }));
      t.same([...same.data.subarray(-2)], [0xff, 0xd9], `${name}: the result has its end`);
    }
  }
});

t.test('a JPEG that is cut inside of its rows is refused, with and without an end of its own', async (t) => {
  for (const [name, file] of Object.entries(KINDS)) {
    for (const cutBytes of [8, 20, 200, 2_000, 9_000]) {
      const cut = file.subarray(0, -cutBytes);
      const failure = await refused(cut, passOf([], { format: 'png' }));
      t.equal(failure.code, 'unsupported_format', `${name} without ${cutBytes} bytes`);
    }
  }
});

t.test('a progressive JPEG that lacks a scan is refused, though all its rows are there', async (t) => {
  const file = KINDS.progressive;
  const scans = [...file.keys()].filter((at) => file[at] === 0xff && file[at + 1] === 0xda);
  t.ok(scans.length > 2, `${scans.length} scans`);
  for (const at of scans.slice(1)) {
    // Tables may stand before a scan: the file is cut behind the data of the scan before.
    const table = file.lastIndexOf(Buffer.from([0xff, 0xc4]), at);
    const end = table > (scans[scans.indexOf(at) - 1] as number) ? table : at;
    t.match(await run(file.subarray(0, end), passOf([])), { kind: 'failure', code: 'unsupported_format' });
  }
});

t.test(
  'a photograph of a camera is read without its end, and not without its last rows',
  corpus,
  async (t) => {
    const photo = image('photos/canon-eos-450d.jpg');
    const end = Buffer.from(photo).lastIndexOf(Buffer.from([0xff, 0xd9]));
    const pass = passOf([['resize', { width: 64 }]], { format: 'png' });
    t.match(await run(photo.subarray(0, end), pass), { kind: 'transformed' });
    t.match(await run(photo.subarray(0, end - 3_000), pass), { code: 'unsupported_format' });
  },
);
