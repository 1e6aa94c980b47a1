import sharp, { type OutputInfo, type Sharp } from 'sharp';
import { outputOf } from '../../output.ts';
import type { Achieved, Encode, OutputFormat } from '../../protocol.ts';
import { defaultQuality, encodeWith, type Motion, type Settings } from '../encode/encoder.ts';
import { achievedOf, type Likeness, likenessTo } from '../likeness/likeness.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { invalid } from '../refusal.ts';
import { type CurvedFormat, curveAt, type Quantity } from './quality-curves.ts';
import { tryOut } from './trials.ts';

type Known = Settings & { format: OutputFormat };

/** A file; its height is that of all frames. */
export interface Written {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** A file, and what was reached by it. */
export interface Reached {
  written: Written;
  achieved: Achieved;
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
  encode: Known & { target: NonNullable<Encode['target']> };
  motion: Motion;
  original: Original | undefined;
  deadlineMs: number;
  /** Answers a pipeline on the pixels with all that a trial carries beside its settings. */
  prepare(): Promise<Sharp>;
  /** Adds to a file what the encoder could not. */
  finish(written: Written): Promise<Written>;
}

/** A file that was tried, and by which settings it was made. */
interface Attempt {
  written: Written;
  setting: Trial;
}

/** One row of an encoder's settings. */
interface Trial extends Settings {
  /** A GIF's palette is chosen for this quality of a PNG first: the encoder itself knows no palette between 16 and 256. */
  paletteQuality?: number;
}

/** A palette without dither is smaller and more like the picture; with few colours it shows bands, so it comes last of all. */
const FEW_COLOURS = [2, 4, 16].map((colors) => ({ colors, dither: 0 }));
/** Qualities that a palette of at most 256 colours is chosen for: the fewer it needs, the smaller the file. */
const PALETTE_QUALITIES = [1, 5, 10, 20, 30, 40, 50, 60, 70];
const PNG = [...FEW_COLOURS, ...[...PALETTE_QUALITIES, 100].map((quality) => ({ colors: 256, quality }))];
const STILL_GIF = [
  ...FEW_COLOURS,
  ...PALETTE_QUALITIES.map((paletteQuality) => ({ colors: 256, dither: 0, paletteQuality })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];
/** How far pixels may differ from those of the frame before and still be taken for the same. */
const MOVING_GIF = [
  ...FEW_COLOURS,
  ...[32, 16, 8, 4].map((interFrameMaxError) => ({ colors: 256, dither: 0, interFrameMaxError })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];

/** Up to here a search takes all the effort that an encoder has; beyond, an AVIF is searched for with the least. */
const UNHURRIED_LIMIT_PX = 2_000_000;

/** Once the target is reached, no search goes on for a better file when less than this would be left to answer in. */
const LAST_CALL_MS = 2_000;

/** A file that is this much smaller than it may be is as good as it gets, in natural logarithms: 3 %. */
const NEAR_SIZE = 0.03;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that reaches a target: the best
 * picture of at most `maxBytes`, or the smallest file of at least `minSsim` or `ssimulacra2`. Each trial encodes the same pixels. No file
 * becomes larger than it was, where that can be: the input may be the best that there is.
 * @throws Refusal invalid_param on `maxBytes`, `minSsim` or `ssimulacra2` with what was reached, when no setting reaches it.
 */
export async function reachTarget(wanted: Search): Promise<Reached> {
  const { target } = wanted.encode;
  return 'maxBytes' in target
    ? withinBytes(target.maxBytes, wanted)
    : likeOriginal(likenessTo(wanted.pixels, target), wanted);
}

/** Writes a file by some settings of the search. */
async function attempt(
  { pixels, encode, motion, prepare, finish }: Search,
  setting: Trial,
): Promise<Attempt> {
  const { paletteQuality, ...settings } = setting;
  const opened = await prepare();
  const pipeline = paletteQuality === undefined ? opened : await withPalette(opened, paletteQuality);
  const told = { ...encode, ...effortOf(encode, pixels), ...settings };
  return { written: await finish(await outputOf(encodeWith(pipeline, told, motion, pixels))), setting };
}

/** A still picture reduced to the colours that a palette of some quality needs. */
async function withPalette(pipeline: Sharp, quality: number): Promise<Sharp> {
  const { data } = await outputOf(pipeline.png({ palette: true, quality, compressionLevel: 0 }));
  return sharp(data, { limitInputPixels: false });
}

/** A search is for the smallest file, and encodes many times: a small picture has the time for all effort, a large AVIF for none. */
function effortOf({ format, effort }: Known, { width, height, frames }: Pixels): Encode {
  if (effort !== undefined || (format !== 'webp' && format !== 'avif')) return {};
  if (width * height * frames <= UNHURRIED_LIMIT_PX) return { effort: 9 };
  return format === 'avif' ? { effort: 0 } : {};
}

/** The largest file that is small enough, and no larger than the original: the best picture. */
async function withinBytes(maxBytes: number, search: Search): Promise<Reached> {
  const { encode, original } = search;
  if (original?.file !== undefined && original.bytes <= maxBytes) return untouched(original.file, 0);
  const limitBytes = Math.min(maxBytes, original?.bytes ?? maxBytes);
  const settings = settingsFor(encode, 'size', search.pixels.frames);
  let best: Attempt | undefined;
  let smallest: Attempt | undefined;
  let trials = 0;
  await tryOut({
    count: settings.length,
    wanted: 'last',
    target: Math.log(limitBytes),
    tolerance: NEAR_SIZE,
    ...expectedOf('size', search, settings),
    hasTime: stopwatch(search, () => best !== undefined),
    async attempt(index) {
      trials += 1;
      const tried = await attempt(search, settings[index] as Trial);
      smallest = smaller(tried, smallest);
      const reaches = tried.written.info.size <= limitBytes;
      if (reaches) best = tried;
      return { value: Math.log(tried.written.info.size), reaches };
    },
  });
  const reached = best ?? smallest;
  if (reached !== undefined && reached.written.info.size <= maxBytes)
    return reachedBy(reached, encode, trials);
  const reachedBytes = reached?.written.info.size;
  const message = `maxBytes is ${maxBytes}, but the smallest file that was reached has ${reachedBytes} bytes: allow more, or make the picture smaller.`;
  throw invalid('maxBytes', message, { reached: reachedBytes });
}

function smaller(one: Attempt, other: Attempt | undefined): Attempt {
  return other === undefined || one.written.info.size < other.written.info.size ? one : other;
}

/** The smallest file that is like enough. */
async function likeOriginal(wanted: Likeness, search: Search): Promise<Reached> {
  const { param, least, quantity, tolerance, measure, evenly, rounded } = wanted;
  const { pixels, original } = search;
  const encode: Search['encode'] = { ...wanted.settings, ...search.encode };
  const settings = settingsFor(encode, quantity, pixels.frames);
  let best: Attempt | undefined;
  let reached = Number.NEGATIVE_INFINITY;
  let closest = Number.NEGATIVE_INFINITY;
  let trials = 0;
  await tryOut({
    count: settings.length,
    wanted: 'first',
    target: evenly(least),
    tolerance,
    ...expectedOf(quantity, search, settings, evenly(wanted.same)),
    hasTime: stopwatch(search, () => best !== undefined),
    async attempt(index) {
      trials += 1;
      const tried = await attempt({ ...search, encode }, settings[index] as Trial);
      const likeness = await measure(tried.written.data);
      closest = Math.max(closest, likeness);
      const reaches = likeness >= least;
      if (reaches) [best, reached] = [tried, likeness];
      return { value: evenly(likeness), reaches };
    },
  });
  const { file } = original ?? {};
  if (file !== undefined && (best === undefined || file.info.size < best.written.info.size)) {
    return untouched(file, trials, achievedOf(wanted, wanted.same));
  }
  if (best !== undefined) return reachedBy(best, encode, trials, achievedOf(wanted, reached));
  const message = `${param} is ${least}, but the closest that was reached is ${rounded(closest)}: allow less, or ask for a lossless format.`;
  throw invalid(param, message, { reached: rounded(closest) });
}

function untouched(file: Written, trials: number, likeness: Partial<Achieved> = {}): Reached {
  return { written: file, achieved: { ...likeness, bytes: file.info.size, trials } };
}

function reachedBy(
  { written, setting }: Attempt,
  { quality, lossless }: Known,
  trials: number,
  likeness: Partial<Achieved> = {},
): Reached {
  const isLossless = setting.lossless ?? lossless ?? false;
  const reached = isLossless ? undefined : (setting.quality ?? quality);
  return {
    written,
    achieved: {
      ...(reached !== undefined && { quality: reached }),
      ...likeness,
      bytes: written.info.size,
      trials,
    },
  };
}

/** Whether there is time for one trial more, as long as the last one took, before the last call. */
function stopwatch({ deadlineMs }: Search, isKept: () => boolean): () => boolean {
  let lapMs = Date.now();
  return () => {
    const nowMs = Date.now();
    const trialMs = nowMs - lapMs;
    lapMs = nowMs;
    return !isKept() || nowMs + trialMs < deadlineMs - LAST_CALL_MS;
  };
}

/** What settings of one quality each are expected to reach; nothing is known of others. */
function expectedOf(
  quantity: Quantity,
  { encode: { format }, pixels }: Search,
  settings: Trial[],
  ofLossless = Number.POSITIVE_INFINITY,
): { expected?: (index: number) => number } {
  if (!isCurved(format) || settings.some(({ quality, lossless }) => quality === undefined && !lossless))
    return {};
  const pixelCount = pixels.width * pixels.height * pixels.frames;
  const base = quantity === 'size' ? Math.log(pixelCount) : 0;
  return {
    expected(index) {
      const { quality } = settings[index] as Trial;
      return quality === undefined ? ofLossless : base + curveAt(format, quantity, quality);
    },
  };
}

function isCurved(format: OutputFormat): format is CurvedFormat {
  return format === 'jpeg' || format === 'webp' || format === 'avif';
}

/** An encoder's settings from its smallest file to its largest; the asked or usual quality is the best there is. */
function settingsFor(encode: Known, quantity: Quantity, frames: number): Trial[] {
  const { format, quality, lossless, colors = 256 } = encode;
  if (format === 'gif') return (frames > 1 ? MOVING_GIF : STILL_GIF).filter((one) => one.colors <= colors);
  if (format === 'png') {
    const palettes = PNG.filter((one) => one.colors <= colors);
    return encode.colors === undefined ? [...palettes, { effort: 9 }] : palettes;
  }
  if (lossless) return [{ effort: 9 }, { effort: 4 }];
  // A likeness may be worth more than the usual quality; a size is not a reason to blow a file up.
  const isForLikeness = quantity !== 'size';
  const best = quality ?? (isForLikeness ? 100 : (defaultQuality(format) ?? 100));
  const lossy = Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
  const canBeLossless = isForLikeness && quality === undefined && format !== 'jpeg';
  return canBeLossless ? [...lossy, { lossless: true }] : lossy;
}
