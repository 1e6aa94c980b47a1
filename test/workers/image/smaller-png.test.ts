// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { buildPngChunk, pngChunks } from '../../../workers/formats/png.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, made, passOf, raster } from './passes.ts';

const corpus = needsImages(t);
const TEXT = buildPngChunk('tEXt', Buffer.from('Comment\0a private remark'));

/** Compressed as tightly as it can be, with a text that a result does not carry. */
async function tight(channels: 3 | 4, deep = false): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 120, sigma: 9 } as const;
  const create = { width: 90, height: 60, channels, background: '#8a6f', noise };
  const picture = sharp(await sharp({ create }).png().toBuffer()).toColourspace(deep ? 'rgb16' : 'srgb');
  const png = await picture.png({ compressionLevel: 9, adaptiveFiltering: true }).toBuffer();
  return Buffer.concat([png.subarray(0, 33), TEXT, png.subarray(33)]);
}

const pixelsOf = (png: Uint8Array) =>
  Buffer.concat(
    [...pngChunks(new ByteReader(png))]
      .filter(({ type }) => type === 'IDAT')
      .map(({ start, end }) => png.subarray(start, end)),
  );

t.test(
  'a PNG of which nothing is asked keeps its compressed pixels, and loses what is not carried',
  async (t) => {
    for (const [name, file] of [
      ['RGB', await tight(3)],
      ['RGBA', await tight(4)],
      ['16 bits', await tight(3, true)],
      [
        'palette',
        await sharp(await tight(3))
          .png({ palette: true, effort: 10 })
          .toBuffer(),
      ],
    ] as const) {
      for (const metadata of ['strip', 'copyright'] as const) {
        const { data } = await made(file, passOf([], { format: 'png', metadata }));
        t.equal(difference(await raster(data), await raster(file)), 0, name);
        t.ok(data.length <= file.length, `${name}: ${data.length} of ${file.length}`);
        t.notOk(Buffer.from(data).includes('private remark'));
        await sharp(data, { failOn: 'warning' }).stats();
      }
    }
  },
);

t.test('what changes the pixels, their colours or their storage is written anew', async (t) => {
  const file = await tight(3);
  const p3 = await sharp(file).withIccProfile('p3').png({ compressionLevel: 9 }).toBuffer();
  const turned = await sharp(file).withMetadata({ orientation: 6 }).png({ compressionLevel: 9 }).toBuffer();
  const negative = (await made(file, passOf([['negate']], { format: 'png' }))).data;
  t.not(pixelsOf(negative).compare(pixelsOf(file)), 0);
  const converted = (await made(p3, passOf([], { format: 'png' }))).data;
  t.not(pixelsOf(converted).compare(pixelsOf(p3)), 0, 'a profile is converted');
  t.ok(difference(await raster(converted), await raster(p3)) <= 2);
  const upright = await made(turned, passOf([], { format: 'png' }));
  t.same([upright.width, upright.height], [60, 90]);
  const interlaced = (await made(file, passOf([], { format: 'png', progressive: true }))).data;
  t.ok((await sharp(interlaced).metadata()).isProgressive);
});

t.test('a photograph does not grow', corpus, async (t) => {
  const file = image('photos/kodak-7.png');
  const { data, warnings } = await made(file, passOf([], { format: 'png' }));
  t.ok(data.length <= file.length, `${data.length} of ${file.length}`);
  t.equal(warnings, undefined);
  t.equal(difference(await raster(data), await raster(file)), 0);
});
