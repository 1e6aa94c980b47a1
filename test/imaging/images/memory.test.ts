// needs: nothing
import t from 'tap';
import { imageMemoryBudgets } from '../../../src/imaging/images/config.ts';
import { estimatedMemoryBytes as estimatedBytesOf } from '../../../src/imaging/images/estimates/costs.ts';
import { type ImageHeader, imageHeaderOf } from '../../../src/imaging/images/header/facts.ts';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import type { ImagePass, OperationStep, OutputFormat } from '../../../workers/protocol.ts';
import { avifOf, jpegOf, pngOf, tiffOf } from './files.ts';

const MEGABYTE = 1_048_576;
const estimatedMemoryBytes = (header: ImageHeader, pass: ImagePass) => estimatedBytesOf(header, [pass]);

function megabytes(file: Uint8Array, steps: OperationStep[], format: OutputFormat): number {
  const header = readImageHeader(file);
  if (header === null) throw new Error('no header');
  return estimatedMemoryBytes(header, { decode: {}, steps, encode: { format } }) / MEGABYTE;
}

const resize = (width: number): OperationStep => ({ operation: 'resize', params: { width } });
const rotate: OperationStep = { operation: 'rotate', params: { angle: 45 } };

/** Peaks that a process was seen to grow by, over 25-megapixel files. */
const SEEN: readonly [string, number, () => number][] = [
  ['a thumbnail', 5, () => megabytes(jpegOf(5_000, 5_000), [resize(512)], 'webp')],
  ['a thumbnail of an AVIF', 455, () => megabytes(avifOf(5_000, 5_000), [resize(512)], 'jpeg')],
  ['the whole as JPEG', 166, () => megabytes(jpegOf(5_000, 5_000), [], 'jpeg')],
  ['the whole as WebP', 381, () => megabytes(jpegOf(5_000, 5_000), [], 'webp')],
  ['9 megapixels as AVIF', 316, () => megabytes(jpegOf(5_000, 5_000), [resize(3_000)], 'avif')],
  ['a flip', 236, () => megabytes(jpegOf(5_000, 5_000), [{ operation: 'flip', params: {} }], 'jpeg')],
  [
    'a blur',
    230,
    () => megabytes(jpegOf(5_000, 5_000), [{ operation: 'blur', params: { sigma: 9 } }], 'jpeg'),
  ],
  [
    'a thumbnail made in linear light',
    85,
    () =>
      megabytes(
        jpegOf(5_000, 5_000),
        [{ operation: 'resize', params: { width: 512, linear: true } }],
        'webp',
      ),
  ],
  ['a rotation by 45°', 379, () => megabytes(jpegOf(5_000, 5_000), [rotate], 'jpeg')],
];

for (const [name, seenMegabytes, estimate] of SEEN) {
  t.test(`${name} is estimated near what was seen, and hardly below it`, async (t) => {
    const estimated = estimate();
    t.ok(estimated > seenMegabytes * 0.9, `${estimated} beside ${seenMegabytes}`);
    t.ok(estimated < 2 * seenMegabytes + 32, `${estimated} beside ${seenMegabytes}`);
  });
}

t.test('an animation that has to be turned weighs its copies, whatever step comes first', async (t) => {
  const size = { width: 1_000, height: 500, channels: 3 };
  const upright = imageHeaderOf({ format: 'webp', ...size, frames: 4, animated: true });
  const pass = { decode: {}, steps: [resize(512)], encode: { format: 'webp' as const } };
  const added =
    estimatedMemoryBytes({ ...upright, orientation: 6 }, pass) - estimatedMemoryBytes(upright, pass);
  t.ok(added > 2 * upright.pixels * 3, `${added / MEGABYTE} MB more`);
  const still = { ...pass, decode: { frame: 0 } };
  t.equal(
    estimatedMemoryBytes({ ...upright, orientation: 3 }, still),
    estimatedMemoryBytes(upright, still),
    'one frame',
  );
});

t.test('frames, depth and enlarging weigh', async (t) => {
  const page = { width: 1_000, height: 1_000 };
  const flip: OperationStep = { operation: 'flip', params: {} };
  t.ok(megabytes(tiffOf(page, page, page), [flip], 'png') > megabytes(tiffOf(page), [flip], 'png'));
  const enlarged: OperationStep = { operation: 'resize', params: { width: 6_000, enlarge: true } };
  t.ok(megabytes(pngOf(100, 100), [enlarged], 'webp') > 500);
  t.ok(megabytes(pngOf(100, 100), [resize(6_000)], 'webp') < 20, 'nothing is enlarged unasked');
});

t.test('the pools of all processes share half of the memory, unless it is set', async (t) => {
  const bytes = 50 * MEGABYTE;
  const halves = { slowBytes: bytes, heavyBytes: bytes, batchBytes: bytes };
  t.same(imageMemoryBudgets(100, 4), { quickBytes: 100 * MEGABYTE, ...halves });
  t.same(imageMemoryBudgets(0, 4, 2_000 * MEGABYTE), { quickBytes: 100 * MEGABYTE, ...halves });
  t.ok(imageMemoryBudgets(0, 1).quickBytes > 64 * MEGABYTE);
});
