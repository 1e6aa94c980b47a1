import sharp from 'sharp';
import { outputOf } from '../../output.ts';
import type { ImageFacts } from '../../protocol.ts';
import { entropyOf, greyOf, sharpnessOf } from './grey-facts.ts';
import { HASHED_PX, hashesOf } from './hashes.ts';

/** Raw pixels of 8 bits in sRGB (three channels, or four with alpha). */
export interface Sample {
  data: Uint8Array<ArrayBufferLike>;
  width: number;
  height: number;
  channels: 3 | 4;
}

export type Measured = Pick<
  ImageFacts,
  'dominantColor' | 'averageColor' | 'entropy' | 'sharpness' | 'thumbhash' | 'blurhash'
>;

/** Leading bits of a channel that tell colours apart when looking for the most common one: 16 x 16 x 16 bins. */
const BIN_BITS = 4;
/** Fields of a bin: weight, and the weighted sums of red, green and blue. */
const BIN_FIELDS = 4;

/** The values that come from the pixels themselves. */
export async function measure(pixels: Sample): Promise<Measured> {
  const raw = { width: pixels.width, height: pixels.height, channels: pixels.channels };
  const small = sharp(pixels.data, { raw })
    .resize({ width: HASHED_PX, height: HASHED_PX, fit: 'inside', withoutEnlargement: true })
    .ensureAlpha();
  const thumbnail = outputOf(small.raw());
  const grey = greyOf(pixels.data, pixels.channels, pixels);
  const facts = { ...colors(pixels), entropy: entropyOf(grey), sharpness: sharpnessOf(grey) };
  const thumb = await thumbnail;
  const { width, height } = thumb.info;
  return { ...facts, ...hashesOf({ data: thumb.data, width, height, channels: 4 }) };
}

/**
 * The mean colour, and the mean of the most common bin, each pixel weighted by its alpha: what cannot be seen has no
 * colour. A picture that is transparent all over is black.
 */
function colors({ data, channels }: Sample): { averageColor: string; dominantColor: string } {
  const bins = new Float64Array(BIN_FIELDS << (3 * BIN_BITS));
  const shift = 8 - BIN_BITS;
  for (let at = 0; at < data.length; at += channels) {
    const red = data[at] ?? 0;
    const green = data[at + 1] ?? 0;
    const blue = data[at + 2] ?? 0;
    const weight = channels === 4 ? (data[at + 3] ?? 0) : 255;
    const bin =
      BIN_FIELDS * (((red >> shift) << (2 * BIN_BITS)) | ((green >> shift) << BIN_BITS) | (blue >> shift));
    bins[bin] = (bins[bin] ?? 0) + weight;
    bins[bin + 1] = (bins[bin + 1] ?? 0) + weight * red;
    bins[bin + 2] = (bins[bin + 2] ?? 0) + weight * green;
    bins[bin + 3] = (bins[bin + 3] ?? 0) + weight * blue;
  }
  const all = new Float64Array(BIN_FIELDS);
  let heaviest = all.subarray();
  for (let at = 0; at < bins.length; at += BIN_FIELDS) {
    const bin = bins.subarray(at, at + BIN_FIELDS);
    for (let field = 0; field < BIN_FIELDS; field++) all[field] = (all[field] ?? 0) + (bin[field] ?? 0);
    if (at === 0 || (bin[0] ?? 0) > (heaviest[0] ?? 0)) heaviest = bin;
  }
  return { averageColor: hexOf(all), dominantColor: hexOf(heaviest) };
}

/** `#rrggbb` of a bin's mean colour. */
function hexOf([weight = 0, ...sums]: Float64Array): string {
  const channel = (sum: number) => Math.round(weight === 0 ? 0 : sum / weight);
  return `#${sums.map((sum) => channel(sum).toString(16).padStart(2, '0')).join('')}`;
}
