import sharp, { type OutputInfo, type Sharp } from 'sharp';
import type {
  EncodeOptions,
  OutputFormat,
  PassWarning,
  SearchDetails,
  TargetSearchResult,
} from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { defaultSearchEffort } from '../encode/effort.ts';
import { type AnimationPlayback, encodeWith } from '../encode/encoder.ts';
import { achievedLikenessOf, type LikenessTarget, similarityMeter } from '../likeness/likeness.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { DeadlineError, invalidArgument } from '../refusal.ts';
import {
  type SampleEstimates,
  searchSettingsOnSample,
  type TrialSample,
  takeTrialSample,
} from './rehearsal.ts';
import {
  type CommonEncoderSettings,
  type EncoderSetting,
  encoderSettingsFor,
  type FormatWithCurves,
  type SearchedQuantity,
  typicalQuantityAt,
} from './settings.ts';
import { assertByteLimitReachable } from './smallest-file.ts';
import { MIN_TRIAL_TIME_MS, TrialTime } from './time.ts';
import { type EncodingTrial, type SettingSequence, tryNextSetting } from './trials.ts';

/** An encoded file. Its height is that of all frames together. */
export interface WrittenFile {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** A file, and the values that it reaches. */
interface Reached {
  written: WrittenFile;
  achieved: TargetSearchResult;
  /**
   * Warnings of the search, such as that the time did not allow every trial: the same call may reach a better file with
   * more time.
   */
  warnings: PassWarning[];
}

/** The input file, if the pass writes the same picture in the same format. */
export interface OriginalFile {
  bytes: number;
  /** The input itself, if it may be the answer. */
  file?: WrittenFile;
}

/** The input of a search. */
export interface TargetSearch {
  pixels: Pixels;
  encode: CommonEncoderSettings & { target: NonNullable<EncodeOptions['target']> };
  motion: AnimationPlayback;
  original: OriginalFile | undefined;
  deadlineMs: number;
  /** The current time in epoch milliseconds. */
  nowMs(): number;
  /**
   * Returns a pipeline over the pixels with what the files of all trials share, such as metadata and the profile. A
   * trial adds its encoder settings.
   * @param timeoutMs after which the pipeline fails.
   */
  prepare(timeoutMs: number): Promise<Sharp>;
  /** Returns a pipeline over the pixels of a sample, without metadata or a profile. */
  prepareSample(sample: Pixels): Sharp;
  /** Adds the metadata that the encoder cannot write to a file. */
  finish(written: WrittenFile): Promise<WrittenFile>;
}

/** A file that was tried, and the settings that made it. */
interface TriedFile {
  written: WrittenFile;
  setting: EncoderSetting;
  /** The effort that the search chose; absent for the default one. */
  effort: number | undefined;
}

/** The aim of a search, and how it judges a file. */
interface Goal<J extends EncodingTrial> {
  quantity: SearchedQuantity;
  row: Omit<SettingSequence, 'hasTime' | 'attempt'>;
  /** Judges a file of the whole picture, or a file of a sample whose whole picture is estimated to take `bytes`. */
  judge(file: WrittenFile, sample?: { pixels: Pixels; bytes: number }): Promise<J>;
}

/** A file that is below the limit by at most this difference of natural logarithms (3 %) ends the search. */
const NEAR_SIZE = 0.03;
/**
 * A palette of two colours takes at most a bit per pixel. If the target allows fewer bytes, even the smallest setting
 * may be too large.
 */
const SURE_BYTES_PER_PX = 1 / 8;
/**
 * How far a setting may differ from its expectation, once the expectation is fitted to a trial of the whole picture: 10
 * % of the size, or of the remaining difference in likeness.
 */
const SAMPLE_MARGIN = 0.1;
/** Factor on the tolerance if there is time for only one trial. A sample's estimate is sometimes wrong by a tenth. */
const RUSHED_TOLERANCE_FACTOR = 10;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that reaches a target: the
 * best picture of at most `maxBytes`, or the smallest file of at least `minSsim` or `ssimulacra2`. Each trial encodes
 * the same pixels. If possible, no file becomes larger than the input, which may itself be the best result.
 * @throws Refusal invalid_param on `maxBytes`, `minSsim` or `ssimulacra2` when no setting reaches the target;
 * DeadlineError when the time was over before one was found, or before it was sure that there is none. Both have the
 * nearest file.
 */
export async function searchTarget(search: TargetSearch): Promise<Reached> {
  const { target } = search.encode;
  return 'maxBytes' in target ? withinBytes(target.maxBytes, search) : likeOriginal(target, search);
}

/** Finds the best picture: the largest file that is small enough, and no larger than the original. */
async function withinBytes(maxBytes: number, search: TargetSearch): Promise<Reached> {
  const { encode, original, pixels } = search;
  const { width, height, frames } = pixels;
  if (original?.file !== undefined && original.bytes <= maxBytes) return untouched(original.file, 0);
  assertByteLimitReachable(maxBytes, encode, pixels);
  const limitBytes = Math.min(maxBytes, original?.bytes ?? maxBytes);
  const settings = encoderSettingsFor(encode, 'size', frames);
  const { best, nearest, trials, isThorough } = await tried(search, settings, {
    quantity: 'size',
    row: {
      ...{ count: settings.length, pick: 'last', target: Math.log(limitBytes), tolerance: NEAR_SIZE },
      ...expectedOf('size', search, settings),
      isDoubtful: limitBytes < SURE_BYTES_PER_PX * width * height * frames,
    },
    async judge({ info }, sample) {
      const bytes = sample?.bytes ?? info.size;
      return { value: Math.log(bytes), reaches: bytes <= limitBytes };
    },
  });
  const reached = best ?? nearest;
  if (reached === undefined) throw new DeadlineError();
  const { size } = reached.written.info;
  if (size <= maxBytes) return reachedBy(reached, encode, { trials, isThorough });
  const details = nearestDetails(size, reached, encode, achievedBy(reached, encode, trials));
  if (!isThorough) throw new DeadlineError(details);
  const message = `maxBytes is ${maxBytes}, but the smallest file that was reached has ${size} bytes: allow more, or make the picture smaller.`;
  throw invalidArgument('maxBytes', message, { ...details });
}

/** Finds the smallest file that reaches the likeness. */
async function likeOriginal(target: LikenessTarget, search: TargetSearch): Promise<Reached> {
  const { pixels, original } = search;
  const metric = similarityMeter(pixels, target);
  const { param, least, quantity, tolerance, evenly, rounded } = metric;
  const encode: TargetSearch['encode'] = { ...metric.settings, ...search.encode };
  const settings = encoderSettingsFor(encode, quantity, pixels.frames);
  let ofSample: ReturnType<typeof similarityMeter> | undefined;
  const { best, nearest, trials, isThorough } = await tried({ ...search, encode }, settings, {
    quantity,
    row: {
      ...{ count: settings.length, pick: 'first', target: evenly(least), tolerance },
      ...expectedOf(quantity, search, settings, evenly(metric.same)),
    },
    async judge({ data }, sample) {
      if (sample !== undefined) ofSample ??= similarityMeter(sample.pixels, target);
      const { measure } = sample === undefined ? metric : (ofSample ?? metric);
      const likeness = await measure(data);
      return { value: evenly(likeness), reaches: likeness >= least, likeness };
    },
  });
  const { file } = original ?? {};
  if (file !== undefined && (best === undefined || file.info.size < best.written.info.size)) {
    return untouched(file, trials, achievedLikenessOf(metric, metric.same));
  }
  if (best !== undefined)
    return reachedBy(best, encode, { trials, isThorough }, achievedLikenessOf(metric, best.likeness));
  if (nearest === undefined) throw new DeadlineError();
  const closest = rounded(nearest.likeness);
  const achieved = achievedBy(nearest, encode, trials, achievedLikenessOf(metric, nearest.likeness));
  const details = nearestDetails(closest, nearest, encode, achieved);
  if (!isThorough) throw new DeadlineError(details);
  const message = `${param} is ${least}, but the closest that was reached is ${closest}: allow less, or ask for a lossless format.`;
  throw invalidArgument(param, message, { ...details });
}

/**
 * Tries settings on a sample, then on the whole picture with an effort that fits into the time.
 * @returns `best`: the last file that reached the target; `nearest`: the closest other file; the number of trials;
 *   and `isThorough`: whether the search ended by itself at the default effort, so that a missed target cannot be
 *   reached.
 */
async function tried<J extends EncodingTrial>(
  search: TargetSearch,
  settings: readonly EncoderSetting[],
  goal: Goal<J>,
) {
  const { row, judge } = goal;
  const found = await rehearsed(search, settings, goal);
  const effort = found?.effort;
  const fitting = effort === undefined ? search : { ...search, encode: { ...search.encode, effort } };
  let best: (TriedFile & J) | undefined;
  let nearest: (TriedFile & J) | undefined;
  let trials = 0;
  let judgingMs = found?.judgingMs ?? 0;
  const isNearer = (one: EncodingTrial, other: EncodingTrial) =>
    row.pick === 'last' ? one.value < other.value : one.value > other.value;
  const time = new TrialTime(search, () => best !== undefined);
  const isSettled = await time.within(() =>
    tryNextSetting({
      ...row,
      ...(found && { expected: found.expected, margin: SAMPLE_MARGIN }),
      ...(found?.isRushed && { tolerance: row.tolerance * RUSHED_TOLERANCE_FACTOR }),
      hasTime: time.hasTime,
      async attempt(index) {
        const setting = settings[index] as EncoderSetting;
        const opened = await search.prepare(time.timeoutMs(judgingMs));
        const file = await search.finish(await encoded(fitting, opened, setting));
        trials += 1;
        const writtenMs = search.nowMs();
        const judged = { written: file, setting, effort, ...(await judge(file)) };
        judgingMs = search.nowMs() - writtenMs;
        if (judged.reaches) best = judged;
        else if (nearest === undefined || isNearer(judged, nearest)) nearest = judged;
        return judged;
      },
    }),
  );
  return { best, nearest, trials, isThorough: isSettled && effort === undefined };
}

/**
 * Searches for the setting on a sample first. Undefined for a picture that is tried as a whole, and for an effort that
 * the caller chose.
 */
async function rehearsed(
  { pixels, encode, deadlineMs, nowMs, prepareSample }: TargetSearch,
  settings: readonly EncoderSetting[],
  { quantity, row, judge }: Goal<EncodingTrial>,
): Promise<(SampleEstimates & { judgingMs: number }) | undefined> {
  const sample = takeTrialSample(pixels, quantity);
  if (sample === undefined || encode.effort !== undefined || encode.lossless) return undefined;
  const ratio = sizeOf(pixels) / sizeOf(sample.pixels);
  const usual = effortOf(encode, pixels);
  let judgingMs = 0;
  const rehearsed = await searchSettingsOnSample({
    format: encode.format,
    usualEffort: usual.effort,
    row,
    ratio,
    nowMs,
    leftMs: () => deadlineMs - MIN_TRIAL_TIME_MS - nowMs(),
    async attempt(index, effort) {
      const tried = effort === undefined ? usual : { effort };
      const write = (part: Pixels) =>
        encoded(
          { pixels: part, encode: { ...encode, ...tried }, motion: {} },
          prepareSample(part),
          settings[index] as EncoderSetting,
        );
      const file = await write(sample.pixels);
      const heads = sample.heads && (await write(sample.heads));
      const writtenMs = nowMs();
      const judged = await judge(file, {
        pixels: sample.pixels,
        bytes: wholeBytes(pixels, sample, file, heads),
      });
      judgingMs = ratio * (nowMs() - writtenMs);
      return judged;
    },
  });
  return { ...rehearsed, judgingMs };
}

/**
 * Estimates the bytes of the whole picture from a file of its sample. In an animation, one frame is stored completely,
 * and of all others only what changes.
 */
function wholeBytes(
  whole: Pixels,
  { pixels, heads }: TrialSample,
  file: WrittenFile,
  ofHeads?: WrittenFile,
): number {
  if (heads === undefined || ofHeads === undefined) return (file.info.size * sizeOf(whole)) / sizeOf(pixels);
  const headBytes = ofHeads.info.size / heads.frames;
  const changeBytes = (file.info.size - ofHeads.info.size) / (pixels.frames - heads.frames);
  return headBytes + (whole.frames - 1) * Math.max(0, changeBytes);
}

function sizeOf({ width, height, frames }: Pixels): number {
  return width * height * frames;
}

async function encoded(
  { pixels, encode, motion }: Pick<TargetSearch, 'pixels' | 'encode' | 'motion'>,
  opened: Sharp,
  { paletteQuality, ...settings }: EncoderSetting,
): Promise<WrittenFile> {
  const pipeline = paletteQuality === undefined ? opened : await withPalette(opened, paletteQuality);
  const options = { ...encode, ...effortOf(encode, pixels), ...settings };
  return encodeOutput(encodeWith(pipeline, options, motion, pixels));
}

/** A still picture, reduced to the colours that a palette of that quality needs. */
async function withPalette(pipeline: Sharp, quality: number): Promise<Sharp> {
  const { data } = await encodeOutput(pipeline.png({ palette: true, quality, compressionLevel: 0 }));
  return sharp(data, { limitInputPixels: false });
}

/** The effort of a search: the caller's, or a default. */
function effortOf(
  { format, effort: asked }: CommonEncoderSettings,
  { width, height, frames }: Pixels,
): EncodeOptions {
  const effort =
    asked ?? defaultSearchEffort(format, { frames, megapixels: (width * height * frames) / 1e6 });
  return effort === undefined ? {} : { effort };
}

function untouched(file: WrittenFile, trials: number, likeness: Partial<TargetSearchResult> = {}): Reached {
  return { written: file, achieved: { ...likeness, bytes: file.info.size, trials }, warnings: [] };
}

function reachedBy(
  tried: TriedFile,
  encode: CommonEncoderSettings,
  { trials, isThorough }: { trials: number; isThorough: boolean },
  likeness?: Partial<TargetSearchResult>,
): Reached {
  return {
    written: tried.written,
    achieved: achievedBy(tried, encode, trials, likeness),
    warnings: isThorough ? [] : [{ code: 'search_cut_short' }],
  };
}

function achievedBy(
  { written, setting }: TriedFile,
  { quality, lossless }: CommonEncoderSettings,
  trials: number,
  likeness: Partial<TargetSearchResult> = {},
): TargetSearchResult {
  const isLossless = setting.lossless ?? lossless ?? false;
  const reached = isLossless ? undefined : (setting.quality ?? quality);
  return {
    ...(reached !== undefined && { quality: reached }),
    ...likeness,
    bytes: written.info.size,
    trials,
  };
}

/** What is told of the nearest file of a search without a result: `reached`, and the settings of the call for it. */
function nearestDetails(
  reached: number,
  { setting, effort = setting.effort }: TriedFile,
  { format, lossless }: CommonEncoderSettings,
  achieved: TargetSearchResult,
): SearchDetails {
  const { colors } = setting;
  const isLossless = setting.lossless ?? lossless;
  return {
    reached,
    achieved: {
      format,
      ...(isLossless && { lossless: isLossless }),
      ...(colors !== undefined && { colors }),
      ...(effort !== undefined && { effort }),
      ...achieved,
    },
  };
}

/** The expected values of settings that are one quality each; empty for other settings. */
function expectedOf(
  quantity: SearchedQuantity,
  { encode: { format }, pixels }: TargetSearch,
  settings: EncoderSetting[],
  ofLossless = Number.POSITIVE_INFINITY,
): { expected?: (index: number) => number } {
  if (!isCurved(format) || settings.some(({ quality, lossless }) => quality === undefined && !lossless))
    return {};
  const pixelCount = pixels.width * pixels.height * pixels.frames;
  const base = quantity === 'size' ? Math.log(pixelCount) : 0;
  return {
    expected(index) {
      const { quality } = settings[index] as EncoderSetting;
      return quality === undefined ? ofLossless : base + typicalQuantityAt(format, quantity, quality);
    },
  };
}

function isCurved(format: OutputFormat): format is FormatWithCurves {
  return format === 'jpeg' || format === 'webp' || format === 'avif';
}
