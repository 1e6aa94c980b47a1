// needs: pixels
import sharp, { type Sharp } from 'sharp';
import { ssim } from 'ssim.js';
import t from 'tap';
import { image, needsImages } from '../../../support/images.ts';
import { raster, rasterOf, type StepText } from '../passes.ts';

const corpus = needsImages(t);

t.test('photographs come out as an independent computation makes them', corpus, async (t) => {
  const photo = image('photos/kodak-15.png');
  const table: [StepText, (picture: Sharp) => Sharp][] = [
    [['resize', { width: 256 }], (picture) => picture.resize(256)],
    [['resize', { width: 200, height: 200, fit: 'cover' }], (picture) => picture.resize(200, 200)],
    [
      ['resize', { width: 200, height: 300, fit: 'cover', gravity: 'attention' }],
      (picture) => picture.resize(200, 300, { position: 'attention' }),
    ],
    [['sharpen', { sigma: 2 }], (picture) => picture.sharpen({ sigma: 2 })],
    [['greyscale'], (picture) => picture.greyscale()],
    [
      ['modulate', { brightness: 1.2, saturation: 0.5 }],
      (picture) => picture.modulate({ brightness: 1.2, saturation: 0.5 }),
    ],
  ];
  for (const [step, bare] of table) {
    const ours = await rasterOf(photo, [step]);
    const theirs = await raster(await bare(sharp(photo)).png().toBuffer());
    t.same([ours.width, ours.height], [theirs.width, theirs.height], `${step[0]}: size`);
    const likeness = ssim(
      { ...ours, data: Uint8ClampedArray.from(ours.data) },
      { ...theirs, data: Uint8ClampedArray.from(theirs.data) },
    ).mssim;
    t.ok(likeness > 0.995, `${step[0]} ${JSON.stringify(step[1])}: ${likeness}`);
  }
});
