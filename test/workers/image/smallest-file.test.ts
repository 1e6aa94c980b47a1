// needs: pixels
import fc from 'fast-check';
import sharp from 'sharp';
import t from 'tap';
import { encodeWith } from '../../../workers/image/encode/encoder.ts';
import { encoderSettingsFor } from '../../../workers/image/search/settings.ts';
import { assertByteLimitReachable } from '../../../workers/image/search/smallest-file.ts';
import type { OutputFormat } from '../../../workers/protocol.ts';

interface Flat {
  format: OutputFormat;
  lossless: boolean;
  width: number;
  height: number;
  grey: number;
  alpha: number;
}

/** Bytes of a picture of one colour, written with the smallest setting. */
async function writtenBytes({ format, lossless, width, height, grey, alpha }: Flat): Promise<number> {
  const background = { r: grey, g: grey, b: 255 - grey, alpha: alpha / 255 };
  const pixels = sharp({ create: { width, height, channels: 4, background } });
  const encode = { format, lossless };
  const smallest = { ...encode, ...encoderSettingsFor(encode, 'size', 1)[0] };
  const { length } = await encodeWith(pixels, smallest, {}, { width, height, frames: 1 }).toBuffer();
  return length;
}

t.test('no size is refused that a picture of one colour has', async (t) => {
  const edge = fc.integer({ min: 1, max: 1_200 });
  const channel = fc.integer({ min: 0, max: 255 });
  const flat = fc.oneof(
    ...(['jpeg', 'png', 'webp', 'gif', 'tiff'] as const).map((format) =>
      fc.record({
        ...{ format: fc.constant(format), lossless: format === 'webp' ? fc.boolean() : fc.constant(false) },
        ...{ width: edge, height: edge, grey: channel, alpha: channel },
      }),
    ),
  );
  const property = fc.asyncProperty(flat, async (one) => {
    assertByteLimitReachable(await writtenBytes(one), one, { ...one, frames: 1 });
  });
  await fc.assert(property, { numRuns: 40 });
  for (const format of ['avif', 'webp', 'gif', 'png', 'jpeg', 'tiff'] as const) {
    for (const edgePx of [1, 300]) {
      const one = { format, lossless: false, width: edgePx, height: edgePx, grey: 0, alpha: 0 };
      assertByteLimitReachable(await writtenBytes(one), one, { ...one, frames: 1 });
    }
  }
  t.pass('whatever its format and its size');
});

t.test('a size below any file is refused with the least that such a file has', async (t) => {
  const of = (format: OutputFormat, maxBytes: number, frames = 1) => {
    try {
      assertByteLimitReachable(maxBytes, { format }, { width: 1_000, height: 1_000, frames });
    } catch (error) {
      return error;
    }
    return undefined;
  };
  for (const [format, leastBytes] of [
    ['jpeg', 2_054],
    ['tiff', 2_054],
    ['png', 179],
    ['gif', 394],
    ['webp', 1_519],
    ['avif', 200],
  ] as const) {
    const failure = { code: 'invalid_param', param: 'maxBytes', details: { limit: leastBytes } };
    t.match(of(format, leastBytes - 1), { failure }, format);
    t.equal(of(format, leastBytes), undefined, format);
  }
  t.equal(of('webp', 100, 2), undefined, 'an animation may hold a part of its frames');
});
