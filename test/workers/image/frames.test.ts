// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { delaysOfKeptFrames, frameBatchesOf, selectFrames } from '../../../workers/image/frames.ts';
import type { DecodeOptions } from '../../../workers/protocol.ts';
import { made, passOf, raster, refused } from './passes.ts';

const WIDTH = 20;
const HEIGHT = 10;
const DELAYS = [50, 70, 110, 130, 40, 60, 80, 100];

/** The grey level of a frame. */
const levelOf = (frame: number) => 20 + frame * 30;

/** An animation whose frames are one level of grey each, with a red mark of one column that walks. */
async function moving(format: 'gif' | 'webp', delay: number[], orientation = 1): Promise<Uint8Array> {
  const strip = new Uint8Array(WIDTH * HEIGHT * delay.length * 3);
  delay.forEach((_, frame) => {
    strip.fill(levelOf(frame), frame * WIDTH * HEIGHT * 3, (frame + 1) * WIDTH * HEIGHT * 3);
    for (let y = 0; y < HEIGHT; y++) strip.set([255, 0, 0], ((frame * HEIGHT + y) * WIDTH + frame) * 3);
  });
  const raw = { width: WIDTH, height: HEIGHT * delay.length, channels: 3 as const, pageHeight: HEIGHT };
  const pipeline = sharp(strip, { raw, pages: -1 });
  if (orientation > 1) pipeline.withMetadata({ orientation });
  const written =
    format === 'gif'
      ? pipeline.gif({ delay, loop: 3, keepDuplicateFrames: true })
      : pipeline.webp({ lossless: true, delay, loop: 3 });
  return (await written.toUint8Array()).data;
}

/** The frames of a result by the index that they had, with their delays and loop count. */
async function footageOf(file: Uint8Array) {
  const { delay, loop, pages = 1, pageHeight, height } = await sharp(file, { pages: -1 }).metadata();
  const one = pageHeight ?? height;
  const { at, width } = await raster(file);
  const frames = Array.from({ length: pages }, (_, frame) =>
    Math.round(((at(width - 1, frame * one + one - 1)[0] ?? 0) - 20) / 30),
  );
  return { frames, delay, loop };
}

/** What each choice keeps of the frames with DELAYS, and how long it shows each. */
const CHOICES: [DecodeOptions, frames: number[], delay: number[]][] = [
  [{ frames: '2..5' }, [2, 3, 4, 5], [110, 130, 40, 60]],
  [{ frames: '0..7' }, [0, 1, 2, 3, 4, 5, 6, 7], DELAYS],
  [{ everyNth: 2 }, [0, 2, 4, 6], [120, 240, 100, 180]],
  [{ everyNth: 3 }, [0, 3, 6], [230, 230, 180]],
  [{ frames: '1..6', everyNth: 2 }, [1, 3, 5], [180, 170, 140]],
  [{ maxFrames: 3 }, [0, 1, 2], [50, 70, 110]],
  [{ everyNth: 3, maxFrames: 2 }, [0, 3], [230, 230]],
  [{ maxFps: 10 }, [0, 2, 3, 4, 6], [120, 110, 130, 100, 180]],
  [{ maxFps: 5 }, [0, 3, 6], [230, 230, 180]],
  [{ maxFps: 60 }, [0, 1, 2, 3, 4, 5, 6, 7], DELAYS],
];

t.test('the chosen frames are kept, with the time of those left out behind them', async (t) => {
  for (const format of ['gif', 'webp'] as const) {
    const file = await moving(format, DELAYS);
    for (const [decode, frames, delay] of CHOICES) {
      const name = `${format} ${JSON.stringify(decode)}`;
      for (const output of ['gif', 'webp'] as const) {
        const encode = { format: output, ...(output === 'webp' && { lossless: true }) };
        const { data, width, height } = await made(file, passOf([], encode, decode));
        t.strictSame(await footageOf(data), { frames, delay, loop: 3 }, `${name} to ${output}`);
        t.strictSame([width, height], [WIDTH, HEIGHT], `${name} to ${output}: size`);
      }
      const turned = await made(file, passOf([['rotate', { angle: 90 }]], { format }, decode));
      t.strictSame((await footageOf(turned.data)).delay, delay, `${name} turned: delays`);
      t.strictSame([turned.width, turned.height], [HEIGHT, WIDTH], `${name} turned`);
    }
  }
});

t.test('a frame that stands alone is a still picture, in any format', async (t) => {
  const file = await moving('gif', DELAYS);
  for (const decode of [{ frames: '5..5' }, { frames: '5..7', maxFrames: 1 }] as DecodeOptions[]) {
    const { data } = await made(file, passOf([], { format: 'png' }, decode));
    t.strictSame((await footageOf(data)).frames, [5]);
  }
});

t.test('metadata that is kept lies over the chosen frames, and an EXIF orientation turns each', async (t) => {
  const file = await moving('webp', DELAYS, 6);
  const kept = await made(
    file,
    passOf([], { format: 'webp', lossless: true, metadata: 'keep' }, { everyNth: 3 }),
  );
  t.strictSame([kept.width, kept.height], [HEIGHT, WIDTH]);
  const { delay, loop } = await footageOf(kept.data);
  t.strictSame({ delay, loop }, { delay: [230, 230, 180], loop: 3 });
  const { at } = await raster(kept.data);
  t.strictSame(at(4, 0).slice(0, 3), [255, 0, 0], 'the mark of frame 0');
  t.strictSame(at(4, WIDTH + 3).slice(0, 3), [255, 0, 0], 'that of frame 3, in its row');
  t.strictSame(at(4, WIDTH + 5).slice(0, 3), [110, 110, 110]);
});

t.test('a range outside of the picture, and several frames where one is written, are refused', async (t) => {
  const file = await moving('gif', DELAYS);
  const past = { code: 'invalid_param', param: 'frames', details: { limit: 7, count: 8 } };
  for (const frames of ['8..9', '0..8', '100..200']) {
    const failure = await refused(file, passOf([], {}, { frames }));
    t.match(failure, past, frames);
    t.match(failure.message, /the image has 8 frames, 0 to 7/);
  }
  const still = await moving('gif', [100]);
  t.match(await refused(still, passOf([], {}, { frames: '0..1' })), { message: /only 1 frame/ });
  const ofStill = await made(still, passOf([], {}, { everyNth: 2, maxFps: 5, maxFrames: 4 }));
  t.strictSame((await footageOf(ofStill.data)).frames, [0], 'a still picture has nothing to leave out');
  t.match(await refused(file, passOf([], { format: 'jpeg' }, { everyNth: 2 })), { param: 'everyNth' });
  t.match(await refused(file, passOf([['placeholder', { kind: 'color' }]], {}, { maxFps: 5 })), {
    param: 'maxFps',
  });
});

t.test(
  'at a rate no frame but the last is shorter than its share of a second, and the sum stays',
  async (t) => {
    const delays = Array.from({ length: 300 }, (_, frame) => (frame % 3 === 2 ? 40 : 30));
    for (const fps of [1, 7, 10, 15, 20, 24, 29, 30, 60]) {
      const joined = delaysOfKeptFrames(
        delays,
        selectFrames({ maxFps: fps }, { frames: delays.length, delays }),
      );
      t.ok(Math.min(...joined.slice(0, -1)) >= (fps === 60 ? 30 : 1000 / fps), `${fps}`);
      t.equal(
        joined.reduce((sum, delay) => sum + delay, 0),
        10_000,
        `${fps}: the sum`,
      );
    }
    t.equal(selectFrames({ maxFps: 60 }, { frames: 300, delays }).kept.length, 300);
    t.equal(selectFrames({ maxFps: 15 }, { frames: 99, delays: Array(99).fill(33) }).kept.length, 50);
    const pause = [100, 5000, 50, 50, 50, 50];
    t.strictSame(selectFrames({ maxFps: 10 }, { frames: 6, delays: pause }).kept, [0, 1, 2, 4]);
    const hasty = [0, 10, 0, 30];
    const selection = selectFrames({ everyNth: 2 }, { frames: 4, delays: hasty });
    t.strictSame(
      delaysOfKeptFrames(hasty, selection),
      [200, 130],
      'players slow a delay of 10 ms down to 100',
    );
    t.strictSame(
      delaysOfKeptFrames(hasty, { kept: [0, 1, 2, 3], end: 4 }),
      hasty,
      'a frame alone keeps its own',
    );
  },
);

t.test('frames are decoded in batches that hold no more pixels than needed', async (t) => {
  t.strictSame(frameBatchesOf([0, 2, 4], 100), [{ first: 0, count: 5 }]);
  const tenMegapixels = 10_000_000;
  t.strictSame(frameBatchesOf([3, 4, 6, 40], tenMegapixels), [
    { first: 3, count: 2 },
    { first: 6, count: 1 },
    { first: 40, count: 1 },
  ]);
  t.strictSame(frameBatchesOf([0, 1], 60_000_000).length, 2);
});
