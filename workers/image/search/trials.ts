/** The result of one trial: the value that a setting reaches. */
export interface EncodingTrial {
  /** The measured value, on a scale that is about linear in the logarithm of the file size. */
  value: number;
  reaches: boolean;
}

/**
 * A search in a list of settings, from the smallest file to the largest. It looks for the last or the first setting
 * that reaches a target.
 */
export interface SettingSearch {
  count: number;
  /** Whether the last setting that reaches the target is wanted (for `size`), or the first one (for `likeness`). */
  pick: 'last' | 'first';
  /** The target, on the scale of the values. */
  target: number;
  /** The largest distance from the target, on its safe side, at which a value is close enough. */
  tolerance: number;
  /**
   * The value that a setting is expected to reach, on the scale of the measured values; undefined if there is no
   * estimate.
   */
  expected?: (index: number) => number;
  /**
   * A setting whose expected value misses the target by more than this, on the scale of the values, is expected to fail
   * and is not tried. If absent, the search continues until a setting fails.
   */
  margin?: number;
  /**
   * Whether even the first setting may fail. Without an expectation, the first setting is then tried before any other.
   */
  firstMayFail?: boolean;
  /** Whether there is time for this number of further trials. */
  hasTime(trials: number): boolean;
  attempt(index: number): Promise<EncodingTrial>;
}

/** A setting that was tried, and the value that it reached. */
export interface TriedSetting {
  index: number;
  value: number;
}

/** The number of trials that follow the expectation. Every later trial bisects the remaining settings. */
const GUIDED_TRIALS = 5;
/** The distance from the target, on its safe side, at which a trial aims, as a multiple of the tolerance. */
const USUAL_AIM_DISTANCE = 0.5;
/**
 * The distance at which the last trial aims, as a multiple of the tolerance, if no other trial has reached the target.
 */
const CAUTIOUS_AIM_DISTANCE = 8;

/**
 * Searches for a setting with few trials. The first trial is the setting that the expectation suggests. For each
 * further trial, the expectation is shifted and tilted to fit the results.
 *
 * The search ends in four cases:
 * - No setting is left between one that reaches the target and one that does not.
 * - A setting is close enough to the target.
 * - The next better setting is expected to fail.
 * - The time is over.
 *
 * If even the first setting of the list, which reaches the target most easily, is expected to fail, it is tried next.
 * An unreachable target therefore costs one or two trials. If there is time for only one more trial and none has
 * reached the target, that trial aims far on the safe side of it. A file that such an aim has found counts as one of a
 * search that was cut short, because with more time another setting would have been tried.
 * @returns whether the search ended by itself, and not for lack of time.
 */
export async function searchSetting(search: SettingSearch): Promise<boolean> {
  const { count, pick, target, tolerance } = search;
  const found: TriedSetting[] = [];
  let [low, high] = [-1, count];
  let isReached = false;
  let aimedFar = false;
  const indexAt = (aim: number) =>
    found.length < GUIDED_TRIALS ? guessBestIndex(search, found, low, high, aim) : (low + high) >> 1;
  while (high - low > 1) {
    const usual = indexAt(USUAL_AIM_DISTANCE);
    const index = isReached || search.hasTime(2) ? usual : indexAt(CAUTIOUS_AIM_DISTANCE);
    aimedFar ||= index !== usual;
    const { value, reaches } = await search.attempt(index);
    found.push({ index, value });
    isReached ||= reaches;
    if (reaches === (pick === 'last')) low = index;
    else high = index;
    const isNear = reaches && Math.abs(value - target) <= tolerance;
    const isBest =
      reaches && high - low > 1 && isExpectedToFail(search, found, pick === 'last' ? low + 1 : high - 1);
    if (isNear || isBest) return !aimedFar;
    if (high - low > 1 && !search.hasTime(1)) return false;
  }
  return !(isReached && aimedFar);
}

/**
 * The untried setting between `low` and `high` whose expected value is nearest to the aim. The aim lies on the safe
 * side of the target.
 * @param distance the distance of the aim from the target, as a multiple of the tolerance.
 */
function guessBestIndex(
  { expected, pick, target, tolerance, firstMayFail = false }: SettingSearch,
  found: TriedSetting[],
  low: number,
  high: number,
  distance: number,
): number {
  if (expected === undefined) return firstMayFail && found.length === 0 ? 0 : (low + high) >> 1;
  const aim = target + (pick === 'last' ? -distance : distance) * tolerance;
  const predicted = fitExpectation(expected, found);
  let best = low + 1;
  for (let index = low + 1; index < high; index++) {
    if (Math.abs(predicted(index) - aim) < Math.abs(predicted(best) - aim)) best = index;
  }
  return best;
}

/** Whether the fitted expectation of a setting misses the target by more than the margin. */
function isExpectedToFail(
  { expected, pick, target, margin }: SettingSearch,
  found: TriedSetting[],
  index: number,
): boolean {
  if (expected === undefined || margin === undefined) return false;
  const beyond = fitExpectation(expected, found)(index) - target;
  return (pick === 'last' ? beyond : -beyond) > margin;
}

/** Fits the expectation to the trials: shifts it to the last result, and tilts it if two trials show its slope. */
function fitExpectation(
  expected: (index: number) => number,
  found: TriedSetting[],
): (index: number) => number {
  const [last, before] = [found.at(-1), found.at(-2)];
  if (last === undefined) return expected;
  const run = before === undefined ? 0 : expected(last.index) - expected(before.index);
  const tilt = before === undefined || run === 0 ? 1 : (last.value - before.value) / run;
  const steepness = tilt > 0 ? tilt : 1;
  return (index) => last.value + steepness * (expected(index) - expected(last.index));
}
