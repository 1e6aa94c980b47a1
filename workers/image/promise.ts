import sharp, { type OutputInfo, type Sharp } from 'sharp';
import { outputOf } from '../output.ts';
import type { Encode, OutputFormat } from '../protocol.ts';
import { defaultQuality, encodeWith, type Motion } from './encoder.ts';
import { openPixels } from './input.ts';
import type { Pixels } from './pixels.ts';
import { invalid } from './refusal.ts';
import { type Luma, ssim } from './ssim.ts';

type Known = Encode & { format: OutputFormat };

/** A file; its height is that of all frames. */
export interface Written {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** The input, where the pass makes a file of the same format of the same picture. */
export interface Original {
  bytes: number;
  /** The input itself, where it may be the answer. */
  file?: Written;
}

/** What a search works on. */
export interface Search {
  pixels: Pixels;
  encode: Known & { promise: NonNullable<Encode['promise']> };
  motion: Motion;
  original: Original | undefined;
  deadlineMs: number;
  /** Answers a pipeline on the pixels with all that a trial carries beside its settings. */
  prepare(): Promise<Sharp>;
  /** Adds to a file what the encoder could not. */
  finish(written: Written): Promise<Written>;
}

/** Palettes are 1, 2, 4 or 8 bits deep. */
const PALETTE_SIZES = [2, 4, 16, 256];

/** Up to here an AVIF is searched for with the usual effort. */
const UNHURRIED_LIMIT_PX = 2_000_000;

/** Once the promise is kept, no search goes on for a better file when less than this is left to answer in. */
const LAST_CALL_MS = 1_000;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that keeps a promise: the best
 * picture of at most `maxBytes`, or the smallest file of at least `minSsim`. Each trial encodes the same pixels. No file
 * becomes larger than it was, where that can be: the input may be the best that there is.
 * @throws Refusal invalid_param on `maxBytes` or `minSsim` with what was reached, when no setting keeps it.
 */
export async function keepPromise(wanted: Search): Promise<Written> {
  const { pixels, encode, motion, prepare, finish } = wanted;
  const haste = hasteOf(encode, pixels);
  const write = async (setting: Encode) =>
    finish(await outputOf(encodeWith(await prepare(), { ...encode, ...haste, ...setting }, motion, pixels)));
  const { promise } = encode;
  return 'maxBytes' in promise
    ? withinBytes(promise.maxBytes, wanted, write)
    : likeOriginal(promise.minSsim, wanted, write);
}

/** A search encodes many times: of a large AVIF it has the time for that only with the least effort. */
function hasteOf({ format, effort }: Known, { width, height, frames }: Pixels): Encode {
  const isLarge = width * height * frames > UNHURRIED_LIMIT_PX;
  return format === 'avif' && effort === undefined && isLarge ? { effort: 0 } : {};
}

type Write = (setting: Encode) => Promise<Written>;

/** The largest file that is small enough, and no larger than the original: the best picture. */
async function withinBytes(
  maxBytes: number,
  { encode, original, deadlineMs }: Search,
  write: Write,
): Promise<Written> {
  if (original?.file !== undefined && original.bytes <= maxBytes) return original.file;
  const limitBytes = Math.min(maxBytes, original?.bytes ?? maxBytes);
  let smallest: Written | undefined;
  const found = await search(settingsOf(encode), 'larger', deadlineMs, async (setting) => {
    const written = await write(setting);
    smallest = smallerOf(written, smallest);
    return { written, keeps: written.info.size <= limitBytes };
  });
  const reached = found ?? smallest;
  if (reached !== undefined && reached.info.size <= maxBytes) return reached;
  const reachedBytes = reached?.info.size;
  const message = `maxBytes is ${maxBytes}, but the smallest file that was reached has ${reachedBytes} bytes: allow more, or make the picture smaller.`;
  throw invalid('maxBytes', message, { reached: reachedBytes });
}

function smallerOf(written: Written, other: Written | undefined): Written {
  return other === undefined || written.info.size < other.info.size ? written : other;
}

/** The smallest file that is like enough. */
async function likeOriginal(
  minSsim: number,
  { pixels, encode, original, deadlineMs }: Search,
  write: Write,
): Promise<Written> {
  const model = await lumaOf(openPixels(pixels));
  let closest = 0;
  const found = await search(settingsOf(encode), 'smaller', deadlineMs, async (setting) => {
    const written = await write(setting);
    const likeness = ssim(model, await lumaOf(sharp(written.data, { pages: -1, limitInputPixels: false })));
    closest = Math.max(closest, likeness);
    return { written, keeps: likeness >= minSsim };
  });
  const kept = found ?? original?.file;
  if (kept !== undefined) return smallerOf(kept, original?.file);
  const reached = Math.floor(closest * 1e4) / 1e4;
  const message = `minSsim is ${minSsim}, but the closest that was reached is ${reached}: allow less, or ask for a lossless format.`;
  throw invalid('minSsim', message, { reached });
}

/** Binary search for the last setting that keeps the promise, on the way to larger files or to smaller ones. */
async function search(
  settings: Encode[],
  towards: 'larger' | 'smaller',
  deadlineMs: number,
  attempt: (setting: Encode) => Promise<{ written: Written; keeps: boolean }>,
): Promise<Written | undefined> {
  let low = 0;
  let high = settings.length - 1;
  let best: Written | undefined;
  while (low <= high) {
    if (best !== undefined && Date.now() > deadlineMs - LAST_CALL_MS) break;
    const middle = (low + high) >> 1;
    const { written, keeps } = await attempt(settings[middle] as Encode);
    if (keeps) best = written;
    if (keeps === (towards === 'larger')) low = middle + 1;
    else high = middle - 1;
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
  const seeksLikeness = promise !== undefined && 'minSsim' in promise;
  const best = quality ?? (seeksLikeness ? 100 : (defaultQuality(format) ?? 100));
  const lossy = Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
  return seeksLikeness && quality === undefined && format !== 'jpeg' ? [...lossy, { lossless: true }] : lossy;
}

/** The brightness of a picture, transparency laid on grey. */
async function lumaOf(pipeline: Sharp): Promise<Luma> {
  const grey = pipeline.flatten({ background: '#808080' }).greyscale().toColourspace('b-w').raw();
  const { data, info } = await outputOf(grey);
  return { data, width: info.width, height: info.height };
}
