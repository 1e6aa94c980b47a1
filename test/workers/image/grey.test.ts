// needs: nothing
import sharp, { type Metadata } from 'sharp';
import t from 'tap';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { difference, drawn, made, passOf, raster, rasterOf, type StepText } from './passes.ts';

const soft = (x: number, y: number) => 128 + Math.round(100 * Math.sin(x / 9) * Math.cos(y / 7));
const asGrey = async (file: Uint8Array) =>
  new Uint8Array(await sharp(file).toColourspace('b-w').png().toBuffer());
const grey = await asGrey(await drawn(60, 40, (x, y) => [soft(x, y)]));
const seeThrough = await asGrey(await drawn(60, 40, (x, y) => [soft(x, y), (x * 4) % 256]));
const colour = await drawn(60, 40, (x, y) => [soft(x, y), soft(y, x), (x * 3) % 256]);

async function factsOf(file: Uint8Array, steps: StepText[], encode: EncodeOptions = {}): Promise<Metadata> {
  return sharp((await made(file, passOf(steps, encode))).data).metadata();
}

t.test(
  'grey stays grey where no step adds a colour, and becomes grey where one takes them away',
  async (t) => {
    const keeping: StepText[][] = [
      [],
      [['flip']],
      [['resize', { width: 30 }]],
      [['blur', { sigma: 6 }]],
      [['text', { text: 'x', size: 12 }]],
      [['rotate', { angle: 20, background: 'white' }]],
      [['resize', { width: 90, enlarge: true }], ['normalise']],
    ];
    for (const steps of keeping) {
      for (const format of ['png', 'jpeg', 'tiff'] as const) {
        const { channels, space } = await factsOf(grey, steps, { format });
        t.same([space, channels], ['b-w', 1], `${steps.flat()[0]} as ${format}`);
        const kept = await factsOf(grey, steps, { format, metadata: 'keep' });
        t.same([kept.space, kept.channels], ['b-w', 1], `${steps.flat()[0]} as ${format}, metadata kept`);
      }
      for (const metadata of ['strip', 'keep'] as const)
        t.equal(
          (await factsOf(seeThrough, steps, { metadata })).channels,
          2,
          `${steps.flat()[0]} with alpha`,
        );
    }
    for (const steps of [[['greyscale']], [['extractChannel', { channel: 'red' }]], [['threshold']]]) {
      t.equal((await factsOf(colour, steps as StepText[])).channels, 1, String(steps[0]));
    }
    const colouring: StepText[][] = [
      [['tint', { color: 'orange' }]],
      [['text', { text: 'x', color: 'red' }]],
      [['extend', { left: 4, background: 'blue' }]],
    ];
    for (const steps of colouring)
      for (const metadata of ['strip', 'keep'] as const)
        t.equal((await factsOf(grey, steps, { metadata })).channels, 3, String(steps[0]));
    t.equal((await factsOf(seeThrough, [['flatten', { background: 'red' }]])).channels, 3);
    t.equal((await factsOf(seeThrough, [], { format: 'jpeg', background: 'red' })).channels, 3);
  },
);

t.test('every level of grey is the same as before', async (t) => {
  const levels = await asGrey(await drawn(256, 2, (x) => [x]));
  for (const metadata of ['strip', 'keep'] as const) {
    for (const step of ['flip', 'normalise'] as const) {
      const steps: StepText[] = [step === 'flip' ? [step] : [step, { lower: 0, upper: 100 }]];
      const { at } = await raster((await made(levels, passOf(steps, { metadata }))).data);
      for (let level = 0; level < 256; level++) t.same(at(level, 0), [level, level, level, 255]);
    }
  }
});

t.test('a palette stays one, with the very colours, where no step adds more than it holds', async (t) => {
  const dotted = (count: number) =>
    drawn(64, 64, (x, y) => {
      const index = (x * 31 + y * 17) % count;
      return [(index * 40) % 256, 255 - index, (index * 97) % 256];
    });
  for (const [count, bits] of [
    [2, 1],
    [3, 2],
    [16, 4],
    [100, 8],
    [256, 8],
  ] as const) {
    const plain = await dotted(count);
    const indexed = new Uint8Array(
      await sharp(plain).png({ palette: true, colours: 256, dither: 0 }).toBuffer(),
    );
    const result = (await made(indexed, passOf([['flop']]))).data;
    const { isPalette, bitsPerSample } = await sharp(result).metadata();
    t.same([isPalette, bitsPerSample], [true, bits], `${count} colours`);
    t.equal(difference(await raster(result), await rasterOf(indexed, [['flop']])), 0);
    t.equal(difference(await raster(result), await rasterOf(plain, [['flop']])), 0, 'exactly');
  }
  const few = new Uint8Array(
    await sharp(await dotted(200))
      .png({ palette: true })
      .toBuffer(),
  );
  const blurred = await factsOf(few, [['blur', { sigma: 2 }]]);
  t.equal(blurred.isPalette, false, 'more colours than a palette holds');
});
