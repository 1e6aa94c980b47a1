import type { OutputFormat } from '../../protocol.ts';
import { TooLate } from '../failure.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { LAST_CALL_MS } from './time.ts';
import { type Point, type Row, type Trial, tryOut } from './trials.ts';

/** Below this, a trial of the whole picture takes hardly longer than one of a sample. */
const SAMPLED_FROM_PX = 1_000_000;
/** A sample is 64 squares of 64 pixels from all over the picture, side by side: a copy made smaller would have finer detail. */
const TILE_PX = 64;
const TILES_A_SIDE = 8;
const MOST_TRIALS = 4;
/** Trials of the whole that there should be time for: the first may miss. */
const TRIALS_TO_FIT = 2;

/**
 * From the usual effort down, on the scale of 0 to 9; undefined is what the encoder takes unasked. The least takes a quarter
 * of the usual time or less.
 */
const EFFORTS: Readonly<Record<OutputFormat, readonly (number | undefined)[]>> = {
  jpeg: [undefined, 1, 0],
  png: [undefined, 3, 0],
  webp: [undefined, 3, 0],
  avif: [undefined, 4, 0],
  gif: [undefined, 3, 0],
  tiff: [undefined],
};

/** How many times longer than there is time a trial may seem to take, before it is not worth its start. */
const HOPELESS = 2;

/** What trials on a sample say of the whole picture. */
export interface Rehearsed {
  /** What a setting is expected to reach. */
  expected(index: number): number;
  /** Effort whose trials fit into the time that is left; undefined for the usual one. */
  effort: number | undefined;
  /** Whether there is time for one trial of the whole alone. */
  isRushed: boolean;
}

export interface Rehearsal {
  format: OutputFormat;
  row: Pick<Row, 'count' | 'wanted' | 'target' | 'tolerance' | 'expected'>;
  /** Pixels of the whole for each of the sample. */
  ratio: number;
  nowMs(): number;
  /** Time left to try in. */
  leftMs(): number;
  /** Tries a setting on the sample. */
  attempt(index: number, effort: number | undefined): Promise<Trial>;
}

/** Pixels that stand for a large still picture; undefined for one that is tried as a whole. */
export function sampleOf({ data, width, height, channels, frames }: Pixels): Pixels | undefined {
  const sidePx = TILE_PX * TILES_A_SIDE;
  if (frames > 1 || width * height < SAMPLED_FROM_PX || Math.min(width, height) < sidePx) return undefined;
  const sample = new Uint8Array(sidePx * sidePx * channels);
  const rowBytes = TILE_PX * channels;
  for (let y = 0; y < sidePx; y++) {
    const top = placeOf(Math.floor(y / TILE_PX), height) + (y % TILE_PX);
    for (let tile = 0; tile < TILES_A_SIDE; tile++) {
      const from = (top * width + placeOf(tile, width)) * channels;
      sample.set(data.subarray(from, from + rowBytes), (y * TILES_A_SIDE + tile) * rowBytes);
    }
  }
  return { data: sample, width: sidePx, height: sidePx, channels, frames };
}

/** Where a tile begins along a side of the picture. */
function placeOf(tile: number, sidePx: number): number {
  return Math.floor((tile * (sidePx - TILE_PX)) / (TILES_A_SIDE - 1));
}

/**
 * Looks for the setting on a sample, and sees by the time of each trial what the whole would take now: on a busy host the
 * same work takes many times as long. Where the usual effort would not end in time, a smaller one is taken.
 * @throws TooLate where not even the least effort could come near its time: the refusal costs nobody ten seconds.
 */
export async function rehearse(rehearsal: Rehearsal): Promise<Rehearsed> {
  const { row, ratio, nowMs, leftMs, attempt } = rehearsal;
  const efforts = EFFORTS[rehearsal.format];
  let found: Point[] = [];
  let trials = 0;
  let level = 0;
  let wholeMs = 0;
  await tryOut({
    ...row,
    hasTime: () => trials < MOST_TRIALS,
    async attempt(index) {
      for (;;) {
        const startedMs = nowMs();
        const trial = await attempt(index, efforts[level]);
        wholeMs = ratio * (nowMs() - startedMs);
        trials += 1;
        if (TRIALS_TO_FIT * wholeMs <= leftMs() || level === efforts.length - 1) {
          found.push({ index, value: trial.value });
          return trial;
        }
        // Files of another effort have other sizes.
        found = [];
        level += 1;
      }
    },
  });
  if (wholeMs > HOPELESS * (leftMs() + LAST_CALL_MS)) throw new TooLate();
  return {
    expected: expectationOf(found, row.expected),
    effort: efforts[level],
    isRushed: TRIALS_TO_FIT * wholeMs > leftMs(),
  };
}

/** By the nearest trial along the curve of the encoder; between the nearest two where it has none. */
function expectationOf(found: Point[], curve: Row['expected']): (index: number) => number {
  const points = found.toSorted((one, other) => one.index - other.index);
  const [first] = points as [Point, ...Point[]];
  if (curve === undefined) return (index) => between(points, index);
  return (index) => {
    const nearest = points.reduce(
      (best, point) => (Math.abs(point.index - index) < Math.abs(best.index - index) ? point : best),
      first,
    );
    return index === nearest.index ? nearest.value : nearest.value + curve(index) - curve(nearest.index);
  };
}

/** On the line through two neighbours, beyond the ends too. */
function between(points: readonly Point[], index: number): number {
  const right = Math.min(
    Math.max(
      1,
      points.findIndex((point) => point.index >= index),
    ),
    points.length - 1,
  );
  const [one, other] = [points[right - 1] ?? points[0], points[right]] as [Point, Point];
  if (one.index === other.index) return one.value + (index - one.index);
  return one.value + ((other.value - one.value) * (index - one.index)) / (other.index - one.index);
}
