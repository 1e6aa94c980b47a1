// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { LOSSLESS, made, meanDifference, passOf, raster } from './passes.ts';

const corpus = needsImages(t);

for (const shape of ['landscape', 'portrait']) {
  for (const orientation of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
    if (shape === 'portrait' && orientation === 0) continue;
    t.test(`${shape} stored with EXIF orientation ${orientation} comes out upright`, corpus, async (t) => {
      const upright = await raster(image(`orientation/${shape}_1.jpg`));
      const file = image(`orientation/${shape}_${orientation}.jpg`);
      const whole = await made(file, passOf([], LOSSLESS));
      t.ok(meanDifference(await raster(whole.data), upright) < 3, 'the whole picture');
      t.same([whole.width, whole.height], [upright.width, upright.height]);

      const small = await made(file, passOf([['resize', { width: 100 }]], { format: 'png' }));
      const expected = await sharp(image(`orientation/${shape}_1.jpg`))
        .resize(100)
        .png()
        .toUint8Array();
      t.ok(
        meanDifference(await raster(small.data), await raster(expected.data)) < 4,
        'made small while it is decoded',
      );

      const kept = await made(file, passOf([['resize', { width: 100 }]], { metadata: 'keep' }));
      const tag = (await sharp(kept.data).metadata()).orientation;
      t.ok(tag === undefined || tag === 1, 'kept metadata does not turn it again');
    });
  }
}
