// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { difference, made, passOf, type Raster, raster, refused, type StepText } from './passes.ts';

const corpus = needsImages(t);

/** 24 x 16, four frames; each has another colour, and a white mark that walks to the right. */
const WIDTH = 24;
const HEIGHT = 16;
const COLOURS = [
  [200, 0, 0],
  [0, 200, 0],
  [0, 0, 200],
  [90, 90, 0],
];
/** Of 200 levels between frames, what an edge may take from the next frame when an animation is made smaller. */
const EDGE_BLEED = 20;
const DELAYS = [50, 70, 110, 130];

async function moving(format: 'gif' | 'webp'): Promise<Uint8Array> {
  const strip = new Uint8Array(WIDTH * HEIGHT * COLOURS.length * 3);
  COLOURS.forEach((colour, frame) => {
    for (let y = 0; y < HEIGHT; y++) {
      for (let x = 0; x < WIDTH; x++) {
        const isMark = y >= 2 && y < 6 && x >= 2 + frame * 2 && x < 6 + frame * 2;
        strip.set(isMark ? [255, 255, 255] : colour, ((frame * HEIGHT + y) * WIDTH + x) * 3);
      }
    }
  });
  const raw = { width: WIDTH, height: HEIGHT * COLOURS.length, channels: 3 as const, pageHeight: HEIGHT };
  const pipeline = sharp(strip, { raw, pages: -1 });
  const written =
    format === 'gif'
      ? pipeline.gif({ delay: DELAYS, loop: 3 })
      : pipeline.webp({ lossless: true, delay: DELAYS, loop: 3 });
  return (await written.toUint8Array()).data;
}

const gif = await moving('gif');
const webp = await moving('webp');

/** One frame of a strip. */
function frameOf(strip: Raster, frame: number, height: number): Raster {
  const data = strip.data.subarray(frame * height * strip.width * 4, (frame + 1) * height * strip.width * 4);
  return { data, width: strip.width, height, at: (x, y) => strip.at(x, y + frame * height) };
}

const STEPS: StepText[] = [
  ['resize', { width: 12 }],
  ['resize', { width: 10, height: 10, fit: 'cover', gravity: 'east' }],
  ['resize', { width: 10, height: 10, fit: 'cover', focalX: 0.2 }],
  ['resize', { width: 30, height: 30, fit: 'contain', background: 'blue' }],
  ['resize', { width: 48, enlarge: true }],
  ['extract', { left: 2, top: 1, width: 10, height: 9 }],
  ['crop', { aspect: '1:1' }],
  ['rotate', { angle: 90 }],
  ['rotate', { angle: 180 }],
  ['rotate', { angle: 30, background: 'red' }],
  ['flip'],
  ['flop'],
  ['affine', { matrix: [1, 0.2, 0, 1], background: 'red' }],
  ['extend', { top: 2, left: 3, background: 'red' }],
  ['extend', { bottom: 3, extendWith: 'mirror' }],
  ['border', { width: 2, color: 'white', radius: 4 }],
  ['roundCorners', { radius: 5 }],
  ['greyscale'],
  ['negate'],
  ['blur', { sigma: 1 }],
  ['sharpen', { sigma: 1 }],
  ['median', { size: 3 }],
  ['convolve', { width: 3, height: 3, kernel: [0, 1, 0, 0, 0, 0, 0, 0, 0] }],
  ['pixelate', { size: 5 }],
  ['redact', { regions: [{ x: 1, y: 1, width: 8, height: 8 }], style: 'pixelate' }],
  ['text', { text: 'i', size: 10, margin: 0 }],
  ['modulate', { hue: 90 }],
  ['duotone', { dark: 'navy', light: 'yellow' }],
];

for (const step of STEPS) {
  t.test(
    `${step[0]} ${JSON.stringify(step[1] ?? {})} makes of each frame what it makes of that frame alone`,
    async (t) => {
      const all = await made(gif, passOf([step], { format: 'webp', lossless: true }));
      t.equal(all.contentType, 'image/webp');
      const strip = await raster(all.data);
      t.equal(strip.height, all.height * 4, 'height is of one frame');
      const header = await sharp(all.data).metadata();
      t.same([header.pages, header.delay, header.loop], [4, DELAYS, 3]);
      for (const frame of [0, 1, 2, 3]) {
        const alone = await made(gif, passOf([step], { format: 'png' }, { frame }));
        t.same([alone.width, alone.height], [all.width, all.height]);
        const [ours, expected] = [flat(frameOf(strip, frame, all.height)), flat(await raster(alone.data))];
        const isShrunk = step[0] === 'resize' && all.height < HEIGHT;
        const within = difference(inner(ours), inner(expected));
        t.ok(within <= (isShrunk ? 4 : 2), `frame ${frame} is off by ${within}`);
        const edges = difference(ours, expected);
        t.ok(edges <= (isShrunk ? EDGE_BLEED : 2), `frame ${frame} is off by ${edges} at its edges`);
      }
    },
  );
}

/** Without the first and the last row. */
function inner(picture: Raster): Raster {
  const rowBytes = picture.width * 4;
  return { ...picture, height: picture.height - 2, data: picture.data.subarray(rowBytes, -rowBytes) };
}

/** What is transparent has no colour. */
function flat(picture: Raster): Raster {
  const data = picture.data.map((value, index, all) => (all[index | 3] === 0 ? 0 : value));
  return { ...picture, data };
}

t.test('trim cuts what is background in every frame', async (t) => {
  const { width, height } = await made(webp, passOf([['trim']]));
  t.same([width, height], [10, 4], 'the box around all places of the mark');
});

t.test('attention cuts every frame where it cuts the first', async (t) => {
  const result = await made(
    webp,
    passOf([['resize', { width: 8, height: 16, fit: 'cover', gravity: 'attention' }]], { lossless: true }),
  );
  t.same([result.width, result.height], [8, 16]);
  t.equal((await sharp(result.data).metadata()).pages, 4);
});

t.test('frames: what is read by default, and what can be asked for', async (t) => {
  const pagesOf = async (file: Uint8Array) => (await sharp(file).metadata()).pages ?? 1;
  t.equal(await pagesOf((await made(gif, passOf([]))).data), 4, 'gif to gif moves');
  t.equal(await pagesOf((await made(gif, passOf([], { format: 'webp' }))).data), 4, 'gif to webp moves');
  t.equal(await pagesOf((await made(webp, passOf([], { format: 'gif' }))).data), 4, 'webp to gif moves');
  t.equal((await made(gif, passOf([], { format: 'png' }))).height, HEIGHT, 'gif to png is the first frame');
  t.equal(await pagesOf((await made(gif, passOf([], {}, { frame: 'first' }))).data), 1);
  t.equal(await pagesOf((await made(gif, passOf([['placeholder']]))).data), 1, 'a placeholder stands still');
  const third = await raster((await made(gif, passOf([], { format: 'png' }, { frame: 2 }))).data);
  t.same(third.at(20, 12), [0, 0, 200, 255], 'frames count from 0');
  t.match(await refused(gif, passOf([], {}, { frame: 4 })), {
    code: 'invalid_param',
    param: 'frame',
    details: { limit: 3 },
  });
  t.match(await refused(gif, passOf([], { format: 'jpeg' }, { frame: 'all' })), { param: 'frame' });
  t.equal(
    (await made(await still(), passOf([], { format: 'jpeg' }, { frame: 'all' }))).height,
    6,
    'all of a still picture is one',
  );
});

async function still(): Promise<Uint8Array> {
  return (
    await sharp({ create: { width: 8, height: 6, channels: 3, background: 'red' } })
      .png()
      .toUint8Array()
  ).data;
}

t.test('delays and loops survive from file to file and through many steps', async (t) => {
  const steps: StepText[] = [
    ['rotate', { angle: 90 }],
    ['resize', { width: 8 }],
    ['blur', { sigma: 1 }],
  ];
  for (const [from, format] of [
    [gif, 'gif'],
    [gif, 'webp'],
    [webp, 'gif'],
    [webp, 'webp'],
  ] as const) {
    const { delay, loop, pages } = await sharp((await made(from, passOf(steps, { format }))).data).metadata();
    t.same({ delay, loop, pages }, { delay: DELAYS, loop: 3, pages: 4 });
  }
});

t.test('real animations keep their frames', corpus, async (t) => {
  for (const name of ['anim.webp', 'moon_impact.gif', 'anim-gr.gif']) {
    const before = await sharp(image(`animated/${name}`)).metadata();
    const after = await sharp(
      (await made(image(`animated/${name}`), passOf([['resize', { width: 40 }], ['flip']]))).data,
    ).metadata();
    t.same([after.pages, after.loop], [before.pages, before.loop], name);
    t.same(after.delay, before.delay, `${name}: a frame stays for as long as it did`);
  }
});

t.test('a frame that stays for minutes does so after every step, in GIF and WebP', async (t) => {
  const delay = [100, 100_000, 20, 600_000];
  const slow = Buffer.from(gif);
  const mark = Buffer.from([0x21, 0xf9, 4]);
  let at = slow.indexOf(mark);
  for (const delayMs of delay) {
    slow.writeUInt16LE(delayMs / 10, at + 4);
    at = slow.indexOf(mark, at + 1);
  }
  t.same((await sharp(slow).metadata()).delay, delay);
  for (const format of ['gif', 'webp'] as const) {
    for (const steps of [[], [['flip']], [['negate'], ['rotate', { angle: 90 }]]] as StepText[][]) {
      const { data } = await made(slow, passOf(steps, { format }));
      t.same((await sharp(data).metadata()).delay, delay, `${format} ${steps}`);
      const compressed = await made(slow, passOf(steps, { format, target: { maxBytes: 100_000 } }));
      t.same((await sharp(compressed.data).metadata()).delay, delay, `${format} ${steps}, compressed`);
    }
  }
});

t.test('compressed, an animation plays as it did', async (t) => {
  for (const input of [gif, webp]) {
    for (const format of ['gif', 'webp'] as const) {
      for (const target of [{ maxBytes: 100_000 }, { minSsim: 0.8 }]) {
        for (const steps of [[], [['negate']]] as StepText[][]) {
          const { data } = await made(input, passOf(steps, { format, target }));
          const { delay, loop, pages } = await sharp(data).metadata();
          t.same(
            { delay, loop, pages },
            { delay: DELAYS, loop: 3, pages: 4 },
            `${format}, ${JSON.stringify(target)}`,
          );
        }
      }
    }
  }
});

/** Where each frame of a WebP says for how long it is shown. */
function durationsAt(webp: Buffer): number[] {
  const places: number[] = [];
  for (let at = webp.indexOf('ANMF'); at !== -1; at = webp.indexOf('ANMF', at + 4)) places.push(at + 20);
  return places;
}

t.test('delays of a hundredth of a second and less survive', async (t) => {
  const delays = [5, 10, 11, 1, 200];
  const [edge, frames] = [16, delays.length];
  const data = Uint8Array.from(
    { length: edge * edge * 3 * frames },
    (_, index) => (Math.floor(index / (edge * edge * 3)) * 50 + index) % 256,
  );
  const raw = { width: edge, height: edge * frames, channels: 3, pageHeight: edge } as const;
  const file = await sharp(data, { raw })
    .webp({ lossless: true, delay: delays.map(() => 50) })
    .toBuffer();
  for (const [index, at] of durationsAt(file).entries()) file.writeUIntLE(delays[index] ?? 0, at, 3);
  for (const steps of [[], [['resize', { width: 8 }]], [['blur', { sigma: 1 }]]] as StepText[][]) {
    const result = Buffer.from((await made(file, passOf(steps, { format: 'webp' }))).data);
    const told = durationsAt(result).map((at) => result.readUIntLE(at, 3));
    t.same(told, delays, `${steps}`);
  }
});
