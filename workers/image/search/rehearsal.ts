import type { OutputFormat } from '../../protocol.ts';
import { REACHED_TARGET_RESERVE_MS, RESPONSE_RESERVE_MS, type SearchTime } from './time.ts';
import { type EncodingTrial, type SettingSearch, searchSetting, type TriedSetting } from './trials.ts';

const MAX_SAMPLE_TRIALS = 4;
/** The number of trials of the whole picture that should fit into the time, because the first may miss the target. */
const MIN_WHOLE_TRIALS = 2;

/**
 * The efforts of a search from the default one downwards, 0 to 9. Undefined means the encoder's own default. The lowest
 * effort takes at most a quarter of the default's time.
 */
const EFFORTS_BY_FORMAT: Readonly<Record<OutputFormat, readonly (number | undefined)[]>> = {
  jpeg: [undefined, 1, 0],
  png: [undefined, 3, 0],
  webp: [undefined, 3, 0],
  avif: [undefined, 4, 0],
  gif: [undefined, 3, 0],
  tiff: [undefined],
};

/**
 * A trial of the whole picture is begun if its estimated time is at most this many times the time left. The estimate is
 * rough, so a trial that seems slightly too long may be in time.
 */
const MAX_TRIAL_TIME_RATIO = 1.25;
/**
 * If the whole picture takes too long, a smaller picture is proposed. A trial of it should take this share of the time
 * that is left.
 */
const SAFE_TRIAL_TIME_RATIO = 0.6;
/** Estimates for the whole picture from trials on a sample. */
export interface SampleEstimates {
  /** The value that the setting at `index` is expected to reach. */
  expected(index: number): number;
  /** The effort whose trials fit into the time left; undefined for the default effort. */
  effort: number | undefined;
  /** The expected CPU milliseconds of a trial of the whole picture. */
  trialCpuMs: number;
  /**
   * The expected size of the smallest file that reaches the target. If no trial reached it, the expected size of the
   * largest file.
   */
  bytes: number;
  /** The share of the pixels that could be tried in time; absent if there is time for the whole picture. */
  timeShare?: number;
}

/** The result of a trial on a sample. */
export interface SampleTrial extends EncodingTrial {
  /** The bytes that the file of the whole picture is expected to have. */
  bytes: number;
  /** The CPU milliseconds that the whole picture is expected to take. */
  wholeCpuMs: number;
}

interface RehearsalInput extends Pick<SearchTime, 'clock' | 'deadlineMs'> {
  criteria: Pick<SettingSearch, 'count' | 'pick' | 'target' | 'tolerance' | 'expected' | 'firstMayFail'>;
  /** The efforts of the search from the highest one downwards: see `effortsOf`. */
  efforts: readonly (number | undefined)[];
  /** Tries a setting on the sample. */
  attempt(index: number, effort: number | undefined): Promise<SampleTrial>;
}

/**
 * Searches for the setting on a sample. The CPU time of each trial, and the present pace, predict how long the whole
 * picture would take. If the default effort would not finish in time, a lower one is chosen. If even the lowest effort
 * is too slow, the search on the sample ends early.
 */
export async function searchSettingsOnSample(rehearsal: RehearsalInput): Promise<SampleEstimates> {
  const { criteria, efforts, clock, deadlineMs, attempt } = rehearsal;
  const trialsToFit = Math.min(MIN_WHOLE_TRIALS, criteria.count);
  const leftMs = (keptMs = REACHED_TARGET_RESERVE_MS) => deadlineMs - keptMs - clock.nowMs();
  const wholeMs = () => clock.expectedMs(wholeCpuMs);
  let found: TriedSetting[] = [];
  let trials = 0;
  let level = 0;
  let wholeCpuMs = 0;
  let tried: SampleTrial[] = [];
  let timeShare: number | undefined;
  await searchSetting({
    ...criteria,
    // Only a search that will try nothing on the whole picture tries fewer settings for lack of time. The estimates,
    // and thus the file, do not otherwise depend on the pace.
    hasTime(more) {
      if (level === efforts.length - 1) timeShare ??= measureTimeShare();
      return timeShare === undefined && trials + more <= MAX_SAMPLE_TRIALS;
    },
    async attempt(index) {
      for (;;) {
        const trial = await attempt(index, efforts[level]);
        wholeCpuMs = trial.wholeCpuMs;
        trials += 1;
        const isLowest = level === efforts.length - 1;
        if (trialsToFit * wholeMs() <= leftMs() || isLowest) {
          found.push({ index, value: trial.value });
          tried.push(trial);
          return trial;
        }
        // Earlier values are discarded, because files of another effort have other sizes.
        found = [];
        tried = [];
        level += 1;
      }
    },
  });
  timeShare ??= measureTimeShare();
  return {
    ...{ expected: expectationOf(found, criteria.expected), effort: efforts[level], trialCpuMs: wholeCpuMs },
    bytes: expectedTargetBytes(tried),
    ...(timeShare !== undefined && { timeShare }),
  };

  function measureTimeShare(): number | undefined {
    const answerMs = Math.max(0, leftMs(RESPONSE_RESERVE_MS));
    const neededMs = wholeMs();
    return neededMs <= MAX_TRIAL_TIME_RATIO * answerMs
      ? undefined
      : (SAFE_TRIAL_TIME_RATIO * answerMs) / neededMs;
  }
}

function expectedTargetBytes(tried: readonly SampleTrial[]): number {
  const sizes = tried.filter(({ reaches }) => reaches).map(({ bytes }) => bytes);
  return sizes.length > 0 ? Math.min(...sizes) : Math.max(0, ...tried.map(({ bytes }) => bytes));
}

/**
 * The efforts that a search may use, from the highest one downwards.
 * @param usual the default effort of the search; undefined for that of the encoder.
 */
export function effortsOf(
  usual: number | undefined,
  { format, effort: requested }: { format: OutputFormat; effort?: number | undefined },
): readonly (number | undefined)[] {
  if (requested !== undefined) return [undefined];
  return EFFORTS_BY_FORMAT[format].filter(
    (effort) => effort === undefined || usual === undefined || effort < usual,
  );
}

/**
 * The expected value of a setting: the value of the nearest trial, moved along the curve of the encoder. Without a
 * curve, the value is interpolated between the two nearest trials.
 */
function expectationOf(found: TriedSetting[], curve: SettingSearch['expected']): (index: number) => number {
  const points = found.toSorted((one, other) => one.index - other.index);
  if (curve === undefined) return (index) => interpolatedValue(points, index);
  return (index) => {
    const distance = (point: TriedSetting) => Math.abs(point.index - index);
    const [nearest] = points.toSorted((one, other) => distance(one) - distance(other)) as [TriedSetting];
    return index === nearest.index ? nearest.value : nearest.value + curve(index) - curve(nearest.index);
  };
}

/**
 * The value at an index, interpolated between two neighbouring trials, or extrapolated beyond the first or last one.
 */
function interpolatedValue(points: readonly TriedSetting[], index: number): number {
  const above = points.findIndex((point) => point.index >= index);
  const right = Math.min(Math.max(1, above), points.length - 1);
  const [one, other] = [points[right - 1] ?? points[0], points[right]] as [TriedSetting, TriedSetting];
  if (one.index === other.index) return one.value + (index - one.index);
  return one.value + ((other.value - one.value) * (index - one.index)) / (other.index - one.index);
}
