import sharp, { type Sharp } from 'sharp';
import type { Encode, OutputFormat } from '../protocol.ts';
import { defaultQuality, encodeWith, type Motion } from './encoder.ts';
import { openPixels, type Pixels } from './picture.ts';
import { invalid } from './refusal.ts';
import { type Luma, ssim } from './ssim.ts';

type Known = Encode & { format: OutputFormat };
export type Written = Awaited<ReturnType<Sharp['toUint8Array']>>;

interface Candidate {
  written: Written;
  /** What the promise is about: bytes, or likeness. */
  reached: number;
}

/** Palettes are 1, 2, 4 or 8 bits deep. */
const PALETTE_SIZES = [2, 4, 16, 256];

/** No search goes on when less than this is left to answer in. */
const LAST_CALL_MS = 1_000;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that keeps a promise: the best
 * picture of at most `maxBytes`, or the smallest file of at least `minSsim`. Each trial encodes the same pixels.
 * @param finishing a pipeline on the pixels, with all that a trial carries beside its settings.
 * @throws Refusal invalid_param on `maxBytes` or `minSsim` with what was reached, when no setting keeps it.
 */
export async function keepPromise(
  pixels: Pixels,
  encode: Known & { promise: NonNullable<Encode['promise']> },
  motion: Motion,
  deadlineMs: number,
  finishing: () => Promise<Sharp>,
): Promise<Written> {
  const ladder = settingsOf(encode);
  const write = async (setting: Encode) => {
    return encodeWith(await finishing(), { ...encode, ...setting }, motion).toUint8Array();
  };
  const isLate = () => Date.now() > deadlineMs - LAST_CALL_MS;
  if ('maxBytes' in encode.promise) return withinBytes(encode.promise.maxBytes, ladder, write, isLate);
  return likeOriginal(encode.promise.minSsim, await lumaOf(openPixels(pixels)), ladder, write, isLate);
}

type Write = (setting: Encode) => Promise<Written>;

/** The largest setting whose file is small enough. */
async function withinBytes(
  maxBytes: number,
  ladder: Encode[],
  write: Write,
  isLate: () => boolean,
): Promise<Written> {
  let smallest = Number.POSITIVE_INFINITY;
  const found = await search(ladder, isLate, async (setting) => {
    const written = await write(setting);
    smallest = Math.min(smallest, written.info.size);
    return {
      candidate: { written, reached: written.info.size },
      tooLarge: written.info.size > maxBytes,
      keeps: written.info.size <= maxBytes,
    };
  });
  if (found !== undefined) return found.written;
  const message = `maxBytes is ${maxBytes}, but the smallest file that was reached has ${smallest} bytes: allow more, or make the picture smaller.`;
  throw invalid('maxBytes', message, { reached: smallest });
}

/** The smallest setting whose picture is like enough. */
async function likeOriginal(
  minSsim: number,
  original: Luma,
  ladder: Encode[],
  write: Write,
  isLate: () => boolean,
): Promise<Written> {
  let closest = 0;
  const found = await search(ladder, isLate, async (setting) => {
    const written = await write(setting);
    const likeness = ssim(
      original,
      await lumaOf(sharp(written.data, { pages: -1, limitInputPixels: false })),
    );
    closest = Math.max(closest, likeness);
    return {
      candidate: { written, reached: likeness },
      tooLarge: likeness >= minSsim,
      keeps: likeness >= minSsim,
    };
  });
  if (found !== undefined) return found.written;
  const reached = Math.floor(closest * 1e4) / 1e4;
  const message = `minSsim is ${minSsim}, but the closest that was reached is ${reached}: allow less, or ask for a lossless format.`;
  throw invalid('minSsim', message, { reached });
}

/** Binary search over the ladder: answers the last candidate found that keeps the promise. */
async function search(
  ladder: Encode[],
  isLate: () => boolean,
  attempt: (setting: Encode) => Promise<{ candidate: Candidate; tooLarge: boolean; keeps: boolean }>,
): Promise<Candidate | undefined> {
  let low = 0;
  let high = ladder.length - 1;
  let best: Candidate | undefined;
  while (low <= high && !(best !== undefined && isLate())) {
    const middle = (low + high) >> 1;
    const { candidate, tooLarge, keeps } = await attempt(ladder[middle] as Encode);
    if (keeps) best = candidate;
    if (tooLarge) high = middle - 1;
    else low = middle + 1;
  }
  return best;
}

/** An encoder's settings from its smallest file to its largest; the asked or usual quality is the best there is. */
function settingsOf({ format, quality, lossless, colors, promise }: Known): Encode[] {
  const palettes = PALETTE_SIZES.filter((size) => size <= (colors ?? 256)).map((colors) => ({ colors }));
  if (format === 'gif') return palettes;
  if (format === 'png') return colors === undefined ? [...palettes, { effort: 9 }] : palettes;
  if (lossless) return [{ effort: 9 }, { effort: 4 }];
  // A likeness may be worth more than the usual quality; a size is not a reason to blow a file up.
  const best =
    quality ?? (promise !== undefined && 'minSsim' in promise ? 100 : (defaultQuality(format) ?? 100));
  return Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
}

/** The brightness of a picture, transparency laid on grey. */
async function lumaOf(pipeline: Sharp): Promise<Luma> {
  const { data, info } = await pipeline
    .flatten({ background: '#808080' })
    .greyscale()
    .toColourspace('b-w')
    .raw()
    .toUint8Array();
  return { data, width: info.width, height: info.height };
}
