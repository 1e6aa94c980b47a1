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
import { endsByItself, type SearchTime, TrialTime } from './time.ts';
import { type EncodingTrial, type SettingSequence, tryNextSetting } from './trials.ts';

/** An encoded file. Its height is that of all frames together. */
export interface WrittenFile {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** What a search needs to write files. */
export interface SearchedPicture extends SearchTime {
  pixels: Pixels;
  encode: CommonEncoderSettings;
  motion: AnimationPlayback;
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
export interface TriedFile {
  written: WrittenFile;
  setting: EncoderSetting;
  /** The effort that the search chose; absent for the default one. */
  effort: number | undefined;
}

/** The aim of a search, and how it judges a file. */
export interface Goal<J extends EncodingTrial> {
  quantity: SearchedQuantity;
  row: Omit<SettingSequence, 'hasTime' | 'attempt'>;
  /** Whether a lossless file is wanted where it is no larger than a lossy one. */
  wantsExact?: boolean;
  /** Judges a file of the whole picture, or a file of a sample whose whole picture is estimated to take `bytes`. */
  judge(file: WrittenFile, sample?: { pixels: Pixels; bytes: number }): Promise<J>;
}

/** The files of a search. */
export interface Attempts<J extends EncodingTrial> {
  /** The last file that reached the target. */
  best: (TriedFile & J) | undefined;
  /** The closest other file. */
  nearest: (TriedFile & J) | undefined;
  /** The number of trials of the whole picture. */
  trials: number;
  /**
   * Whether the search ended by itself at the default effort, so that a missed target cannot be reached.
   */
  isThorough: boolean;
}

/**
 * How far a setting may differ from its expectation, once the expectation is fitted to a trial of the whole picture: 10
 * % of the size, or of the remaining difference in likeness.
 */
const SAMPLE_MARGIN = 0.1;
/** A pair of frames takes at least this share of the time of its sample: measured differences are rough. */
const MIN_PAIR_TIME = 1 / 8;
const EXACT: EncoderSetting = { lossless: true };

/** Settings to try on the whole picture, and what a sample told of them. */
interface SearchPlan<J extends EncodingTrial> {
  search: SearchedPicture;
  settings: readonly EncoderSetting[];
  goal: Goal<J>;
  /** The effort of these settings if it differs from the default one of a search. */
  effort?: number;
  /** Absent for a picture that is tried as a whole. */
  found: Rehearsed | undefined;
}

/**
 * Tries settings on a sample, then on the whole picture with an effort that fits into the time. Settings that would
 * miss the target by their sample are tried on the whole picture only if no others were.
 * @throws DeadlineError if even the lowest effort is too slow, so that the caller is refused early and not after ten
 *   seconds. It tells the share of the picture that there is time for.
 */
export async function tryFiles<J extends EncodingTrial>(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  goal: Goal<J>,
): Promise<Attempts<J>> {
  const found = await rehearsed(search, settings, goal);
  const plans = await withExactPlan({ search, settings, goal, found });
  const timely = plans.filter((plan) => plan.found?.timeShare === undefined);
  if (timely.length === 0) throw new DeadlineError(undefined, Math.max(...plans.map(doableShareOf)));
  let attempts: Attempts<J> | undefined;
  for (const plan of timely) {
    if (attempts !== undefined && isSureToMiss(plan)) continue;
    const later = await tryWhole(plan);
    attempts = attempts === undefined ? later : joined(goal, attempts, later);
    if (attempts.best !== undefined) return attempts;
  }
  const wereAllTried = plans.every((plan) => timely.includes(plan) || isSureToMiss(plan));
  return { ...(attempts as Attempts<J>), isThorough: attempts?.isThorough === true && wereAllTried };
}

/**
 * Adds a lossless file to a plan, if one is wanted. It comes first if by the samples it is small enough and smaller
 * than the largest lossy file, or if it is smaller than any, and no file is small enough.
 */
async function withExactPlan<J extends EncodingTrial>(lossy: SearchPlan<J>): Promise<SearchPlan<J>[]> {
  const { search, settings, goal, found } = lossy;
  if (!goal.wantsExact) return [lossy];
  const { encode, pixels } = search;
  const effort =
    encode.effort ??
    Math.max(MIN_LOSSLESS_ANIMATION_EFFORT, effortOf(encode, pixels).effort ?? MIN_LOSSLESS_ANIMATION_EFFORT);
  const { expected: _, ...row } = goal.row;
  const exact: SearchPlan<J> = {
    search: { ...search, encode: { ...encode, effort } },
    settings: [EXACT],
    goal: { ...goal, row: { ...row, count: 1 } },
    effort,
    found: undefined,
  };
  if (found === undefined) return [lossy, exact];
  const isKnown = await endsByItself(async () => {
    exact.found = await rehearsed(exact.search, [EXACT], exact.goal, effortsOf(effort, encode));
    return true;
  });
  if (!isKnown || exact.found === undefined) return [lossy];
  const [least, most] = [found.expected(0), found.expected(settings.length - 1)];
  const isFirst = exact.found.expected(0) <= Math.min(Math.max(row.target, least), most) - SAMPLE_MARGIN;
  return isFirst ? [exact, lossy] : [lossy, exact];
}

/** Whether by its sample a plan misses the target. */
function isSureToMiss({ found, goal: { row } }: SearchPlan<EncodingTrial>): boolean {
  return found !== undefined && row.pick === 'last' && found.expected(0) > row.target + SAMPLE_MARGIN;
}

/** The share of the picture that a plan surely has time for, and whose file is surely small enough. */
function doableShareOf({ search, goal: { row }, found }: SearchPlan<EncodingTrial>): number {
  const { timeShare = 1, expected } = found as Rehearsed;
  return row.pick === 'last'
    ? Math.min(timeShare, sizeShareOf(search.pixels, row.target - expected(0)))
    : timeShare;
}

/** The attempts of two plans of which the first has not reached the target. */
function joined<J extends EncodingTrial>(goal: Goal<J>, one: Attempts<J>, other: Attempts<J>): Attempts<J> {
  const [first, second] = [one.nearest, other.nearest];
  const isNearer = first === undefined || (second !== undefined && isNearerThan(goal, second, first));
  return {
    best: other.best,
    nearest: isNearer ? second : first,
    trials: one.trials + other.trials,
    isThorough: other.best === undefined ? one.isThorough && other.isThorough : other.isThorough,
  };
}

function isNearerThan({ row }: Goal<EncodingTrial>, one: EncodingTrial, other: EncodingTrial): boolean {
  return row.pick === 'last' ? one.value < other.value : one.value > other.value;
}

/** Tries the settings of a plan on the whole picture. */
async function tryWhole<J extends EncodingTrial>({
  search,
  settings,
  goal,
  effort: planned,
  found,
}: SearchPlan<J>): Promise<Attempts<J>> {
  const { row, judge } = goal;
  const { nowMs, deadlineMs, improvesUntilMs } = search;
  const effort = found?.effort ?? planned;
  const fitting = effort === undefined ? search : { ...search, encode: { ...search.encode, effort } };
  let best: (TriedFile & J) | undefined;
  let nearest: (TriedFile & J) | undefined;
  let trials = 0;
  let judgingMs = found?.judgingMs ?? 0;
  const time = new TrialTime(
    { nowMs, deadlineMs, improvesUntilMs, trialMs: found === undefined ? 0 : found.trialMs + judgingMs },
    () => best !== undefined,
  );
  const isSettled = await endsByItself(() =>
    tryNextSetting({
      ...row,
      ...(found && { expected: found.expected, margin: SAMPLE_MARGIN }),
      hasTime: time.hasTime,
      async attempt(index) {
        const setting = settings[index] as EncoderSetting;
        const startedMs = nowMs();
        const opened = await search.prepare(time.timeoutMs(judgingMs));
        const file = await search.finish(await encoded(fitting, opened, setting));
        trials += 1;
        const writtenMs = nowMs();
        const judged = { written: file, setting, effort, ...(await judge(file)) };
        judgingMs = nowMs() - writtenMs;
        time.took(nowMs() - startedMs);
        if (judged.reaches) best = judged;
        else if (nearest === undefined || isNearerThan(goal, judged, nearest)) nearest = judged;
        return judged;
      },
    }),
  );
  // Of a single setting, no effort has a better file that reaches the target.
  const isBestEffort = found?.effort === undefined || (best !== undefined && settings.length === 1);
  return { best, nearest, trials, isThorough: isSettled && isBestEffort };
}

/** Estimates, and how long it is expected to take to judge a file of the whole picture. */
type Rehearsed = SampleEstimates & { judgingMs: number };

/** Searches for the setting on a sample first. Undefined for a picture that is tried as a whole. */
async function rehearsed(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  { quantity, row, judge }: Goal<EncodingTrial>,
  efforts = effortsOf(effortOf(search.encode, search.pixels).effort, search.encode),
): Promise<Rehearsed | undefined> {
  const { pixels, encode, deadlineMs, nowMs } = search;
  const sample = takeTrialSample(pixels, quantity);
  if (sample === undefined || encode.lossless) return undefined;
  const usual = effortOf(encode, pixels);
  let judgingMs = 0;
  const estimates = await searchSettingsOnSample({
    row,
    efforts,
    nowMs,
    deadlineMs,
    async attempt(index, effort) {
      const tried = { ...encode, ...(effort === undefined ? usual : { effort }) };
      const whole = await estimated(search, sample, tried, settings[index] as EncoderSetting);
      const writtenMs = nowMs();
      const judged = await judge(whole.file, { pixels: sample.pixels, bytes: whole.bytes });
      judgingMs = sample.timeRatio * (nowMs() - writtenMs);
      return { ...judged, wholeMs: whole.ms };
    },
  });
  return { ...estimates, judgingMs };
}

/** The file of a sample, and the estimated size and time of the file of the whole picture. */
async function estimated(
  { nowMs, prepareSample }: SearchedPicture,
  { pixels, heads, bytesRatio, timeRatio }: TrialSample,
  encode: CommonEncoderSettings,
  setting: EncoderSetting,
): Promise<{ file: WrittenFile; bytes: number; ms: number }> {
  const write = (part: Pixels) => encoded({ pixels: part, encode, motion: {} }, prepareSample(part), setting);
  const startedMs = nowMs();
  const file = await write(pixels);
  const tookMs = nowMs() - startedMs;
  if (heads === undefined) return { file, bytes: bytesRatio * file.info.size, ms: timeRatio * tookMs };
  const ofHeads = await write(heads);
  const headsMs = nowMs() - startedMs - tookMs;
  const changeBytes = Math.max(0, file.info.size - ofHeads.info.size);
  const changeMs = Math.max(MIN_PAIR_TIME * tookMs, tookMs - headsMs);
  return {
    file,
    bytes: ofHeads.info.size / heads.frames + bytesRatio * changeBytes,
    ms: headsMs / heads.frames + timeRatio * changeMs,
  };
}

async function encoded(
  { pixels, encode, motion }: Pick<SearchedPicture, 'pixels' | 'encode' | 'motion'>,
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
