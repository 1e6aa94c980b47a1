// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import type { ImageHeader } from '../../../src/imaging/images/header/facts.ts';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { buildJpegSegment, JPEG_MARKERS } from '../../../workers/formats/jpeg.ts';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { avifOf, gifOf, jpegOf, pngOf, svgOf, tiffOf, webpOf } from './files.ts';

const corpus = needsImages(t);
const FOLDERS = ['animated', 'hostile', 'modern', 'orientation', 'photos', 'pngsuite', 'vector'];

/** What sharp reads of a file, in our words; null if it reads nothing. */
async function toldBySharp(file: Uint8Array): Promise<Partial<ImageHeader> | null> {
  const metadata = await sharp(file)
    .metadata()
    .catch(() => null);
  if (metadata === null) return null;
  const { format, width, height, pages, orientation, isProgressive } = metadata;
  return {
    format: format === 'heif' ? 'avif' : (format as ImageHeader['format']),
    width,
    height,
    frames: pages ?? 1,
    orientation: orientation ?? 1,
    progressive: isProgressive,
  };
}

t.test('the facts of every shared image that sharp reads are those that sharp reports', corpus, async (t) => {
  let compared = 0;
  for (const name of FOLDERS.flatMap(imagesIn)) {
    const file = image(name);
    const theirs = await toldBySharp(file);
    if (theirs === null) continue;
    // libvips counts the tiles of a grid as pictures.
    const frames = name.includes('_grid') ? 1 : theirs.frames;
    t.match(readImageHeader(file), { ...theirs, frames }, name);
    compared += 1;
  }
  t.ok(compared > 250, `${compared} images compared`);
});

t.test('transparency and channels are told as sharp tells them', corpus, async (t) => {
  for (const name of ['animated', 'modern', 'photos', 'pngsuite'].flatMap(imagesIn)) {
    const metadata = await sharp(image(name))
      .metadata()
      .catch(() => null);
    if (metadata === null) continue;
    const { hasAlpha, channels } = metadata;
    t.match(readImageHeader(image(name)), { hasAlpha, channels }, name);
  }
});

/** A TIFF structure whose only entry is the orientation 6, stored as a number of the given type. */
function exifOf(order: 'II' | 'MM', type: number, count: number): Buffer {
  const exif = Buffer.alloc(26);
  const view = new DataView(exif.buffer, exif.byteOffset);
  const isLittle = order === 'II';
  exif.write(order);
  view.setUint16(2, 42, isLittle);
  view.setUint32(4, 8, isLittle);
  view.setUint16(8, 1, isLittle);
  view.setUint16(10, 0x0112, isLittle);
  view.setUint16(12, type, isLittle);
  view.setUint32(14, count, isLittle);
  if ([1, 2, 6, 7].includes(type)) exif[18] = 6;
  else if ([3, 8].includes(type)) view.setUint16(18, 6, isLittle);
  else view.setUint32(18, 6, isLittle);
  return exif;
}

t.test('an orientation is read as sharp reads it, with each type of number that can store it', async (t) => {
  const plain = sharp({ create: { width: 4, height: 2, channels: 3, background: 'red' } });
  const [jpeg, png] = [await plain.clone().jpeg().toBuffer(), await plain.clone().png().toBuffer()];
  const afterHead = (file: Buffer, at: number, part: Buffer) =>
    Buffer.concat([file.subarray(0, at), part, file.subarray(at)]);
  const prefix = Buffer.from('Exif\0\0');
  let turned = 0;
  for (const order of ['II', 'MM'] as const)
    for (const count of [0, 1, 2])
      for (let type = 0; type <= 13; type++) {
        const exif = exifOf(order, type, count);
        const files = {
          jpeg: afterHead(jpeg, 2, buildJpegSegment(JPEG_MARKERS.app1, prefix, exif)),
          png: afterHead(png, 33, buildPngChunk('eXIf', exif)),
          'png with a prefix': afterHead(png, 33, buildPngChunk('eXIf', Buffer.concat([prefix, exif]))),
        };
        for (const [name, file] of Object.entries(files)) {
          const { orientation } = (await toldBySharp(file)) ?? {};
          t.equal(
            readImageHeader(file)?.orientation,
            orientation,
            `${name}: ${count} of type ${type} ${order}`,
          );
          turned += Number(orientation === 6);
        }
      }
  t.ok(turned >= 24, `${turned} are turned`);
});

t.test('an AVIF sequence is its still picture, and tells its further samples', corpus, async (t) => {
  t.match(readImageHeader(image('animated/colors-animated.avif')), {
    format: 'avif',
    frames: 1,
    unreadFrames: 4,
    animated: false,
  });
});

t.test('pages of a TIFF count with a size each', async (t) => {
  const file = tiffOf({ width: 10, height: 10 }, { width: 20_000, height: 3_000 });
  t.match(readImageHeader(file), { width: 10, height: 10, frames: 2, pixels: 100 + 60_000_000 });
});

t.test('a TIFF whose pages lead in a circle ends', async (t) => {
  const file = tiffOf({ width: 10, height: 10 }, { width: 10, height: 10 });
  file.writeUInt32LE(8, file.length - 4);
  t.match(readImageHeader(file), { frames: 2 });
});

t.test('the size of a drawing is what its root says, in any unit', async (t) => {
  t.match(readImageHeader(svgOf(30, 20)), { format: 'svg', width: 30, height: 20 });
  t.match(readImageHeader(svgOf('1in', '2.54cm')), { width: 96, height: 96 });
  t.match(
    readImageHeader(Buffer.from('<?xml version="1.0"?><!-- <svg> --><svg viewBox="0 0 40 20" width="80"/>')),
    {
      width: 80,
      height: 40,
    },
  );
  t.match(readImageHeader(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), { width: 0, height: 0 });
  t.equal(readImageHeader(Buffer.from('<html><svg/></html>')), null);
});

t.test('what is no image is null', async (t) => {
  for (const bytes of [
    '',
    'GIF',
    'plain text',
    '\x89PNG\r\n\x1a\n',
    '<?xml version="1.0"?><feed/>',
    '%PDF-1.7',
    'BM',
  ])
    t.equal(readImageHeader(Buffer.from(bytes, 'latin1')), null, JSON.stringify(bytes));
  t.equal(readImageHeader(pngOf(0, 10)), null);
});

const made = [
  jpegOf(9, 7),
  pngOf(9, 7),
  webpOf(9, 7, 3),
  gifOf(9, 7, 3),
  tiffOf({ width: 9, height: 7 }),
  avifOf(9, 7),
  svgOf(9, 7),
];

t.test('no truncation and no flipped bit makes it throw', async (t) => {
  let read = 0;
  for (const file of made) {
    t.match(readImageHeader(file), { width: 9, height: 7 });
    for (let end = 0; end < file.length; end += 1) readImageHeader(file.subarray(0, end));
    for (let bit = 0; bit < file.length * 8; bit += 1) {
      const flipped = Buffer.from(file);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      readImageHeader(flipped);
      read += 1;
    }
  }
  t.ok(read > 3_000);
});

t.test('nor do those of real files', corpus, async (t) => {
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed;
  };
  const names = [...imagesIn('hostile'), ...imagesIn('modern'), ...imagesIn('animated')];
  for (const name of names) {
    const file = image(name);
    for (let round = 0; round < 60; round += 1) {
      const broken = file.slice(0, 1 + (random() % file.length));
      const near = Math.min(broken.length, 512);
      for (let flips = 0; flips < 4; flips += 1) broken[random() % near] = random() & 255;
      readImageHeader(broken);
    }
  }
  t.pass(`${names.length * 60} broken files`);
});

t.test('blocks without end are given up', async (t) => {
  const endless = {
    png: Buffer.concat([pngOf(1, 1).subarray(0, 33), Buffer.alloc(5_000_000)]),
    webp: webpOf(1, 1, 100_000),
    tiff: tiffOf(...Array.from({ length: 70_000 }, () => ({ width: 1, height: 1 }))),
    boxes: Buffer.concat([
      avifOf(1, 1).subarray(0, 24),
      Buffer.from('\0\0\0\x08free'.repeat(100_000), 'latin1'),
    ]),
  };
  for (const [name, file] of Object.entries(endless)) t.equal(readImageHeader(file), null, name);
});
