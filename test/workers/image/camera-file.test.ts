// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { isCameraOriginal } from '../../../workers/image/encode/camera-file.ts';
import { image, needsImages } from '../../support/images.ts';
import { made, passOf, type StepText } from './passes.ts';

const WIDTH = 400;
const HEIGHT = 300;

/** Red and blue stripes of 5 px, whose EXIF block says how long they were exposed, or something else. */
function stripes(exif: Record<string, string>): Promise<Buffer> {
  const data = Buffer.alloc(WIDTH * HEIGHT * 3);
  for (let pixel = 0; pixel < WIDTH * HEIGHT; pixel += 1)
    data[pixel * 3 + (Math.floor((pixel % WIDTH) / 5) % 2) * 2] = 255;
  const drawn = sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } }).withExif({ IFD2: exif });
  return drawn.jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
}

async function webpOf(input: Buffer, steps: StepText[] = []): Promise<Buffer> {
  return Buffer.from((await made(input, passOf(steps, { format: 'webp' }))).data);
}

t.test('a JPEG with an exposure time is from a camera', needsImages(t), async (t) => {
  for (const name of ['nikon-d90.jpg', 'apple-iphone-4s.jpg', 'canon-eos-450d.jpg'])
    t.ok(isCameraOriginal(image(`photos/${name}`)), name);
  t.notOk(isCameraOriginal(image('photos/kodak-1.png')));
  t.notOk(isCameraOriginal(await stripes({ UserComment: 'drawn' })), 'other tags');
  const whole = image('photos/nikon-d90.jpg');
  for (const length of [0, 2, 3, 20, 40, 100, 200])
    t.notOk(isCameraOriginal(whole.slice(0, length)), `${length} bytes`);
});

t.test(
  'hard edges between colours stay sharp, but for photographs of a camera that no step drew on',
  async (t) => {
    const [drawn, shot] = await Promise.all([
      stripes({ UserComment: 'drawn' }),
      stripes({ ExposureTime: '1/100' }),
    ]);
    t.notOk((await webpOf(shot)).equals(await webpOf(drawn)), 'a photograph is not looked at');
    const frame: StepText = ['border', { width: 1, color: 'lime' }];
    t.ok((await webpOf(shot, [frame])).equals(await webpOf(drawn, [frame])), 'one that was drawn on is');
  },
);
