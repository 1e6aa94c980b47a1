/** What a trial found out. */
export interface Trial {
  /** What was measured, on a scale on which it grows evenly. */
  value: number;
  reaches: boolean;
}

/** A row of settings, from the smallest file to the largest, of which the last or the first that reaches a target is looked for. */
export interface Row {
  count: number;
  /** The last setting that reaches it (`size` grows towards the target), or the first (`likeness` does). */
  wanted: 'last' | 'first';
  /** What is to be reached, on the scale of the values. */
  target: number;
  /** How far on the safe side of the target is near enough. */
  tolerance: number;
  /** What a setting is expected to reach, on the same scale; undefined where nothing is known. */
  expected?: (index: number) => number;
  /** Whether there is time for another trial. */
  hasTime(): boolean;
  attempt(index: number): Promise<Trial>;
}

/** A setting that was tried. */
export interface Point {
  index: number;
  value: number;
}

/** Trials that go by what is expected; after them every one halves what is left. */
const GUIDED_TRIALS = 5;

/**
 * Looks for a setting with few trials: the first goes where the expectation says, the next where it says once it has been moved
 * and tilted to what was found. Ends when no setting is left between one that reaches the target and one that does
 * not, when one is near enough, or when time is up. Where even the first setting is expected to fail, that is tried next.
 */
export async function tryOut(row: Row): Promise<void> {
  const { count, wanted, target, tolerance } = row;
  const found: Point[] = [];
  let [low, high] = [-1, count];
  while (high - low > 1) {
    const index = found.length < GUIDED_TRIALS ? guess(row, found, low, high) : (low + high) >> 1;
    const { value, reaches } = await row.attempt(index);
    found.push({ index, value });
    if (reaches === (wanted === 'last')) low = index;
    else high = index;
    const isNear = reaches && Math.abs(value - target) <= tolerance;
    if (isNear || !row.hasTime()) return;
  }
}

/** The setting between two others that is expected to be nearest to the middle of what is near enough. */
function guess(
  { expected, wanted, target, tolerance }: Row,
  found: Point[],
  low: number,
  high: number,
): number {
  if (expected === undefined) return (low + high) >> 1;
  const aim = target + (wanted === 'last' ? -tolerance : tolerance) / 2;
  const predicted = fitted(expected, found);
  let best = low + 1;
  for (let index = low + 1; index < high; index++) {
    if (Math.abs(predicted(index) - aim) < Math.abs(predicted(best) - aim)) best = index;
  }
  return best;
}

/** The expectation, moved to what was found, and tilted where two trials say by how much. */
function fitted(expected: (index: number) => number, found: Point[]): (index: number) => number {
  const [last, before] = [found.at(-1), found.at(-2)];
  if (last === undefined) return expected;
  const run = before === undefined ? 0 : expected(last.index) - expected(before.index);
  const tilt = before === undefined || run === 0 ? 1 : (last.value - before.value) / run;
  const steepness = tilt > 0 ? tilt : 1;
  return (index) => last.value + steepness * (expected(index) - expected(last.index));
}
