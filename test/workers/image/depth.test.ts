// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { drawn, made, passOf, type StepText } from './passes.ts';

/** A ramp of 16 bits, of which 8 hold only every fifth value. */
async function ramp(channels: 1 | 3, format: 'png' | 'tiff'): Promise<Uint8Array> {
  const [width, height] = [64, 8];
  const values = Array.from({ length: width * height }, (_, index) => 20_000 + index * 50);
  const data = Uint16Array.from(values.flatMap((value) => Array.from({ length: channels }, () => value)));
  const pipeline = sharp(data, { raw: { width, height, channels } });
  return new Uint8Array(
    await pipeline
      .toColourspace(channels === 1 ? 'grey16' : 'rgb16')
      .toFormat(format, { compression: 'lzw' })
      .toBuffer(),
  );
}

async function tones(file: Uint8Array): Promise<{ count: number; depth: string; first: number }> {
  const { depth } = await sharp(file).metadata();
  const raw = await sharp(file).toColourspace('grey16').raw({ depth: 'ushort' }).toBuffer();
  const values = new Uint16Array(raw.buffer, raw.byteOffset, raw.length / 2);
  return { count: new Set(values).size, depth, first: values[0] ?? 0 };
}

t.test('16 bits are kept through what moves or averages pixels', async (t) => {
  const keeping: StepText[][] = [
    [],
    [['flip']],
    [['rotate', { angle: 90 }]],
    [['flop'], ['rotate', { angle: 180 }]],
    [['extract', { width: 40, height: 8 }]],
  ];
  for (const channels of [1, 3] as const) {
    for (const format of ['png', 'tiff'] as const) {
      for (const steps of keeping) {
        const { data } = await made(await ramp(channels, format), passOf(steps));
        const { count, depth } = await tones(data);
        t.equal(depth, 'ushort', `${format} ${channels} ${steps}`);
        t.ok(count >= 40 * 8, `${count} tones`);
        t.equal((await sharp(data).metadata()).channels, channels);
      }
    }
  }
  for (const orientation of [3, 6, 8]) {
    const upright = await ramp(3, 'png');
    const lying = await sharp(upright).toColourspace('rgb16').withMetadata({ orientation }).png().toBuffer();
    const result = await made(new Uint8Array(lying), passOf([['rotate', { angle: 90 }]]));
    const { count, depth } = await tones(result.data);
    t.same([count, depth, result.bitDepth], [512, 'ushort', 16], `orientation ${orientation}`);
  }
  const file = await ramp(3, 'png');
  t.equal((await tones((await made(file, passOf([]))).data)).first, 20_000);
  for (const [steps, encode] of [
    [[['negate']], {}],
    [[], { format: 'webp' }],
    [[], { colors: 16 }],
  ] as [StepText[], EncodeOptions][]) {
    const { data, bitDepth } = await made(file, passOf(steps, encode));
    t.equal(bitDepth, 8, 'and the answer says so');
    t.equal((await sharp(data).metadata()).depth, 'uchar', JSON.stringify([steps, encode]));
  }
});

t.test(
  'a drawing with hard edges between colours keeps them sharp in a JPEG, a photograph needs no more',
  async (t) => {
    const chromaOf = async (file: Uint8Array, encode: EncodeOptions = {}) =>
      (await sharp((await made(file, passOf([], { format: 'jpeg', ...encode }))).data).metadata())
        .chromaSubsampling;
    const stripes = await drawn(64, 64, (x) => (x % 8 < 2 ? [0, 0, 255] : [255, 0, 0]));
    const soft = await drawn(64, 64, (x, y) => [x * 3, y * 3, 128]);
    const blackOnWhite = await drawn(64, 64, (x) => (x % 8 < 2 ? [0, 0, 0] : [255, 255, 255]));
    t.equal(await chromaOf(stripes), '4:4:4');
    t.equal(await chromaOf(stripes, { chroma: '4:2:0' }), '4:2:0', 'what is asked for is done');
    t.equal(await chromaOf(soft), '4:2:0');
    t.equal(await chromaOf(blackOnWhite), '4:2:0', 'edges without colour lose nothing');
  },
);

t.test(
  'hard edges between colours stay sharp in a WebP, whose second look at colours others do not pay',
  async (t) => {
    const stripes = await drawn(64, 64, (x) => (x % 8 < 2 ? [0, 0, 255] : [255, 255, 255]));
    const soft = await drawn(64, 64, (x, y) => [x * 3, y * 3, 128]);
    const quality = 83;
    for (const [name, file, smartSubsample] of [
      ['stripes', stripes, true],
      ['a soft picture', soft, false],
    ] as const) {
      const { data } = await made(file, passOf([], { format: 'webp', quality }));
      const expected = await sharp(file).webp({ quality, effort: 2, smartSubsample }).toBuffer();
      t.ok(expected.equals(data), name);
    }
  },
);
