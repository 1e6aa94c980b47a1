// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { passOf, run, type StepText } from './passes.ts';

const corpus = needsImages(t);
const PICTURE = /\.(png|jpe?g|gif|webp|avif|tiff?)$/i;

/** A plain pass, and one of several pipelines. */
const PASSES: StepText[][] = [
  [['resize', { width: 64 }]],
  [
    ['rotate', { angle: 90 }],
    ['tint', { color: 'red' }],
    ['resize', { width: 32 }],
  ],
];

/** Corrupt beyond the header, or cut short: never half a picture. */
const DAMAGED = [
  'hostile/pillow-truncated_image.png',
  'hostile/pillow-broken_data_stream.png',
  'hostile/pillow-broken.png',
  'hostile/pillow-decompression_bomb.gif',
  'hostile/pillow-crash-86214e58da443d2b80820cff9677a38a33dcbbca.tif',
];

/** Noise between segments, a broken tag, no end marker: nothing of the picture is missing. */
const HARMLESS = [
  'hostile/pillow-truncated_jpeg.jpg',
  'hostile/pillow-photoshop-200dpi-broken.jpg',
  'hostile/pillow-hopper_bad_exif.jpg',
  'hostile/pillow-truncated_app14.jpg',
  'hostile/pillow-broken_exif_dpi.jpg',
  'hostile/pillow-sugarshack_bad_mpo_header.jpg',
];

for (const folder of ['pngsuite', 'hostile', 'modern', 'animated']) {
  t.test(`${folder}: every file is worked on, or refused as unsupported_format`, corpus, async (t) => {
    for (const name of imagesIn(folder).filter((file) => PICTURE.test(file))) {
      // Hundreds of frames say no more than a dozen.
      const frame = /muybridge|sample_big/.test(name) ? { frame: 3 } : {};
      for (const steps of PASSES) {
        const result = await run(image(name), passOf(steps, {}, frame));
        if (result.kind === 'failure')
          t.match(result, { code: 'unsupported_format', message: /^The image / }, `${name} is refused`);
        else
          t.ok(
            (await sharp(result.data).stats()).channels.length > 0,
            `${name} makes a ${result.contentType}`,
          );
      }
    }
  });
}

t.test('a damaged file is refused', corpus, async (t) => {
  const corrupt = imagesIn('pngsuite').filter((name) => /\/x\w+\.png$/.test(name));
  for (const name of [...DAMAGED, ...corrupt]) {
    for (const steps of [[], ...PASSES])
      t.match(await run(image(name), passOf(steps)), { code: 'unsupported_format' }, name);
  }
  const photo = image('photos/canon-eos-450d.jpg');
  const half = photo.slice(0, photo.length / 2);
  t.match(
    await run(half, passOf([['resize', { width: 100 }]])),
    { code: 'unsupported_format' },
    'half a camera JPEG',
  );
});

t.test('harmless noise is no damage', corpus, async (t) => {
  const photos = imagesIn('photos').filter((name) => name.endsWith('.jpg'));
  for (const name of [...HARMLESS, ...photos]) {
    t.match(await run(image(name), passOf([['resize', { width: 100 }]])), { kind: 'transformed' }, name);
  }
});

t.test('what is no raster picture of a known format is not opened', corpus, async (t) => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  const ppm = Buffer.from('P6 1 1 255\n\0\0\0');
  const pdf = Buffer.from('%PDF-1.4\n');
  for (const file of [svg, ppm, pdf, Buffer.from('hello'), Buffer.alloc(1)]) {
    t.match(await run(file, passOf([])), { code: 'unsupported_format' });
  }
});
