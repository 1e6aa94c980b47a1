import { joinFrames, type Pixels, splitFrames } from '../pixels/pixels.ts';
import type { SearchedQuantity } from './settings.ts';

/** A sample of a picture. */
export interface TrialSample {
  pixels: Pixels;
  /** The whole picture in relation to the sample without its heads: its files, and the time that they take. */
  bytesRatio: number;
  timeRatio: number;
  /** The first frame of each pair, for an animation that is sampled in pairs. A file holds these frames completely. */
  heads?: Pixels;
}

/** A picture with fewer pixels is tried as a whole, because a sample would hardly be faster. */
const SAMPLED_FROM_PX = 1_000_000;
/**
 * Side of a sample tile. A sample is 64 such tiles from all over the picture, side by side. A scaled-down copy would
 * have finer detail.
 */
const TILE_PX = 64;
const TILES_A_SIDE = 8;

/** The sample of a large animation has at most one of this many frames. */
const FRAMES_PER_SAMPLED = 8;
const MIN_SAMPLED_FRAMES = 2;
const MAX_SAMPLED_FRAMES = 24;
/** The fewest pairs of consecutive frames by which a file size is estimated. */
const MIN_PAIRS = 3;
/** The most pixels of sampled frames, unless the fewest pairs have more: encoders of animations are slow. */
const MAX_SAMPLED_PX = 1_500_000;
/** One of so many pixels is compared with the same pixel of the frame before. A prime, so that every column is met. */
const COMPARED_PX = 7;
/** A frame that shows the same as the one before takes some bytes too. */
const MIN_CHANGE = 0.001;

/** The part of a number of bytes that the smallest file of a smaller picture should take. */
const SURE_SIZE_SHARE = 0.8;
/** The same for fewer frames, whose changes are measured. */
const SURE_CHANGE_SHARE = 0.9;
/** The largest distance of the frames that are kept. */
const MAX_DISTANCE = 100;

/**
 * The share of a picture, or of the frames of an animation, whose smallest file surely fits into a number of bytes. The
 * file of an animation grows with what changes between its frames, not with their number: a drawing that comes into
 * being takes hardly fewer bytes if half of its frames are dropped.
 * @param ratio logarithm of the ratio of that number to the bytes of the smallest file of the whole.
 */
export function sizeShareOf(pixels: Pixels, ratio: number): number {
  const { frames } = pixels;
  if (frames === 1) return SURE_SIZE_SHARE * Math.exp(ratio);
  const most = SURE_CHANGE_SHARE * Math.exp(ratio) * sumOf(changedShares(pixels));
  for (let distance = 2; distance <= Math.min(frames, MAX_DISTANCE); distance += Math.ceil(distance / 4))
    if (sumOf(changedShares(pixels, distance)) <= most) return Math.ceil(frames / distance) / frames;
  return 1 / frames;
}

/** A sample of a large picture by which a quantity is estimated. Undefined for a picture that is tried as a whole. */
export function takeTrialSample(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  if (width * height * frames < SAMPLED_FROM_PX) return undefined;
  if (frames > 1) return framesSampleOf(pixels, quantity);
  const tiles = tilesSampleOf(pixels);
  if (tiles === undefined) return undefined;
  const ratio = (width * height) / (tiles.width * tiles.height);
  return { pixels: tiles, bytesRatio: ratio, timeRatio: ratio };
}

function framesSampleOf(pixels: Pixels, quantity: SearchedQuantity): TrialSample | undefined {
  const { width, height, frames } = pixels;
  if (frames < FRAMES_PER_SAMPLED * MIN_SAMPLED_FRAMES) return undefined;
  const affordable = Math.max(2 * MIN_PAIRS, Math.floor(MAX_SAMPLED_PX / (width * height)));
  const sampled = Math.min(Math.ceil(frames / FRAMES_PER_SAMPLED), MAX_SAMPLED_FRAMES, affordable);
  if (quantity === 'size' && sampled >= 2 * MIN_PAIRS) return pairsSampleOf(pixels, sampled >> 1);
  const distance = Math.ceil(frames / sampled);
  const apart = framesOf(pixels, (frame) => frame % distance === 0);
  return { pixels: apart, bytesRatio: frames / apart.frames, timeRatio: frames / apart.frames };
}

/**
 * Pairs of consecutive frames, as a file holds only what has changed in a frame since the last one. Pairs with a larger
 * change are likelier to be taken, because they make most of the file.
 */
function pairsSampleOf(pixels: Pixels, count: number): TrialSample {
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
    pixels: framesOf(pixels, (frame) => isHead(frame) || chosen.has(frame)),
    heads: framesOf(pixels, isHead),
    bytesRatio: total / changed,
    timeRatio: (pixels.frames - 1) / chosen.size,
  };
}

/**
 * The share of the pixels of each frame that differ from the frame before, at least MIN_CHANGE; 0 for the first.
 * @param distance of the compared frames, of which those between them are left out.
 */
function changedShares({ data, width, height, channels, frames }: Pixels, distance = 1): number[] {
  const frameBytes = width * height * channels;
  const step = COMPARED_PX * channels;
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
    return MIN_CHANGE + (changed * step) / frameBytes;
  });
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function framesOf(pixels: Pixels, isChosen: (frame: number) => boolean): Pixels {
  return joinFrames(splitFrames(pixels).filter((_, frame) => isChosen(frame)));
}

function tilesSampleOf({ data, width, height, channels, frames }: Pixels): Pixels | undefined {
  const sidePx = TILE_PX * TILES_A_SIDE;
  if (Math.min(width, height) < sidePx) return undefined;
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
