import { joinFrames, type Pixels, splitFrames } from '../pixels/pixels.ts';
import type { SearchedQuantity } from './settings.ts';

/** A sample of a picture. */
export interface TrialSample {
  pixels: Pixels;
  /**
   * The ratio of the whole picture to the sample, in the size of a file and in the time to encode it. The size is that
   * of the sample without its heads.
   */
  bytesRatio: number;
  timeRatio: number;
  /** The first frame of each pair, if the sample consists of pairs of frames. A file holds these frames completely. */
  heads?: Pixels;
}

/** The number of pixels from which a picture is sampled. For a smaller picture, a sample would hardly be faster. */
const MIN_SAMPLED_PICTURE_PX = 1_000_000;
/**
 * The side of a sample tile. A sample is 64 such tiles from all over the picture, side by side. A scaled-down copy
 * would have finer detail.
 */
const TILE_EDGE_PX = 64;
const TILES_PER_SIDE = 8;

/** A sample of a large animation has at most one of this many frames. */
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

/** The share of the allowed bytes that the smallest file of a scaled-down picture should take. */
const SURE_SIZE_SHARE = 0.8;
/**
 * The share of the allowed bytes that the smallest file of an animation with fewer frames should take. The changes
 * between its frames are measured.
 */
const SURE_CHANGE_SHARE = 0.9;
/** The largest distance between two frames that are kept. */
const MAX_FRAME_DISTANCE = 100;

/**
 * The share of a picture, or of the frames of an animation, whose smallest file surely fits into a number of bytes. The
 * file of an animation grows with the changes between its frames. Dropping frames therefore helps only as far as it
 * reduces these changes.
 * @param ratio logarithm of the ratio of that number to the bytes of the smallest file of the whole picture.
 */
export function sizeShareOf(pixels: Pixels, ratio: number): number {
  const { frames } = pixels;
  if (frames === 1) return SURE_SIZE_SHARE * Math.exp(ratio);
  const most = SURE_CHANGE_SHARE * Math.exp(ratio) * sumOf(changedShares(pixels));
  for (
    let distance = 2;
    distance <= Math.min(frames, MAX_FRAME_DISTANCE);
    distance += Math.ceil(distance / 4)
  )
    if (sumOf(changedShares(pixels, distance)) <= most) return Math.ceil(frames / distance) / frames;
  return 1 / frames;
}

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

function sampleFrames(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  if (frames < FRAMES_PER_SAMPLED_FRAME * MIN_SAMPLED_FRAMES) return undefined;
  const affordable = Math.max(2 * MIN_FRAME_PAIRS, Math.floor(MAX_SAMPLED_FRAMES_PX / (width * height)));
  const sampled = Math.min(Math.ceil(frames / FRAMES_PER_SAMPLED_FRAME), MAX_SAMPLED_FRAMES, affordable);
  if (quantity === 'size' && sampled >= 2 * MIN_FRAME_PAIRS) return sampleFramePairs(pixels, sampled >> 1);
  const distance = Math.ceil(frames / sampled);
  const apart = selectFrames(pixels, (frame) => frame % distance === 0);
  return { pixels: apart, bytesRatio: frames / apart.frames, timeRatio: frames / apart.frames };
}

/**
 * Samples pairs of consecutive frames, because a file holds only what has changed in a frame since the last one. Pairs
 * with a larger change are likelier to be taken, because they make most of the file.
 */
function sampleFramePairs(pixels: Pixels, count: number): TrialSample {
  const changes = changedShares(pixels);
  const total = sumOf(changes);
  const chosen = new Set<number>();
  let passed = 0;
  for (const [frame, change] of changes.entries()) {
    const before = Math.floor((count * passed) / total + 1 / 2);
    passed += change;
    const isDue = Math.floor((count * passed) / total + 1 / 2) > before;
    if (isDue && !chosen.has(frame - 1)) chosen.add(frame);
  }
  const changed = sumOf([...chosen].map((frame) => changes[frame] as number));
  const isHead = (frame: number) => chosen.has(frame + 1);
  return {
    pixels: selectFrames(pixels, (frame) => isHead(frame) || chosen.has(frame)),
    heads: selectFrames(pixels, isHead),
    bytesRatio: total / changed,
    timeRatio: (pixels.frames - 1) / chosen.size,
  };
}

/**
 * The share of the pixels of each frame that differ from the frame before, at least MIN_CHANGED_SHARE; 0 for the first.
 * @param distance the distance between two compared frames. The frames between them are left out.
 */
function changedShares({ data, width, height, channels, frames }: Pixels, distance = 1): number[] {
  const frameBytes = width * height * channels;
  const step = COMPARED_PIXEL_STEP * channels;
  return Array.from({ length: Math.ceil(frames / distance) }, (_, kept) => {
    if (kept === 0) return 0;
    const frame = kept * distance;
    let changed = 0;
    for (let at = frame * frameBytes; at < (frame + 1) * frameBytes; at += step) {
      const before = at - distance * frameBytes;
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

function selectFrames(pixels: Pixels, isChosen: (frame: number) => boolean): Pixels {
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
