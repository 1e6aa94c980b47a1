// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { made, passOf, quarters, type StepText } from './passes.ts';

const png = await quarters(64, 48);
const photo = await sharp(png).jpeg({ quality: 90 }).toBuffer();
const SMALLER: StepText[] = [['resize', { width: 32 }]];

/** The pipelines that a pass needs: one, and another one where the encoder is chosen by the look of the pixels. */
const CASES: [name: string, input: Uint8Array, encode: EncodeOptions, pipelines: number][] = [
  ['a JPEG to JPEG', photo, { format: 'jpeg' }, 1],
  ['a JPEG to WebP', photo, { format: 'webp' }, 2],
  ['a PNG to WebP', png, { format: 'webp' }, 2],
  ['a PNG to JPEG', png, { format: 'jpeg' }, 2],
  ['a PNG to PNG', png, { format: 'png' }, 2],
  ['a PNG to AVIF, for which two settings are chosen', png, { format: 'avif' }, 2],
];

t.test('no pipeline of a pass only copies pixels', async (t) => {
  for (const [name, input, encode, pipelines] of CASES) {
    const runs = t.capture(sharp.prototype, 'toBuffer', sharp.prototype.toBuffer);
    await made(input, passOf(SMALLER, encode));
    t.equal(runs().length, pipelines, name);
    runs.restore();
  }
});

t.test('a header is read once, also where metadata is kept', async (t) => {
  const turned = await sharp(png).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const painted: StepText[] = [['extend', { left: 8, background: '#08f' }]];
  const reads = t.capture(sharp.prototype, 'metadata', sharp.prototype.metadata);
  await made(turned, passOf(painted, { format: 'jpeg', metadata: 'keep' }));
  t.equal(reads().length, 1);
});
