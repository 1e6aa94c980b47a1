import sharp, { type OutputInfo, type Sharp } from 'sharp';
import type { EncodeOptions } from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { defaultSearchEffort, MIN_LOSSLESS_ANIMATION_EFFORT } from '../encode/effort.ts';
import { type AnimationPlayback, encodeWith } from '../encode/encoder.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { DeadlineError } from '../refusal.ts';
import { effortsOf, type SampleEstimates, searchSettingsOnSample } from './rehearsal.ts';
import { sizeShareOf, type TrialSample, takeTrialSample } from './sample.ts';
import type { CommonEncoderSettings, EncoderSetting, SearchedQuantity } from './settings.ts';
import { completesInTime, type SearchTime, TrialTime } from './time.ts';
import { type EncodingTrial, type SettingSearch, searchSetting } from './trials.ts';

/** An encoded file. Its height is the sum of the heights of all frames. */
export interface WrittenFile {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** The picture of a search, with the functions that write files of it. */
export interface SearchedPicture extends SearchTime {
  pixels: Pixels;
  encode: CommonEncoderSettings;
  motion: AnimationPlayback;
  /**
   * Returns a pipeline over the pixels that writes what the files of all trials share, such as metadata and the
   * profile. Each trial adds its encoder settings.
   * @param timeoutMs the time after which the pipeline fails.
   */
  prepare(timeoutMs: number): Promise<Sharp>;
  /** Returns a pipeline over the pixels of a sample, without metadata or a profile. */
  prepareSample(sample: Pixels): Sharp;
  /** Adds the metadata that the encoder cannot write to a file. */
  finish(written: WrittenFile): Promise<WrittenFile>;
}

/** A file that was tried, and the settings that made it. */
export interface TriedFile {
  written: WrittenFile;
  setting: EncoderSetting;
  /** The effort that the search chose; undefined for the default effort. */
  effort: number | undefined;
}

/** The target of a search, and how the search judges a file. */
export interface SearchGoal<J extends EncodingTrial> {
  quantity: SearchedQuantity;
  criteria: Omit<SettingSearch, 'hasTime' | 'attempt'>;
  /** Whether a lossless file is wanted where it is no larger than a lossy one. */
  wantsLossless?: boolean;
  /** Judges a file of the whole picture, or a file of a sample whose whole picture is estimated to take `bytes`. */
  judge(file: WrittenFile, sample?: { pixels: Pixels; bytes: number }): Promise<J>;
}

/** The files that a search has tried. */
export interface SearchAttempts<J extends EncodingTrial> {
  /** The last file that reached the target. */
  best: (TriedFile & J) | undefined;
  /** The closest other file. */
  nearest: (TriedFile & J) | undefined;
  /** The number of trials that encoded the whole picture, and not only a sample of it. */
  trials: number;
  /**
   * Whether the search ended by itself at the default effort, so that a missed target cannot be reached.
   */
  isThorough: boolean;
}

/**
 * The largest difference between the value of a setting and the expected one, once the expectation is fitted to a trial
 * of the whole picture: 10 % of the size, or of the remaining difference in likeness.
 */
const EXPECTATION_MARGIN = 0.1;
/**
 * The smallest time that a pair of frames is assumed to take, as a share of the time of the sample, because measured
 * differences are rough.
 */
const MIN_PAIR_TIME_SHARE = 1 / 8;
const LOSSLESS_SETTING: EncoderSetting = { lossless: true };

/** The settings to try on the whole picture, and the estimates for them from a sample. */
interface SearchPlan<J extends EncodingTrial> {
  search: SearchedPicture;
  settings: readonly EncoderSetting[];
  goal: SearchGoal<J>;
  /** The effort of these settings if it differs from the default one of a search. */
  effort?: number;
  /** The estimates; undefined for a picture that is tried without a sample. */
  estimates: SampleRehearsal | undefined;
}

/**
 * Tries settings on a sample, then on the whole picture with an effort that fits into the time. Settings that would
 * miss the target according to their sample are tried on the whole picture only if no others were.
 * @throws DeadlineError if even the lowest effort is too slow, so that the caller is refused early and not after ten
 *   seconds. The error has the share of the picture for which there is time.
 */
export async function tryFiles<J extends EncodingTrial>(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  goal: SearchGoal<J>,
): Promise<SearchAttempts<J>> {
  const estimates = await rehearseOnSample(search, settings, goal);
  const plans = await withLosslessPlan({ search, settings, goal, estimates });
  const timely = plans.filter((plan) => plan.estimates?.timeShare === undefined);
  if (timely.length === 0) throw new DeadlineError(undefined, Math.max(...plans.map(doableShareOf)));
  let attempts: SearchAttempts<J> | undefined;
  for (const plan of timely) {
    if (attempts !== undefined && isSureToMiss(plan)) continue;
    const later = await tryWhole(plan);
    attempts = attempts === undefined ? later : joinAttempts(goal, attempts, later);
    if (attempts.best !== undefined) return attempts;
  }
  const wereAllTried = plans.every((plan) => timely.includes(plan) || isSureToMiss(plan));
  return { ...(attempts as SearchAttempts<J>), isThorough: attempts?.isThorough === true && wereAllTried };
}

/**
 * Adds a lossless file to a plan, if one is wanted. The lossless file is tried first in two cases. According to the
 * samples, either it is small enough and smaller than the largest lossy file, or no file is small enough and it is
 * smaller than every lossy file.
 */
async function withLosslessPlan<J extends EncodingTrial>(lossy: SearchPlan<J>): Promise<SearchPlan<J>[]> {
  const { search, settings, goal, estimates } = lossy;
  if (!goal.wantsLossless) return [lossy];
  const { encode, pixels } = search;
  const effort =
    encode.effort ??
    Math.max(MIN_LOSSLESS_ANIMATION_EFFORT, effortOf(encode, pixels).effort ?? MIN_LOSSLESS_ANIMATION_EFFORT);
  const { expected: _, ...criteria } = goal.criteria;
  const losslessPlan: SearchPlan<J> = {
    search: { ...search, encode: { ...encode, effort } },
    settings: [LOSSLESS_SETTING],
    goal: { ...goal, criteria: { ...criteria, count: 1 } },
    effort,
    estimates: undefined,
  };
  if (estimates === undefined) return [lossy, losslessPlan];
  const isKnown = await completesInTime(async () => {
    losslessPlan.estimates = await rehearseOnSample(
      losslessPlan.search,
      [LOSSLESS_SETTING],
      losslessPlan.goal,
      effortsOf(effort, encode),
    );
    return true;
  });
  if (!isKnown || losslessPlan.estimates === undefined) return [lossy];
  const [least, most] = [estimates.expected(0), estimates.expected(settings.length - 1)];
  const isFirst =
    losslessPlan.estimates.expected(0) <=
    Math.min(Math.max(criteria.target, least), most) - EXPECTATION_MARGIN;
  return isFirst ? [losslessPlan, lossy] : [lossy, losslessPlan];
}

/** Whether a plan misses the target according to its sample. */
function isSureToMiss({ estimates, goal: { criteria } }: SearchPlan<EncodingTrial>): boolean {
  return (
    estimates !== undefined &&
    criteria.pick === 'last' &&
    estimates.expected(0) > criteria.target + EXPECTATION_MARGIN
  );
}

/** The share of the picture for which a plan surely has time, and whose file is surely small enough. */
function doableShareOf({ search, goal: { criteria }, estimates }: SearchPlan<EncodingTrial>): number {
  const { timeShare = 1, expected } = estimates as SampleRehearsal;
  return criteria.pick === 'last'
    ? Math.min(timeShare, sizeShareOf(search.pixels, criteria.target - expected(0)))
    : timeShare;
}

/** Joins the attempts of two plans of which the first has not reached the target. */
function joinAttempts<J extends EncodingTrial>(
  goal: SearchGoal<J>,
  one: SearchAttempts<J>,
  other: SearchAttempts<J>,
): SearchAttempts<J> {
  const [first, second] = [one.nearest, other.nearest];
  const isNearer = first === undefined || (second !== undefined && isNearerThan(goal, second, first));
  return {
    best: other.best,
    nearest: isNearer ? second : first,
    trials: one.trials + other.trials,
    isThorough: other.best === undefined ? one.isThorough && other.isThorough : other.isThorough,
  };
}

function isNearerThan(
  { criteria }: SearchGoal<EncodingTrial>,
  one: EncodingTrial,
  other: EncodingTrial,
): boolean {
  return criteria.pick === 'last' ? one.value < other.value : one.value > other.value;
}

/** Tries the settings of a plan on the whole picture. */
async function tryWhole<J extends EncodingTrial>(plan: SearchPlan<J>): Promise<SearchAttempts<J>> {
  const { search, settings, goal, effort: planned, estimates } = plan;
  const { criteria, judge } = goal;
  const { nowMs, deadlineMs, improvesUntilMs } = search;
  const effort = estimates?.effort ?? planned;
  const fitting = effort === undefined ? search : { ...search, encode: { ...search.encode, effort } };
  let best: (TriedFile & J) | undefined;
  let nearest: (TriedFile & J) | undefined;
  let trials = 0;
  let judgingMs = estimates?.judgingMs ?? 0;
  const time = new TrialTime(
    {
      nowMs,
      deadlineMs,
      improvesUntilMs,
      trialMs: estimates === undefined ? 0 : estimates.trialMs + judgingMs,
    },
    () => best !== undefined,
  );
  const isSettled = await completesInTime(() =>
    searchSetting({
      ...criteria,
      ...(estimates && { expected: estimates.expected, margin: EXPECTATION_MARGIN }),
      hasTime: time.hasTime,
      async attempt(index) {
        const setting = settings[index] as EncoderSetting;
        const startedMs = nowMs();
        const opened = await search.prepare(time.timeoutMs(judgingMs));
        const file = await search.finish(await encodeTrial(fitting, opened, setting));
        trials += 1;
        const writtenMs = nowMs();
        const judged = { written: file, setting, effort, ...(await judge(file)) };
        judgingMs = nowMs() - writtenMs;
        time.recordTrial(nowMs() - startedMs);
        if (judged.reaches) best = judged;
        else if (nearest === undefined || isNearerThan(goal, judged, nearest)) nearest = judged;
        return judged;
      },
    }),
  );
  // If there is a single setting, no other effort gives a better file that reaches the target.
  const isBestEffort = estimates?.effort === undefined || (best !== undefined && settings.length === 1);
  return { best, nearest, trials, isThorough: isSettled && isBestEffort };
}

/** The estimates from a sample, with the time that judging a file of the whole picture is expected to take. */
type SampleRehearsal = SampleEstimates & { judgingMs: number };

/** Searches for the setting on a sample. The result is undefined for a picture that is tried without a sample. */
async function rehearseOnSample(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  { quantity, criteria, judge }: SearchGoal<EncodingTrial>,
  efforts = effortsOf(effortOf(search.encode, search.pixels).effort, search.encode),
): Promise<SampleRehearsal | undefined> {
  const { pixels, encode, deadlineMs, nowMs } = search;
  const sample = takeTrialSample(pixels, quantity);
  if (sample === undefined || encode.lossless) return undefined;
  const usual = effortOf(encode, pixels);
  let judgingMs = 0;
  const estimates = await searchSettingsOnSample({
    criteria,
    efforts,
    nowMs,
    deadlineMs,
    async attempt(index, effort) {
      const tried = { ...encode, ...(effort === undefined ? usual : { effort }) };
      const whole = await encodeSample(search, sample, tried, settings[index] as EncoderSetting);
      const writtenMs = nowMs();
      const judged = await judge(whole.file, { pixels: sample.pixels, bytes: whole.bytes });
      judgingMs = sample.timeRatio * (nowMs() - writtenMs);
      return { ...judged, wholeMs: whole.ms };
    },
  });
  return { ...estimates, judgingMs };
}

/** Encodes a sample, and estimates the size and the time of the file of the whole picture. */
async function encodeSample(
  { nowMs, prepareSample }: SearchedPicture,
  { pixels, heads, bytesRatio, timeRatio }: TrialSample,
  encode: CommonEncoderSettings,
  setting: EncoderSetting,
): Promise<{ file: WrittenFile; bytes: number; ms: number }> {
  const write = (part: Pixels) =>
    encodeTrial({ pixels: part, encode, motion: {} }, prepareSample(part), setting);
  const startedMs = nowMs();
  const file = await write(pixels);
  const tookMs = nowMs() - startedMs;
  if (heads === undefined) return { file, bytes: bytesRatio * file.info.size, ms: timeRatio * tookMs };
  const ofHeads = await write(heads);
  const headsMs = nowMs() - startedMs - tookMs;
  const changeBytes = Math.max(0, file.info.size - ofHeads.info.size);
  const changeMs = Math.max(MIN_PAIR_TIME_SHARE * tookMs, tookMs - headsMs);
  return {
    file,
    bytes: ofHeads.info.size / heads.frames + bytesRatio * changeBytes,
    ms: headsMs / heads.frames + timeRatio * changeMs,
  };
}

async function encodeTrial(
  { pixels, encode, motion }: Pick<SearchedPicture, 'pixels' | 'encode' | 'motion'>,
  opened: Sharp,
  { paletteQuality, ...settings }: EncoderSetting,
): Promise<WrittenFile> {
  const pipeline = paletteQuality === undefined ? opened : await reduceToPalette(opened, paletteQuality);
  const options = { ...encode, ...effortOf(encode, pixels), ...settings };
  return encodeOutput(encodeWith(pipeline, options, motion, pixels));
}

/** Reduces a still picture to the colours that a palette of this quality needs. */
async function reduceToPalette(pipeline: Sharp, quality: number): Promise<Sharp> {
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
