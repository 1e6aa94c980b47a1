// needs: nothing
import t from 'tap';
import { requireReadableHeader } from '../../../src/imaging/images/source.ts';
import type { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { avifOf, gifOf, jpegOf, pngOf, svgOf, tiffOf, webpOf } from './files.ts';

/** 14041 × 3561 is 50,000,001, and so is 14041 × 1187 × 3. */
const ABOVE = [14_041, 3_561] as const;
const ABOVE_IN_THREE = [14_041, 1_187] as const;

function refusalOf(file: Uint8Array): Partial<ApiError> | null {
  try {
    requireReadableHeader(file);
    return null;
  } catch (error) {
    return error as ApiError;
  }
}

const SIZED: Record<string, (width: number, height: number) => Uint8Array> = {
  jpeg: jpegOf,
  png: pngOf,
  webp: webpOf,
  gif: gifOf,
  avif: avifOf,
  tiff: (width, height) => tiffOf({ width, height }),
};

for (const [format, fileOf] of Object.entries(SIZED)) {
  t.test(`50,000,000 pixels pass and one more does not: ${format}`, async (t) => {
    t.equal(requireReadableHeader(fileOf(10_000, 5_000)).pixels, 50_000_000);
    t.match(refusalOf(fileOf(...ABOVE)), {
      code: 'unsupported_format',
      details: { limit: 50_000_000, received: 50_000_001 },
    });
  });
}

t.test('a drawing passes in any size: it is counted when it is drawn', async (t) => {
  t.match(requireReadableHeader(svgOf(100_000, 50_000)), { format: 'svg', width: 100_000 });
});

t.test('frames and pages count', async (t) => {
  t.equal(requireReadableHeader(gifOf(2_000, 1_000, 25)).pixels, 50_000_000);
  t.equal(requireReadableHeader(webpOf(2_000, 1_000, 25)).pixels, 50_000_000);
  const [width, height] = ABOVE_IN_THREE;
  const page = { width, height };
  for (const file of [gifOf(width, height, 3), webpOf(width, height, 3), tiffOf(page, page, page)]) {
    t.match(refusalOf(file), {
      code: 'unsupported_format',
      message: /50,000,001 pixels, its 3 frames together.* transform one of its frames/,
      details: { received: 50_000_001 },
    });
  }
});

t.test('the refusal says what to send instead', async (t) => {
  t.match(refusalOf(Buffer.from('no image')), {
    code: 'unsupported_format',
    message: /JPEG, PNG, WebP, GIF, AVIF/,
  });
  const heic = avifOf(10, 10);
  heic.write('heic', 8, 'latin1');
  heic.write('heic', 16, 'latin1');
  t.match(refusalOf(heic), { code: 'unsupported_format', message: /HEIC/ });
});
