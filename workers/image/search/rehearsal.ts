import type { OutputFormat } from '../../protocol.ts';
import { joinFrames, type Pixels, splitFrames } from '../pixels/pixels.ts';
import { DeadlineError } from '../refusal.ts';
import type { SearchedQuantity } from './settings.ts';
import { MIN_TRIAL_TIME_MS } from './time.ts';
import { type EncodingTrial, type SettingSequence, type TriedSetting, tryNextSetting } from './trials.ts';

/** A picture with fewer pixels is tried as a whole, because a sample would hardly be faster. */
const SAMPLED_FROM_PX = 1_000_000;
/**
 * Side of a sample tile. A sample is 64 such tiles from all over the picture, side by side. A scaled-down copy would
 * have finer detail.
 */
const TILE_PX = 64;
const TILES_A_SIDE = 8;
const MAX_TRIALS = 4;
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

/** The search is refused if a trial of the whole picture is estimated to take this many times the time left. */
const MAX_TIME_RATIO = 2;

/** Estimates for the whole picture from trials on a sample. */
export interface SampleEstimates {
  /** The value that the setting at `index` is expected to reach. */
  expected(index: number): number;
  /** The effort whose trials fit into the time left; undefined for the default effort. */
  effort: number | undefined;
  /** Whether there is time for only one trial of the whole picture. */
  isRushed: boolean;
}

interface RehearsalInput {
  format: OutputFormat;
  /** The default effort of the search; undefined: that of the encoder. */
  usualEffort: number | undefined;
  row: Pick<SettingSequence, 'count' | 'pick' | 'target' | 'tolerance' | 'expected' | 'isDoubtful'>;
  /** Number of pixels of the whole picture per pixel of the sample. */
  ratio: number;
  nowMs(): number;
  /** Milliseconds left for trials. */
  leftMs(): number;
  /** Tries a setting on the sample. */
  attempt(index: number, effort: number | undefined): Promise<EncodingTrial>;
}

/** A sample of a picture. */
export interface TrialSample {
  pixels: Pixels;
  /** The first frame of each run, for an animation that is sampled in runs. A file holds these frames completely. */
  heads?: Pixels;
}

/** The sample of a large animation has at most one of this many frames. */
const FRAMES_PER_SAMPLED = 8;
const MIN_SAMPLED_FRAMES = 2;
const MAX_SAMPLED_FRAMES = 24;
/**
 * Runs of consecutive frames by which a file size is estimated. A file holds only what has changed in a frame since the
 * last one.
 */
const RUNS = 3;
/** The most pixels of sampled frames, unless two frames a run have more: encoders of animations are slow. */
const MAX_SAMPLED_PX = 1_500_000;

/** A sample of a large picture by which a quantity is estimated. Undefined for a picture that is tried as a whole. */
export function takeTrialSample(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  if (pixels.frames > 1) return framesSampleOf(pixels, quantity);
  const tiles = tilesSampleOf(pixels);
  return tiles && { pixels: tiles };
}

function framesSampleOf(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  const isSmall = width * height * frames < SAMPLED_FROM_PX;
  if (isSmall || frames < FRAMES_PER_SAMPLED * MIN_SAMPLED_FRAMES) return undefined;
  const framesIn = (isSampled: (frame: number) => boolean) =>
    joinFrames(splitFrames(pixels).filter((_, frame) => isSampled(frame)));
  const affordable = Math.max(2 * RUNS, Math.floor(MAX_SAMPLED_PX / (width * height)));
  const sampled = Math.min(Math.ceil(frames / FRAMES_PER_SAMPLED), MAX_SAMPLED_FRAMES, affordable);
  const runLength = Math.floor(sampled / RUNS);
  if (quantity !== 'size' || runLength < 2) {
    const distance = Math.ceil(frames / sampled);
    return { pixels: framesIn((frame) => frame % distance === 0) };
  }
  const distance = Math.ceil(frames / RUNS);
  return {
    pixels: framesIn((frame) => frame % distance < runLength),
    heads: framesIn((frame) => frame % distance === 0),
  };
}

function tilesSampleOf({ data, width, height, channels, frames }: Pixels): Pixels | undefined {
  const sidePx = TILE_PX * TILES_A_SIDE;
  if (width * height < SAMPLED_FROM_PX || Math.min(width, height) < sidePx) return undefined;
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

/** Offset of a tile along a side of the picture. */
function placeOf(tile: number, sidePx: number): number {
  return Math.floor((tile * (sidePx - TILE_PX)) / (TILES_A_SIDE - 1));
}

/**
 * Searches for the setting on a sample. The time of each trial predicts how long the whole picture would take now,
 * because the same work takes many times as long on a busy host. If the default effort would not finish in time, a
 * lower one is chosen.
 * @throws DeadlineError if even the lowest effort is far too slow, so that the caller is refused early and not after
 *   ten seconds.
 */
export async function searchSettingsOnSample(rehearsal: RehearsalInput): Promise<SampleEstimates> {
  const { row, ratio, nowMs, leftMs, attempt } = rehearsal;
  const efforts = effortsDownFrom(rehearsal.usualEffort, rehearsal.format);
  let found: TriedSetting[] = [];
  let trials = 0;
  let level = 0;
  let wholeMs = 0;
  await tryNextSetting({
    ...row,
    hasTime: () => trials < MAX_TRIALS,
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
        // Earlier values are discarded, because files of another effort have other sizes.
        found = [];
        level += 1;
      }
    },
  });
  if (wholeMs > MAX_TIME_RATIO * (leftMs() + MIN_TRIAL_TIME_MS)) throw new DeadlineError();
  return {
    expected: expectationOf(found, row.expected),
    effort: efforts[level],
    isRushed: TRIALS_TO_FIT * wholeMs > leftMs(),
  };
}

/** The default effort, and those below it. */
function effortsDownFrom(usual: number | undefined, format: OutputFormat): (number | undefined)[] {
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
