import { joinFrames, type Pixels, splitFrames } from '../pixels/pixels.ts';
import type { SearchedQuantity } from './settings.ts';

/** A part of a picture that is encoded in its place, because it takes less time. */
export interface TrialSample {
  pixels: Pixels;
  /**
   * The ratio of the whole picture to the sample, in the size of a file and in the time to encode it. The size is that
   * of the sample without `pairFirstFrames`.
   */
  bytesRatio: number;
  timeRatio: number;
  /**
   * The first frame of each pair, if the sample consists of pairs of frames. An animation stores it completely, and of
   * the second frame only the changes.
   */
  pairFirstFrames?: Pixels;
}

/** A picture of at least this many pixels is sampled. For a smaller one, a sample would hardly be faster. */
const MIN_SAMPLED_PICTURE_PX = 1_000_000;
/**
 * The side of a sample tile. A sample is 64 such tiles from all over the picture, side by side. A scaled-down copy
 * would not do, because its detail is finer.
 */
const TILE_EDGE_PX = 64;
const TILES_PER_SIDE = 8;

/** A sample of a large animation has at most one in this many frames. */
const FRAMES_PER_SAMPLED_FRAME = 8;
const MIN_SAMPLED_FRAMES = 2;
const MAX_SAMPLED_FRAMES = 24;
/** The fewest pairs of consecutive frames by which a file size is estimated. */
const MIN_FRAME_PAIRS = 3;
/**
 * The most pixels of all sampled frames together, because encoders of animations are slow. Three pairs of frames may
 * have more.
 */
const MAX_SAMPLED_FRAMES_PX = 1_500_000;
/**
 * Only every n-th pixel is compared with the same pixel of the frame before. The number is a prime, so that pixels of
 * every column are compared.
 */
const COMPARED_PIXEL_STEP = 7;
/**
 * The smallest change that is assumed of a frame, because a frame that is equal to the one before also takes some
 * bytes.
 */
const MIN_CHANGED_SHARE = 0.001;

/**
 * Takes a sample of a large picture, from which a quantity is estimated. The result is undefined for a picture that is
 * tried without a sample.
 */
export function takeTrialSample(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  if (width * height * frames < MIN_SAMPLED_PICTURE_PX) return undefined;
  if (frames > 1) return sampleFrames(pixels, quantity);
  const tiles = sampleTiles(pixels);
  if (tiles === undefined) return undefined;
  const ratio = (width * height) / (tiles.width * tiles.height);
  return { pixels: tiles, bytesRatio: ratio, timeRatio: ratio };
}

/** The first frames of an animation that has too few frames or pixels for a sample. */
export function sampleOfFirstFrames(pixels: Pixels): TrialSample {
  const { width, height, frames } = pixels;
  const maxFrames = Math.floor(MAX_SAMPLED_FRAMES_PX / (width * height));
  const count = Math.min(frames, Math.max(MIN_SAMPLED_FRAMES, maxFrames));
  const ratio = frames / count;
  return { pixels: filterFrames(pixels, (frame) => frame < count), bytesRatio: ratio, timeRatio: ratio };
}

function sampleFrames(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  if (frames < FRAMES_PER_SAMPLED_FRAME * MIN_SAMPLED_FRAMES) return undefined;
  const maxFrames = Math.max(2 * MIN_FRAME_PAIRS, Math.floor(MAX_SAMPLED_FRAMES_PX / (width * height)));
  const sampledCount = Math.min(Math.ceil(frames / FRAMES_PER_SAMPLED_FRAME), MAX_SAMPLED_FRAMES, maxFrames);
  if (quantity === 'size') return sampleFramePairs(pixels, Math.max(MIN_FRAME_PAIRS, sampledCount >> 1));
  const distance = Math.ceil(frames / sampledCount);
  const sampledFrames = filterFrames(pixels, (frame) => frame % distance === 0);
  return {
    pixels: sampledFrames,
    bytesRatio: frames / sampledFrames.frames,
    timeRatio: frames / sampledFrames.frames,
  };
}

/**
 * Samples pairs of consecutive frames, because a file holds only what has changed in a frame since the last one. Pairs
 * with a larger change are likelier to be taken, because they make most of the file.
 */
function sampleFramePairs(pixels: Pixels, count: number): TrialSample {
  const changes = changedShares(pixels);
  const total = sumOf(changes);
  const chosen = new Set<number>();
  let changeSum = 0;
  for (const [frame, change] of changes.entries()) {
    const before = Math.floor((count * changeSum) / total + 1 / 2);
    changeSum += change;
    const isDue = Math.floor((count * changeSum) / total + 1 / 2) > before;
    if (isDue && !chosen.has(frame - 1)) chosen.add(frame);
  }
  const changed = sumOf([...chosen].map((frame) => changes[frame] as number));
  const isFirstOfPair = (frame: number) => chosen.has(frame + 1);
  return {
    pixels: filterFrames(pixels, (frame) => isFirstOfPair(frame) || chosen.has(frame)),
    pairFirstFrames: filterFrames(pixels, isFirstOfPair),
    bytesRatio: total / changed,
    timeRatio: (pixels.frames - 1) / chosen.size,
  };
}

/**
 * The share of the pixels of each frame that differ from the frame before, at least MIN_CHANGED_SHARE; 0 for the first.
 */
function changedShares({ data, width, height, channels, frames }: Pixels): number[] {
  const frameBytes = width * height * channels;
  const step = COMPARED_PIXEL_STEP * channels;
  return Array.from({ length: frames }, (_, frame) => {
    if (frame === 0) return 0;
    let changed = 0;
    for (let at = frame * frameBytes; at < (frame + 1) * frameBytes; at += step) {
      const before = at - frameBytes;
      const isSame =
        data[at] === data[before] &&
        data[at + 1] === data[before + 1] &&
        data[at + channels - 1] === data[before + channels - 1];
      if (!isSame) changed += 1;
    }
    return MIN_CHANGED_SHARE + (changed * step) / frameBytes;
  });
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export function filterFrames(pixels: Pixels, isChosen: (frame: number) => boolean): Pixels {
  return joinFrames(splitFrames(pixels).filter((_, frame) => isChosen(frame)));
}

function sampleTiles({ data, width, height, channels, frames }: Pixels): Pixels | undefined {
  const sidePx = TILE_EDGE_PX * TILES_PER_SIDE;
  if (Math.min(width, height) < sidePx) return undefined;
  const sample = new Uint8Array(sidePx * sidePx * channels);
  const rowBytes = TILE_EDGE_PX * channels;
  for (let y = 0; y < sidePx; y++) {
    const top = tileOffset(Math.floor(y / TILE_EDGE_PX), height) + (y % TILE_EDGE_PX);
    for (let tile = 0; tile < TILES_PER_SIDE; tile++) {
      const from = (top * width + tileOffset(tile, width)) * channels;
      sample.set(data.subarray(from, from + rowBytes), (y * TILES_PER_SIDE + tile) * rowBytes);
    }
  }
  return { data: sample, width: sidePx, height: sidePx, channels, frames };
}

/** The offset of a tile along a side of the picture. */
function tileOffset(tile: number, sidePx: number): number {
  return Math.floor((tile * (sidePx - TILE_EDGE_PX)) / (TILES_PER_SIDE - 1));
}
