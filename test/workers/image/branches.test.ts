// needs: nothing
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { branch } from '../../../workers/image/branches.ts';
import type { Failure, Pass, Transformed } from '../../../workers/protocol.ts';
import { passOf, raster, run, type StepText } from './passes.ts';

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

const opaque = await pictureWith(false);
const FILES: Record<string, Uint8Array> = {
  png: await opaque.clone().png().toBuffer(),
  transparent: await (await pictureWith(true)).png().toBuffer(),
  turned: await opaque.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  grey: await opaque.clone().greyscale().toColourspace('b-w').jpeg().toBuffer(),
  wide: await opaque.clone().withIccProfile('p3').jpeg().toBuffer(),
  indexed: await opaque.clone().png({ palette: true }).toBuffer(),
  deep: await opaque.clone().toColourspace('rgb16').tiff().toBuffer(),
};
const BLUR: StepText = ['blur', { sigma: 3 }];
const PASSES: Pass[] = [
  passOf([]),
  passOf([], { format: 'webp' }),
  passOf([], { metadata: 'keep', format: 'jpeg' }),
  passOf([BLUR], { format: 'jpeg' }),
  passOf([['extract', { left: 10, top: 20, width: 100, height: 50 }]], { format: 'webp' }),
  passOf([['rotate', { angle: 30 }]], { format: 'jpeg' }),
  passOf([['rotate', { angle: 90 }]], { format: 'webp' }),
  passOf([['negate']], { format: 'tiff' }),
  passOf([['extend', { left: 10 }]], { format: 'jpeg' }),
  passOf([['resize', { width: 500, enlarge: true }]], { format: 'jpeg' }),
  passOf([], { format: 'webp', target: { maxBytes: 3_000 } }),
];

const input = (file: Uint8Array) => new Uint8Array(file);
async function outputsOf(file: Uint8Array, passes: Pass[]): Promise<(Transformed | Failure)[]> {
  const deadlineMs = Date.now() + 60_000;
  return (await branch({ kind: 'branch', input: input(file), passes, deadlineMs })).outputs;
}

/** A result without its times. */
const factsOf = ({ timings: _, ...facts }: Partial<Transformed>) => facts;

for (const [name, file] of Object.entries(FILES)) {
  t.test(`passes over one decoded ${name} picture make the bytes of passes of their own`, async (t) => {
    const outputs = await outputsOf(file, PASSES);
    for (const [index, pass] of PASSES.entries())
      t.same(factsOf(outputs[index] as Transformed), factsOf((await run(file, pass)) as Transformed), {
        pass,
      });
  });

  t.test(`common steps that run once over a ${name} picture change nothing`, async (t) => {
    const passes = [
      passOf([BLUR], { format: 'jpeg' }),
      passOf([BLUR, ['flip']], { format: 'webp' }),
      passOf([BLUR, ['flop']], { format: 'jpeg' }),
    ];
    const outputs = await outputsOf(file, passes);
    for (const [index, pass] of passes.entries())
      t.same(factsOf(outputs[index] as Transformed), factsOf((await run(file, pass)) as Transformed), {
        pass,
      });
  });
}

t.test('of passes that shrink, the largest makes its own pixels, and the others start there', async (t) => {
  const file = await sharp(await opaque.clone().png().toBuffer())
    .resize(2_400, 1_600)
    .jpeg()
    .toBuffer();
  const passes = [600, 150, 40].map((width) => passOf([['resize', { width }]], { format: 'png' }));
  const outputs = await outputsOf(file, passes);
  for (const [index, pass] of passes.entries()) {
    const [made, alone] = [outputs[index] as Transformed, (await run(file, pass)) as Transformed];
    const [ours, theirs] = [await raster(made.data), await raster(alone.data)];
    t.same([ours.width, ours.height], [theirs.width, theirs.height]);
    const differences = ours.data.map((value, at) => Math.abs(value - (theirs.data[at] ?? 0)));
    const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
    t.ok(index === 0 ? mean === 0 : mean < 3, `a mean difference of ${mean}`);
  }
});

t.test('a pass that shrinks beside passes that do not makes its own bytes', async (t) => {
  const file = await sharp(await opaque.clone().png().toBuffer())
    .resize(1_200, 800)
    .jpeg()
    .toBuffer();
  const passes = [
    passOf([['resize', { width: 150 }]], { format: 'webp' }),
    passOf([BLUR], { format: 'jpeg' }),
    passOf([['flip']], { format: 'jpeg' }),
  ];
  const outputs = await outputsOf(file, passes);
  for (const [index, pass] of passes.entries())
    t.same(factsOf(outputs[index] as Transformed), factsOf((await run(file, pass)) as Transformed), {
      pass,
    });
});

t.test('passes over a GIF are written with its own palette, as one of them is', async (t) => {
  const file = await sharp(await opaque.clone().png().toBuffer())
    .gif()
    .toBuffer();
  const passes = [passOf([['negate']]), passOf([['flip']]), passOf([['rotate', { angle: 90 }]])];
  const outputs = await outputsOf(file, passes);
  for (const [index, pass] of passes.entries())
    t.same(factsOf(outputs[index] as Transformed), factsOf((await run(file, pass)) as Transformed), { pass });
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
