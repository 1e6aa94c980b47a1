import type { OutputFormat } from '../../protocol.ts';
import { ANSWER_MS, MIN_TRIAL_TIME_MS } from './time.ts';
import { type EncodingTrial, type SettingSequence, type TriedSetting, tryNextSetting } from './trials.ts';

const MAX_TRIALS = 4;
/** The same where the whole picture can be tried only once, so that the time is left for it. */
const MAX_RUSHED_TRIALS = 2;
/** Number of trials of the whole picture that should fit into the time, because the first may miss the target. */
const TRIALS_TO_FIT = 2;

/**
 * Efforts from the default one downwards, 0 to 9. Undefined is the encoder's own default. The lowest effort takes at
 * most a quarter of the default's time.
 */
const EFFORTS: Readonly<Record<OutputFormat, readonly (number | undefined)[]>> = {
  jpeg: [undefined, 1, 0],
  png: [undefined, 3, 0],
  webp: [undefined, 3, 0],
  avif: [undefined, 4, 0],
  gif: [undefined, 3, 0],
  tiff: [undefined],
};

/** There is no time if a trial of the whole picture is estimated to take this many times the time left. */
const MAX_TIME_RATIO = 1.25;
/** The part of the time left that the trial of a smaller picture should take. */
const SURE_TIME_RATIO = 0.6;
/** Estimates for the whole picture from trials on a sample. */
export interface SampleEstimates {
  /** The value that the setting at `index` is expected to reach. */
  expected(index: number): number;
  /** The effort whose trials fit into the time left; undefined for the default effort. */
  effort: number | undefined;
  /** How long a trial of the whole picture is expected to take. */
  trialMs: number;
  /** The share of the picture that there is surely time for; absent if there is time for all of it. */
  timeShare?: number;
}

/** A trial on a sample. */
export interface SampleTrial extends EncodingTrial {
  /** How long the whole picture is expected to take now, in milliseconds. */
  wholeMs: number;
}

interface RehearsalInput {
  row: Pick<SettingSequence, 'count' | 'pick' | 'target' | 'tolerance' | 'expected' | 'isDoubtful'>;
  /** The efforts of the search from the highest one downwards: see `effortsOf`. */
  efforts: readonly (number | undefined)[];
  nowMs(): number;
  deadlineMs: number;
  /** Tries a setting on the sample. */
  attempt(index: number, effort: number | undefined): Promise<SampleTrial>;
}

/**
 * Searches for the setting on a sample. The time of each trial predicts how long the whole picture would take now,
 * because the same work takes many times as long on a busy host. If the default effort would not finish in time, a
 * lower one is chosen. If even the lowest effort is too slow, the search on the sample ends early.
 */
export async function searchSettingsOnSample(rehearsal: RehearsalInput): Promise<SampleEstimates> {
  const { row, efforts, nowMs, deadlineMs, attempt } = rehearsal;
  const trialsToFit = Math.min(TRIALS_TO_FIT, row.count);
  const leftMs = (keptMs = MIN_TRIAL_TIME_MS) => deadlineMs - keptMs - nowMs();
  let found: TriedSetting[] = [];
  let trials = 0;
  let level = 0;
  let wholeMs = 0;
  await tryNextSetting({
    ...row,
    hasTime(more) {
      if (level === efforts.length - 1 && timeShare() !== undefined) return false;
      const isRushed = TRIALS_TO_FIT * wholeMs > leftMs();
      return trials + more <= (isRushed ? MAX_RUSHED_TRIALS : MAX_TRIALS);
    },
    async attempt(index) {
      for (;;) {
        const trial = await attempt(index, efforts[level]);
        wholeMs = trial.wholeMs;
        trials += 1;
        const isLowest = level === efforts.length - 1;
        if (trialsToFit * wholeMs <= leftMs() || isLowest) {
          found.push({ index, value: trial.value });
          return trial;
        }
        // Earlier values are discarded, because files of another effort have other sizes.
        found = [];
        level += 1;
      }
    },
  });
  const share = timeShare();
  return {
    ...{ expected: expectationOf(found, row.expected), effort: efforts[level], trialMs: wholeMs },
    ...(share !== undefined && { timeShare: share }),
  };

  function timeShare(): number | undefined {
    const answerMs = Math.max(0, leftMs(ANSWER_MS));
    return wholeMs <= MAX_TIME_RATIO * answerMs ? undefined : (SURE_TIME_RATIO * answerMs) / wholeMs;
  }
}

/**
 * The efforts that a search may use, from the highest one downwards.
 * @param usual the default effort of the search; undefined: that of the encoder.
 */
export function effortsOf(
  usual: number | undefined,
  { format, effort: asked }: { format: OutputFormat; effort?: number | undefined },
): readonly (number | undefined)[] {
  if (asked !== undefined) return [undefined];
  return EFFORTS[format].filter((effort) => effort === undefined || usual === undefined || effort < usual);
}

/**
 * The expected value of a setting: the value of the nearest trial, moved along the curve of the encoder. Without a
 * curve, it is interpolated between the nearest two trials.
 */
function expectationOf(found: TriedSetting[], curve: SettingSequence['expected']): (index: number) => number {
  const points = found.toSorted((one, other) => one.index - other.index);
  if (curve === undefined) return (index) => between(points, index);
  return (index) => {
    const distance = (point: TriedSetting) => Math.abs(point.index - index);
    const [nearest] = points.toSorted((one, other) => distance(one) - distance(other)) as [TriedSetting];
    return index === nearest.index ? nearest.value : nearest.value + curve(index) - curve(nearest.index);
  };
}

/** Interpolates between two neighbours, and extrapolates beyond the ends. */
function between(points: readonly TriedSetting[], index: number): number {
  const above = points.findIndex((point) => point.index >= index);
  const right = Math.min(Math.max(1, above), points.length - 1);
  const [one, other] = [points[right - 1] ?? points[0], points[right]] as [TriedSetting, TriedSetting];
  if (one.index === other.index) return one.value + (index - one.index);
  return one.value + ((other.value - one.value) * (index - one.index)) / (other.index - one.index);
}
