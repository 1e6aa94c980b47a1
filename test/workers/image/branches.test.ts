// needs: nothing
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import t, { type Test } from 'tap';
import { performBranchTask } from '../../../workers/image/branches.ts';
import type { ImagePass, TaskFailure, TransformTaskResult } from '../../../workers/protocol.ts';
import { passOf, run, type StepText } from './passes.ts';

/** A picture with edges and a gradient, 240 × 160, and half of it transparent if it has alpha. */
async function pictureWith(alpha: boolean): Promise<Sharp> {
  const [width, height, channels] = [240, 160, alpha ? 4 : 3] as const;
  const data = new Uint8Array(width * height * channels);
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    data.set([x, (x * y) % 256, y < 80 ? 200 : 40, x < 120 ? 255 : 90].slice(0, channels), at * channels);
  }
  return sharp(data, { raw: { width, height, channels } });
}

/** The PNG with a gamma of 1, so that its numbers are light. */
function withGamma(png: Buffer): Buffer {
  const chunk = Buffer.from('\0\0\0\x04gAMA\0\x01\x86\xa0\0\0\0\0', 'latin1');
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 12)), 12);
  const headerEnd = 33;
  return Buffer.concat([png.subarray(0, headerEnd), chunk, png.subarray(headerEnd)]);
}

const opaque = await pictureWith(false);
const FILES: Record<string, Uint8Array> = {
  png: await opaque.clone().png().toBuffer(),
  transparent: await (await pictureWith(true)).png().toBuffer(),
  turned: await opaque.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  grey: await opaque.clone().greyscale().toColourspace('b-w').jpeg().toBuffer(),
  wide: await opaque.clone().withIccProfile('p3').jpeg().toBuffer(),
  indexed: await opaque.clone().png({ palette: true }).toBuffer(),
  deep: await opaque.clone().toColourspace('rgb16').tiff().toBuffer(),
  'very deep': withGamma(
    await sharp(
      Uint16Array.from({ length: 90 * 60 * 3 }, (_, at) => (at * 7_919) % 65_536),
      { raw: { width: 90, height: 60, channels: 3 } },
    )
      .toColourspace('rgb16')
      .png()
      .toBuffer(),
  ),
  dense: await opaque.clone().withDensity(300).jpeg().toBuffer(),
};
const BLUR: StepText = ['blur', { sigma: 3 }];
const PASSES: ImagePass[] = [
  passOf([]),
  passOf([], { format: 'webp' }),
  passOf([], { metadata: 'keep', format: 'jpeg' }),
  passOf([BLUR], { format: 'jpeg' }),
  passOf([['extract', { left: 10, top: 20, width: 100, height: 50 }]], { format: 'webp' }),
  passOf([['rotate', { angle: 30 }]], { format: 'jpeg' }),
  passOf([['rotate', { angle: 90 }]], { format: 'webp' }),
  passOf([['negate']], { format: 'tiff' }),
  passOf([['resize', { width: 60 }]], { format: 'png' }),
  passOf([], { format: 'png', colors: 8 }),
  passOf([], { format: 'tiff' }),
  passOf([['extend', { left: 10 }]], { format: 'jpeg' }),
  passOf([['resize', { width: 500, enlarge: true }]], { format: 'jpeg' }),
  passOf([], { format: 'webp', target: { maxBytes: 3_000 } }),
];

const input = (file: Uint8Array) => new Uint8Array(file);
async function outputsOf(
  file: Uint8Array,
  passes: ImagePass[],
): Promise<(TransformTaskResult | TaskFailure)[]> {
  const deadlineMs = Date.now() + 60_000;
  return (await performBranchTask({ kind: 'branch', input: input(file), passes, deadlineMs })).outputs;
}

/** A result without its times. Its file is a buffer: other arrays are compared number by number. */
const factsOf = ({ timings: _, data = new Uint8Array(), ...facts }: Partial<TransformTaskResult>) => ({
  ...facts,
  file: Buffer.from(data),
});

/** Checks that each of several passes has the result that it has alone. */
async function areAlike(t: Test, file: Uint8Array, passes: ImagePass[]): Promise<void> {
  const outputs = await outputsOf(file, passes);
  for (const [index, pass] of passes.entries()) {
    const alone = await run(file, pass);
    t.same(factsOf(outputs[index] as TransformTaskResult), factsOf(alone as TransformTaskResult), { pass });
  }
}

for (const [name, file] of Object.entries(FILES)) {
  t.test(`passes over one decoded ${name} picture make the bytes of passes of their own`, async (t) => {
    await areAlike(t, file, PASSES);
  });

  t.test(`common steps that run once over a ${name} picture change nothing`, async (t) => {
    const passes = [
      passOf([BLUR], { format: 'jpeg' }),
      passOf([BLUR, ['flip']], { format: 'webp' }),
      passOf([BLUR, ['flop']], { format: 'jpeg' }),
    ];
    await areAlike(t, file, passes);
  });
}

t.test(
  'passes that keep metadata share one decoded picture, and make the bytes of passes of their own',
  async (t) => {
    const exif = { IFD0: { Copyright: 'An Example', Software: 'x' }, IFD2: { LensModel: 'y' } };
    const tagged = opaque
      .clone()
      .resize(300, 200)
      .withExif(exif)
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"/>');
    const keep = { metadata: 'keep' } as const;
    const passes = [
      passOf([], { format: 'webp', ...keep }),
      passOf([BLUR], { format: 'jpeg', ...keep }),
      passOf([BLUR, ['flip']], { format: 'png', ...keep }),
      passOf([['negate']], { format: 'avif', ...keep }),
      passOf([['extract', { left: 10, top: 20, width: 100, height: 50 }]], { format: 'tiff', ...keep }),
      passOf([['rotate', { angle: 90 }]], { format: 'jpeg', ...keep }),
      passOf([['rotate', { angle: 30 }]], { format: 'webp', ...keep }),
      passOf([], { format: 'webp', target: { maxBytes: 2_500 }, ...keep }),
      passOf([BLUR], { format: 'webp' }),
    ];
    const profiled = tagged.clone().withIccProfile('p3');
    for (const [name, file] of Object.entries({
      tagged: await tagged.clone().withMetadata({ orientation: 6, density: 300 }).jpeg().toBuffer(),
      profiled: await profiled.jpeg({ progressive: true }).toBuffer(),
      png: await profiled.clone().png().toBuffer(),
    })) {
      await areAlike(t, file, passes);
      const [made] = await outputsOf(file, passes);
      const { exif: kept, icc, orientation } = await sharp((made as TransformTaskResult).data).metadata();
      t.ok(kept?.includes('An Example'), name);
      t.ok(icc, `${name}: a profile`);
      t.equal(orientation ?? 1, 1, name);
    }
  },
);

const large = await opaque.clone().png().toBuffer();
const scaled = (width: number) => sharp(large).resize(width, (width * 2) / 3);
const SHRUNK: Record<string, Uint8Array> = {
  jpeg: await scaled(1_200).jpeg().toBuffer(),
  'turned jpeg': await scaled(600).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  'mirrored png': await scaled(600).withMetadata({ orientation: 2 }).png().toBuffer(),
  webp: await scaled(600).webp().toBuffer(),
  png: await scaled(600).png().toBuffer(),
};

for (const [name, file] of Object.entries(SHRUNK)) {
  t.test(`passes that make a ${name} smaller make the bytes of passes of their own`, async (t) => {
    const passes = [550, 400, 300, 150, 75, 20].map((width) =>
      passOf([['resize', { width, height: width, fit: width === 75 ? 'cover' : 'inside' }]], {
        format: 'webp',
      }),
    );
    await areAlike(t, file, passes);
    const common: StepText = ['resize', { width: 150 }];
    const after: StepText[] = [BLUR, ['sharpen'], ['rotate', { angle: 30 }], ['resize', { width: 50 }]];
    await areAlike(
      t,
      file,
      after.map((step) => passOf([common, step], { format: 'jpeg' })),
    );
  });
}

t.test(
  'a picture that loses its colours or its transparency first can still be shrunk on load',
  async (t) => {
    const small: StepText = ['resize', { width: 90 }];
    for (const first of [['greyscale'], ['flatten']] as StepText[])
      for (const file of [SHRUNK.jpeg, SHRUNK.webp, SHRUNK['turned jpeg']])
        await areAlike(t, file as Uint8Array, [
          passOf([first, small], { format: 'webp' }),
          passOf([first, BLUR], { format: 'jpeg' }),
          passOf([first, ['resize', { width: 200 }]], { format: 'jpeg' }),
          passOf([BLUR], { format: 'webp' }),
        ]);
  },
);

t.test('steps with which some of the passes begin run once for these, and change nothing', async (t) => {
  const small: StepText = ['resize', { width: 90 }];
  const tiny: StepText = ['resize', { width: 30 }];
  const passes = [
    passOf([small], { format: 'jpeg' }),
    passOf([small], { format: 'webp' }),
    passOf([small, BLUR], { format: 'webp' }),
    passOf([small, BLUR, ['flip']], { format: 'png' }),
    passOf([tiny], { format: 'jpeg' }),
    passOf([['negate'], BLUR], { format: 'webp' }),
    passOf([['negate'], ['flatten'], BLUR], { format: 'png' }),
    passOf([], { format: 'webp' }),
  ];
  for (const file of [FILES.transparent, FILES.turned, FILES.grey, FILES.deep, SHRUNK.jpeg])
    await areAlike(t, file as Uint8Array, passes);
});

t.test('behind common steps a transparent picture has the bytes of passes of their own', async (t) => {
  const common: StepText = ['resize', { width: 100 }];
  const after: StepText[] = [BLUR, ['sharpen'], ['rotate', { angle: 30 }], ['extend', { left: 9 }]];
  await areAlike(
    t,
    FILES.transparent as Uint8Array,
    after.map((step) => passOf([common, step], { format: 'webp' })),
  );
});

t.test('passes over an animation make the bytes of passes of their own', async (t) => {
  const colours = ['#f00', '#0f0', '#00f', '#fff'];
  const frames = await Promise.all(
    colours.map((background) =>
      sharp({ create: { width: 60, height: 40, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const joined = sharp(frames, { join: { animated: true } });
  const motion = { delay: [40, 100, 250, 70], loop: 3 };
  for (const file of [
    await joined.clone().gif(motion).toBuffer(),
    await joined.clone().webp(motion).toBuffer(),
  ])
    await areAlike(t, file, [
      passOf([], { format: 'webp' }),
      passOf([['resize', { width: 30 }]], { format: 'webp' }),
      passOf([['resize', { width: 20 }]], { format: 'gif' }),
      passOf([['flip']], { format: 'gif' }),
      passOf([BLUR], { format: 'webp' }),
      passOf([['flop']], { format: 'png' }),
      passOf([], { format: 'webp' }, { frames: '1..2' }),
      passOf([], { format: 'webp' }, { everyNth: 2 }),
      passOf([], { format: 'webp', metadata: 'keep' }),
    ]);
});

t.test('a pass that shrinks beside passes that do not makes its own bytes', async (t) => {
  const file = await sharp(await opaque.clone().png().toBuffer())
    .resize(600, 400)
    .jpeg()
    .toBuffer();
  const passes = [
    passOf([['resize', { width: 75 }]], { format: 'webp' }),
    passOf([BLUR], { format: 'jpeg' }),
    passOf([['flip']], { format: 'jpeg' }),
  ];
  await areAlike(t, file, passes);
});

t.test('passes over a GIF are written with its own palette, as one of them is', async (t) => {
  const file = await sharp(await opaque.clone().png().toBuffer())
    .gif()
    .toBuffer();
  const passes = [passOf([['negate']]), passOf([['flip']]), passOf([['rotate', { angle: 90 }]])];
  await areAlike(t, file, passes);
});

t.test('a pass that fails leaves the others as they are', async (t) => {
  const bad = passOf([BLUR, ['extract', { left: 900, top: 0, width: 5, height: 5 }]]);
  const good = passOf([BLUR], { format: 'jpeg' });
  const outputs = await outputsOf(FILES.png as Uint8Array, [bad, good]);
  t.match(outputs[0], { kind: 'failure', param: /^steps\[1\]\.params\./ });
  t.equal(outputs[1]?.kind, 'transformed');
  const broken = await outputsOf((FILES.turned as Uint8Array).subarray(0, 900), [good, good]);
  t.match(broken, [{ code: 'unsupported_format' }, { code: 'unsupported_format' }]);
});

t.test('a large picture that even the least setting is like is made by a search', async (t) => {
  const create = { width: 1_200, height: 900, channels: 3, background: 'red' } as const;
  const flat = await sharp({ create }).jpeg().toBuffer();
  for (const target of [{ minSsim: 0.95 }, { ssimulacra2: 60 }, { maxBytes: 200_000 }])
    t.match(await run(flat, passOf([], { format: 'webp', target })), { kind: 'transformed' });
});
