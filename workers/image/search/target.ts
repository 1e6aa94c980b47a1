import sharp, { type OutputInfo, type Sharp } from 'sharp';
import type { Achieved, Encode, OutputFormat } from '../../protocol.ts';
import { outputOf } from '../../transport/output.ts';
import { searchEffort } from '../encode/effort.ts';
import { encodeWith, type Motion } from '../encode/encoder.ts';
import { TooLate } from '../failure.ts';
import { achievedOf, type Likeness, type LikenessTarget, likenessTo } from '../likeness/likeness.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { invalid } from '../refusal.ts';
import { type CurvedFormat, curveAt, type Quantity } from './quality-curves.ts';
import { type Rehearsed, rehearse, sampleOf } from './rehearsal.ts';
import { type Known, type Setting, settingsFor } from './settings.ts';
import { LAST_CALL_MS, type TrialTime, timeOf } from './time.ts';
import { type Row, type Trial, tryOut } from './trials.ts';

/** A file; its height is that of all frames together. */
export interface Written {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** A file, and the values that it reaches. */
interface Reached {
  written: Written;
  achieved: Achieved;
}

/** The input, where the pass writes the same picture in the same format. */
export interface Original {
  bytes: number;
  /** The input itself, where it may be the answer. */
  file?: Written;
}

/** The input of a search. */
export interface Search {
  pixels: Pixels;
  encode: Known & { target: NonNullable<Encode['target']> };
  motion: Motion;
  original: Original | undefined;
  deadlineMs: number;
  /** The current time in epoch milliseconds. */
  nowMs(): number;
  /**
   * Returns a pipeline on the pixels, with everything that a trial carries besides its settings.
   * @param timeoutMs after which the pipeline fails.
   */
  prepare(timeoutMs: number): Promise<Sharp>;
  /** The same for the pixels of a sample, without anything carried. */
  prepareSample(sample: Pixels): Sharp;
  /** Adds to a file the metadata that the encoder cannot write. */
  finish(written: Written): Promise<Written>;
}

/** A file that was tried, and the settings that made it. */
interface Attempt {
  written: Written;
  setting: Setting;
}

/** A file that is below the limit by no more than this, in natural logarithms, ends the search: 3 %. */
const NEAR_SIZE = 0.03;
/**
 * Factor on the tolerance where there is time for only one trial, because a sample's estimate is sometimes wrong by a
 * tenth.
 */
const RUSH = 10;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that reaches a target: the
 * best picture of at most `maxBytes`, or the smallest file of at least `minSsim` or `ssimulacra2`. Each trial encodes
 * the same pixels. Where possible, no file becomes larger than the input, which may itself be the best result.
 * @throws Refusal invalid_param on `maxBytes`, `minSsim` or `ssimulacra2` with the value reached, when no setting
 * reaches the target.
 */
export async function reachTarget(wanted: Search): Promise<Reached> {
  const { target } = wanted.encode;
  return 'maxBytes' in target
    ? withinBytes(target.maxBytes, wanted)
    : likeOriginal(likenessTo(wanted.pixels, target), wanted);
}

/** Writes a file with one of the settings of the search. */
async function attempt(search: Search, setting: Setting, time: TrialTime): Promise<Attempt> {
  const opened = await search.prepare(time.timeoutMs());
  return { written: await search.finish(await written(search, opened, setting)), setting };
}

async function written(
  { pixels, encode, motion }: Pick<Search, 'pixels' | 'encode' | 'motion'>,
  opened: Sharp,
  { paletteQuality, ...settings }: Setting,
): Promise<Written> {
  const pipeline = paletteQuality === undefined ? opened : await withPalette(opened, paletteQuality);
  const told = { ...encode, ...effortOf(encode, pixels), ...settings };
  return outputOf(encodeWith(pipeline, told, motion, pixels));
}

/**
 * Searches for the setting on a sample first; undefined for a picture that is tried as a whole, or with an effort that
 * the caller chose.
 */
async function rehearsed(
  search: Search,
  settings: readonly Setting[],
  row: Omit<Row, 'hasTime' | 'attempt'>,
  measure: (file: Written, sample: Pixels, ratio: number) => Promise<{ value: number; reaches: boolean }>,
): Promise<Rehearsed | undefined> {
  const { pixels, encode, motion, deadlineMs, nowMs, prepareSample } = search;
  const sample = sampleOf(pixels);
  if (sample === undefined || encode.effort !== undefined || encode.lossless) return undefined;
  const ratio = (pixels.width * pixels.height) / (sample.width * sample.height);
  return rehearse({
    format: encode.format,
    row,
    ratio,
    nowMs,
    leftMs: () => deadlineMs - LAST_CALL_MS - nowMs(),
    async attempt(index, effort) {
      const usual = effort === undefined ? effortOf(encode, pixels) : { effort };
      const asked = { pixels: sample, encode: { ...encode, ...usual }, motion };
      return measure(await written(asked, prepareSample(sample), settings[index] as Setting), sample, ratio);
    },
  });
}

/**
 * Tries settings on the whole picture, with the effort for which the rehearsal found time.
 * @returns whether the search ended by itself and at the default effort, so that a target it did not reach cannot be
 * reached.
 */
async function tryWhole(
  search: Search,
  settings: readonly Setting[],
  row: Omit<Row, 'hasTime' | 'attempt'>,
  found: Rehearsed | undefined,
  { isKept, judge }: { isKept: () => boolean; judge: (tried: Attempt) => Promise<Trial> },
): Promise<boolean> {
  const effort = found?.effort;
  const fitting = effort === undefined ? search : { ...search, encode: { ...search.encode, effort } };
  const time = timeOf(search, isKept);
  const isSettled = await time.within(() =>
    tryOut({
      ...row,
      ...(found && { expected: found.expected }),
      ...(found?.isRushed && { tolerance: row.tolerance * RUSH }),
      hasTime: time.hasTime,
      attempt: async (index) => judge(await attempt(fitting, settings[index] as Setting, time)),
    }),
  );
  return isSettled && effort === undefined;
}

/** A still picture reduced to the colours that a palette of that quality needs. */
async function withPalette(pipeline: Sharp, quality: number): Promise<Sharp> {
  const { data } = await outputOf(pipeline.png({ palette: true, quality, compressionLevel: 0 }));
  return sharp(data, { limitInputPixels: false });
}

/** The effort of a search where the caller chose none. */
function effortOf({ format, effort: asked }: Known, { width, height, frames }: Pixels): Encode {
  const effort = asked ?? searchEffort(format, (width * height * frames) / 1e6);
  return effort === undefined ? {} : { effort };
}

/** The best picture: the largest file that is small enough, and no larger than the original. */
async function withinBytes(maxBytes: number, search: Search): Promise<Reached> {
  const { encode, original } = search;
  if (original?.file !== undefined && original.bytes <= maxBytes) return untouched(original.file, 0);
  const limitBytes = Math.min(maxBytes, original?.bytes ?? maxBytes);
  const settings = settingsFor(encode, 'size', search.pixels.frames);
  let best: Attempt | undefined;
  let smallest: Attempt | undefined;
  let trials = 0;
  const row = {
    ...{ count: settings.length, wanted: 'last' as const },
    ...{ target: Math.log(limitBytes), tolerance: NEAR_SIZE },
    ...expectedOf('size', search, settings),
  };
  const found = await rehearsed(search, settings, row, async ({ info: { size } }, _, ratio) => ({
    value: Math.log(size * ratio),
    reaches: size * ratio <= limitBytes,
  }));
  const isThorough = await tryWhole(search, settings, row, found, {
    isKept: () => best !== undefined,
    judge: async (tried) => {
      trials += 1;
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
  if (reachedBytes === undefined) throw new TooLate();
  const inTime = isThorough ? '' : ' in the time that there was';
  const message = `maxBytes is ${maxBytes}, but the smallest file that was reached${inTime} has ${reachedBytes} bytes: allow more, or make the picture smaller.`;
  throw invalid('maxBytes', message, { reached: reachedBytes });
}

function smaller(one: Attempt, other: Attempt | undefined): Attempt {
  return other === undefined || one.written.info.size < other.written.info.size ? one : other;
}

/** The smallest file that reaches the likeness. */
async function likeOriginal(wanted: Likeness, search: Search): Promise<Reached> {
  const { param, least, quantity, tolerance, measure, evenly, rounded } = wanted;
  const { pixels, original } = search;
  const encode: Search['encode'] = { ...wanted.settings, ...search.encode };
  const settings = settingsFor(encode, quantity, pixels.frames);
  let best: Attempt | undefined;
  let reached = Number.NEGATIVE_INFINITY;
  let closest = Number.NEGATIVE_INFINITY;
  let trials = 0;
  const row = {
    ...{ count: settings.length, wanted: 'first' as const, target: evenly(least), tolerance },
    ...expectedOf(quantity, search, settings, evenly(wanted.same)),
  };
  const asked = { ...search, encode };
  const found = await rehearsed(asked, settings, row, async ({ data }, sample) => {
    const likeness = await likenessTo(sample, search.encode.target as LikenessTarget).measure(data);
    return { value: evenly(likeness), reaches: likeness >= least };
  });
  const isThorough = await tryWhole(asked, settings, row, found, {
    isKept: () => best !== undefined,
    judge: async (tried) => {
      trials += 1;
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
  if (!Number.isFinite(closest)) throw new TooLate();
  const inTime = isThorough ? '' : ' in the time that there was';
  const message = `${param} is ${least}, but the closest that was reached${inTime} is ${rounded(closest)}: allow less, or ask for a lossless format.`;
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

/** The expected values of settings that are one quality each; empty for any other settings. */
function expectedOf(
  quantity: Quantity,
  { encode: { format }, pixels }: Search,
  settings: Setting[],
  ofLossless = Number.POSITIVE_INFINITY,
): { expected?: (index: number) => number } {
  if (!isCurved(format) || settings.some(({ quality, lossless }) => quality === undefined && !lossless))
    return {};
  const pixelCount = pixels.width * pixels.height * pixels.frames;
  const base = quantity === 'size' ? Math.log(pixelCount) : 0;
  return {
    expected(index) {
      const { quality } = settings[index] as Setting;
      return quality === undefined ? ofLossless : base + curveAt(format, quantity, quality);
    },
  };
}

function isCurved(format: OutputFormat): format is CurvedFormat {
  return format === 'jpeg' || format === 'webp' || format === 'avif';
}
