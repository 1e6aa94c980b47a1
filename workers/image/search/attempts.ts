import { LOSSLESS_ANIMATION_EFFORT } from '../encode/effort.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { DeadlineError } from '../refusal.ts';
import {
  type EncodedSample,
  encodeSample,
  encodeWhole,
  type SearchedPicture,
  searchEffortOptions,
  type WrittenFile,
} from './encodings.ts';
import { effortsOf, type SampleEstimates, searchSettingsOnSample } from './rehearsal.ts';
import { outdoneRefusal } from './rivals.ts';
import { sampleOfFirstFrames, takeTrialSample } from './sample.ts';
import { type EncoderSetting, losslessLevelsLadder, type SearchedQuantity } from './settings.ts';
import { completesInTime, TrialTime } from './time.ts';
import { type EncodingTrial, type SettingSearch, searchSetting } from './trials.ts';

/** A file that was tried, and the settings that made it. */
export interface TriedFile {
  written: WrittenFile;
  setting: EncoderSetting;
  /** The effort that the search chose; undefined for the default effort. */
  effort: number | undefined;
}

/**
 * The settings among which a search chooses, from the smallest file to the largest, with the values that they are
 * expected to reach.
 */
export interface SettingLadder {
  settings: readonly EncoderSetting[];
  expected?: (index: number) => number;
  /**
   * The natural logarithm of the typical size of a file in bytes at a setting. A constant that depends on the picture
   * is left out.
   */
  typicalLogBytes?: (index: number) => number;
  /** The tolerance of the search, if the settings lie farther apart than those of other searches. */
  tolerance?: number;
}

/** The target of a search, and how the search judges a file. */
export interface SearchGoal<J extends EncodingTrial> {
  quantity: SearchedQuantity;
  criteria: Omit<SettingSearch, 'count' | 'expected' | 'hasTime' | 'attempt'>;
  ladder: SettingLadder;
  /** Whether a drawing is encoded losslessly. Its colours may be reduced first. */
  keepsDrawings?: boolean;
  /** Judges a file of the whole picture, or a file of a sample whose whole picture is estimated to take `bytes`. */
  judge(file: WrittenFile, sample?: { pixels: Pixels; bytes: number }): Promise<J>;
}

/** The most important files that a search has tried. */
export interface SearchAttempts<J extends EncodingTrial> {
  /** The last file that reached the target. */
  best: (TriedFile & J) | undefined;
  /** The file that came closest to the target without reaching it. */
  nearest: (TriedFile & J) | undefined;
  /** The number of trials that encoded the whole picture, and not only a sample of it. */
  trials: number;
  /**
   * Whether the search ended by itself at the default effort, so that a missed target cannot be reached.
   */
  isThorough: boolean;
  /** Whether the search took the picture for a drawing, and not for a photograph. */
  isDrawing?: boolean;
  /**
   * The share of the pixels that could be tried in time; present if nothing was tried because the whole picture takes
   * too long.
   */
  timeShare?: number;
  /**
   * The expected value of the smallest file; present if nothing was tried because even that file is expected to miss
   * the target.
   */
  leastExpected?: number;
}

/**
 * The largest difference between the value of a setting and its expected value: 10 % of the size, or of the difference
 * from full likeness. It applies once the expectation was fitted to a trial of the whole picture.
 */
const EXPECTATION_MARGIN = 0.1;
/**
 * If the smallest file of a sample of an animation exceeds the target by this difference of logarithms (four thirds of
 * the size), the file of the whole animation will exceed it too. The whole animation is then not tried, because a trial
 * takes seconds.
 */
const HOPELESS_MARGIN = 0.3;

/** While another search has a file, a trial is begun only if there is time for this many like it. */
const MIN_FITTING_TRIALS_WITH_RIVAL = 2;
/** The expected CPU milliseconds of such a search's first trial if the picture is tried without a sample. */
const ASSUMED_TRIAL_CPU_MS = 1_250;

/** The settings to try on the whole picture, and the estimates for them from a sample. */
interface SearchPlan<J extends EncodingTrial> {
  search: SearchedPicture;
  ladder: SettingLadder;
  goal: SearchGoal<J>;
  /** The efforts that the search may use, from the highest one downwards; the first one is the default. */
  efforts: readonly (number | undefined)[];
  /** The file that the last setting makes of the sample; absent if it is not known yet. */
  largest?: EncodedSample;
  /** The estimates; undefined for a picture that is tried without a sample. */
  estimates?: SampleRehearsal | undefined;
}

/**
 * Tries settings on a sample, then on the whole picture with an effort that fits into the time. Settings that would
 * miss the target according to their sample are tried on the whole picture only if no others were. Nothing is tried if
 * even the lowest effort is too slow, so that the caller is refused early and not after ten seconds.
 */
export async function trySettings<J extends EncodingTrial>(
  search: SearchedPicture,
  goal: SearchGoal<J>,
): Promise<SearchAttempts<J>> {
  const plans: SearchPlan<J>[] = [];
  let attempts: SearchAttempts<J> | undefined;
  const intended = await makePlans(search, goal);
  const isDrawing = intended.length > 1;
  for (const plan of intended) {
    const rehearsed = { ...plan, estimates: await rehearseOnSample(plan) };
    plans.push(rehearsed);
    if (hasTooLittleTime(rehearsed)) break;
    if (isExpectedToMiss(rehearsed, EXPECTATION_MARGIN)) continue;
    const turn = await search.takeTurn?.(rehearsed.estimates);
    const timed = { ...rehearsed, search: { ...rehearsed.search, ...turn } };
    attempts = joinAttempts(goal, attempts, await tryWholePicture(timed));
    if (attempts.best !== undefined) return attempts;
  }
  if (attempts === undefined) {
    const open = plans.filter(
      (plan) => search.pixels.frames === 1 || !isExpectedToMiss(plan, HOPELESS_MARGIN),
    );
    const [timely] = open
      .filter((plan) => !hasTooLittleTime(plan))
      .toSorted((one, other) => leastExpectedOf(one) - leastExpectedOf(other));
    if (timely === undefined) {
      return {
        ...{ best: undefined, nearest: undefined, trials: 0, isThorough: open.length === 0, isDrawing },
        ...(open.length > 0
          ? { timeShare: Math.max(...open.map(({ estimates }) => estimates?.timeShare ?? 0)) }
          : { leastExpected: Math.min(...plans.map(leastExpectedOf)) }),
      };
    }
    attempts = await tryWholePicture(timely);
  }
  const wereAllTried = plans.every(
    (plan) => !hasTooLittleTime(plan) || isExpectedToMiss(plan, EXPECTATION_MARGIN),
  );
  return { ...attempts, isThorough: attempts.isThorough && wereAllTried, isDrawing };
}

/**
 * The settings to try, in order of preference. A picture counts as a drawing if its lossless file is smaller than its
 * largest lossy file. At the same size, a lossless file with fewer colours then looks better than any lossy file.
 */
async function makePlans<J extends EncodingTrial>(
  search: SearchedPicture,
  goal: SearchGoal<J>,
): Promise<SearchPlan<J>[]> {
  const { encode, pixels } = search;
  const usual = searchEffortOptions(encode, pixels).effort;
  const plan: SearchPlan<J> = { search, ladder: goal.ladder, goal, efforts: effortsOf(usual, encode) };
  if (!goal.keepsDrawings) return [plan];
  const { effort = LOSSLESS_ANIMATION_EFFORT } = encode;
  const exactly = { ...search, encode: { ...encode, effort } };
  const sample = takeTrialSample(pixels, goal.quantity) ?? sampleOfFirstFrames(pixels);
  const exact = await encodeSample(exactly, sample, { lossless: true });
  const lossy = await encodeSample(search, sample, goal.ladder.settings.at(-1) as EncoderSetting);
  if (exact.bytes >= lossy.bytes) return [plan];
  const ladder = losslessLevelsLadder(Math.log(exact.bytes));
  return [{ ...plan, search: exactly, ladder, efforts: [effort], largest: exact }, plan];
}

/** Whether the time is too short for the whole picture, even at the lowest effort. */
function hasTooLittleTime({ estimates }: SearchPlan<EncodingTrial>): boolean {
  return estimates?.timeShare !== undefined;
}

/** Whether the smallest file of a plan misses the target by more than a margin, according to its sample. */
function isExpectedToMiss(plan: SearchPlan<EncodingTrial>, margin: number): boolean {
  const { pick, target } = plan.goal.criteria;
  return plan.estimates !== undefined && pick === 'last' && leastExpectedOf(plan) > target + margin;
}

function leastExpectedOf({ estimates }: SearchPlan<EncodingTrial>): number {
  return estimates?.expected(0) ?? Number.POSITIVE_INFINITY;
}

/** Joins the attempts of two plans of which the first has not reached the target. */
function joinAttempts<J extends EncodingTrial>(
  goal: SearchGoal<J>,
  one: SearchAttempts<J> | undefined,
  other: SearchAttempts<J>,
): SearchAttempts<J> {
  if (one === undefined) return other;
  const [first, second] = [one.nearest, other.nearest];
  const isNearer = first === undefined || (second !== undefined && isNearerThan(goal, second, first));
  return {
    best: other.best,
    nearest: isNearer ? second : first,
    trials: one.trials + other.trials,
    isThorough: one.isThorough && other.isThorough,
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
async function tryWholePicture<J extends EncodingTrial>({
  search,
  ladder: { settings, ...ladder },
  goal,
  efforts,
  estimates,
}: SearchPlan<J>): Promise<SearchAttempts<J>> {
  const { criteria, judge } = goal;
  const { clock, takeTurn } = search;
  const limits = { bytesToBeat: Number.POSITIVE_INFINITY, ...search };
  const effort = estimates?.effort ?? efforts[0];
  const atEffort = effort === undefined ? search : { ...search, encode: { ...search.encode, effort } };
  let best: (TriedFile & J) | undefined;
  let nearest: (TriedFile & J) | undefined;
  let trials = 0;
  let judgingCpuMs = estimates?.judgingCpuMs ?? 0;
  const hasRival = () => limits.bytesToBeat < Number.POSITIVE_INFINITY;
  const firstCpuMs = estimates?.trialCpuMs ?? (hasRival() ? ASSUMED_TRIAL_CPU_MS : 0);
  const time = new TrialTime(limits, firstCpuMs, () => best !== undefined);
  const isSettled = await completesInTime(() =>
    searchSetting({
      ...criteria,
      ...ladder,
      count: settings.length,
      ...(estimates && { expected: estimates.expected, margin: EXPECTATION_MARGIN }),
      hasTime: time.hasTime,
      async attempt(index) {
        // In a thread, an encoder cannot be interrupted. A late trial would delay the file of the other search beyond
        // the deadline.
        if (hasRival() && !time.hasTime(MIN_FITTING_TRIALS_WITH_RIVAL)) throw new DeadlineError();
        const setting = settings[index] as EncoderSetting;
        const beganCpuMs = clock.cpuMs();
        const file = await encodeWhole(atEffort, setting, time.timeoutMs(judgingCpuMs));
        trials += 1;
        const writtenCpuMs = clock.cpuMs();
        const judged = { written: file, setting, effort, ...(await judge(file)) };
        const judgedCpuMs = clock.cpuMs();
        const trialCpuMs = judgedCpuMs - beganCpuMs;
        judgingCpuMs = judgedCpuMs - writtenCpuMs;
        time.recordTrial(trialCpuMs);
        if (takeTurn !== undefined && estimates === undefined && trials === 1)
          Object.assign(
            limits,
            await takeTurn({
              bytes: expectedBytes({ settings, ...ladder }, goal, index, judged),
              trialCpuMs,
            }),
          );
        if (judged.reaches) best = judged;
        else if (file.info.size >= limits.bytesToBeat) throw outdoneRefusal();
        else if (nearest === undefined || isNearerThan(goal, judged, nearest)) nearest = judged;
        return judged;
      },
    }),
  );
  return { best, nearest, trials, isThorough: isSettled && effort === efforts[0] };
}

/**
 * The size that the file of a search is expected to have after its first trial.
 * @param index that of the setting that was tried.
 */
function expectedBytes(
  { settings, expected, typicalLogBytes }: SettingLadder,
  { criteria: { target } }: SearchGoal<EncodingTrial>,
  index: number,
  { value, written }: TriedFile & EncodingTrial,
): number {
  if (expected === undefined || typicalLogBytes === undefined) return written.info.size;
  const missedBy = (other: number) => Math.abs(value + expected(other) - expected(index) - target);
  const nearest = settings.reduce(
    (best, _, other) => (missedBy(other) < missedBy(best) ? other : best),
    index,
  );
  return written.info.size * Math.exp(typicalLogBytes(nearest) - typicalLogBytes(index));
}

/** The estimates from a sample, and how much of the CPU time of a trial judging its file is expected to take. */
type SampleRehearsal = SampleEstimates & { judgingCpuMs: number };

/** Searches for the setting on a sample. The result is undefined for a picture that is tried without a sample. */
async function rehearseOnSample({
  search,
  ladder: { settings, ...ladder },
  goal: { quantity, criteria, judge },
  efforts,
  largest,
}: SearchPlan<EncodingTrial>): Promise<SampleRehearsal | undefined> {
  const { pixels, encode, deadlineMs, clock } = search;
  const sample = takeTrialSample(pixels, quantity);
  if (sample === undefined || encode.lossless) return undefined;
  const usual = searchEffortOptions(encode, pixels);
  let judgingCpuMs = 0;
  const ofSample = await searchSettingsOnSample({
    criteria: { ...criteria, ...ladder, count: settings.length },
    efforts,
    clock,
    deadlineMs,
    async attempt(index, effort) {
      const atEffort = { ...search, encode: { ...encode, ...(effort === undefined ? usual : { effort }) } };
      const isLargest = index === settings.length - 1;
      const encodedSample =
        (isLargest ? largest : undefined) ??
        (await encodeSample(atEffort, sample, settings[index] as EncoderSetting));
      const writtenCpuMs = clock.cpuMs();
      const judged = await judge(encodedSample.file, { pixels: sample.pixels, bytes: encodedSample.bytes });
      judgingCpuMs = sample.timeRatio * (clock.cpuMs() - writtenCpuMs);
      return { ...judged, bytes: encodedSample.bytes, wholeCpuMs: encodedSample.cpuMs };
    },
  });
  return { ...ofSample, trialCpuMs: ofSample.trialCpuMs + judgingCpuMs, judgingCpuMs };
}
