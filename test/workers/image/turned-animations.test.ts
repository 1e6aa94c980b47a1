// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { caseFile, needsCases } from '../../support/cases.ts';
import { difference, made, passOf, type Raster, raster, type StepText } from './passes.ts';

const corpus = needsCases(t);

const [WIDTH, HEIGHT] = [24, 16];
const DELAYS = [50, 70, 110];
const ORIENTATIONS = [2, 3, 4, 5, 6, 7, 8];

/** A WebP of three frames, each with a mark in its top left corner that grows, and another colour. */
async function moving(orientation: number): Promise<Uint8Array> {
  const strip = new Uint8Array(WIDTH * HEIGHT * DELAYS.length * 3);
  for (let at = 0; at < strip.length; at += 3) {
    const [x, y] = [(at / 3) % WIDTH, Math.floor(at / 3 / WIDTH) % HEIGHT];
    const frame = Math.floor(at / 3 / WIDTH / HEIGHT);
    strip.set(x < 6 + frame && y < 4 ? [255, 255, 255] : [frame * 90, x * 10, y * 15], at);
  }
  const raw = { width: WIDTH, height: HEIGHT * DELAYS.length, channels: 3 as const, pageHeight: HEIGHT };
  return sharp(strip, { raw, pages: -1 })
    .withMetadata({ orientation })
    .webp({ lossless: true, delay: DELAYS, loop: 3 })
    .toBuffer();
}

function frameOf(strip: Raster, frame: number, height: number): Raster {
  const frameBytes = height * strip.width * 4;
  const data = strip.data.subarray(frame * frameBytes, (frame + 1) * frameBytes);
  return { data, width: strip.width, height, at: (x, y) => strip.at(x, y + frame * height) };
}

const STEPS: StepText[][] = [
  [],
  [['resize', { width: 8 }]],
  [['extract', { left: 1, top: 2, width: 9, height: 10 }]],
  [['flip']],
  [['rotate', { angle: 90 }], ['negate']],
  [['text', { text: 'i', size: 8, margin: 0 }]],
];

for (const orientation of ORIENTATIONS) {
  t.test(`an animation with EXIF orientation ${orientation} is turned upright, frame by frame`, async (t) => {
    const file = await moving(orientation);
    const isSideways = orientation > 4;
    for (const steps of STEPS) {
      const all = await made(file, passOf(steps, { format: 'webp', lossless: true }));
      const strip = await raster(all.data);
      const header = await sharp(all.data).metadata();
      t.same([header.pages, header.delay, header.loop, header.orientation], [3, DELAYS, 3, undefined]);
      if (steps.length === 0)
        t.same([all.width, all.height], isSideways ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT], 'as displayed');
      for (const frame of [0, 1, 2]) {
        const upright = await made(file, passOf([], { format: 'png' }, { frame }));
        const alone = await made(upright.data, passOf(steps, { format: 'png' }));
        t.same([all.width, all.height], [alone.width, alone.height], JSON.stringify(steps));
        const off = difference(frameOf(strip, frame, all.height), await raster(alone.data));
        const isScaled = steps.some(([name]) => name === 'resize');
        t.ok(off <= (isScaled ? 24 : 0), `${JSON.stringify(steps)}: frame ${frame} is off by ${off}`);
      }
    }
    const gif = await made(file, passOf([], { format: 'gif' }));
    t.same([gif.width, gif.height], isSideways ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT], 'as a GIF');
    t.same((await sharp(gif.data).metadata()).delay, DELAYS);
  });
}

t.test('metadata that is kept does not turn an animation a second time', async (t) => {
  for (const steps of [[], [['resize', { width: 8 }]], [['negate']]] as StepText[][]) {
    const { data, width, height } = await made(await moving(6), passOf(steps, { metadata: 'keep' }));
    t.ok(width < height);
    const { orientation = 1, pages } = await sharp(data).metadata();
    t.same([orientation, pages], [1, 3], JSON.stringify(steps));
  }
});

t.test('the animation of the cases is turned', corpus, async (t) => {
  const file = caseFile('webp-animation-orientation-6.webp');
  for (const format of ['webp', 'gif'] as const) {
    const { data, width, height } = await made(file, passOf([], { format, lossless: format === 'webp' }));
    t.same([width, height], [20, 40], format);
    const strip = await raster(data);
    t.equal(strip.height, 80, 'two frames');
    const [red = 0, green = 0, blue = 0] = strip.at(18, 2);
    t.ok(green > red && green > blue, `green at the top right, and not ${strip.at(18, 2)}`);
  }
});
