import sharp from 'sharp';
import type {
  CompareTask,
  CompareTaskResult,
  ImageDifference,
  RawPixelShape,
  TaskFailure,
} from '../../protocol.ts';
import { encodeLocalOutput } from '../../transport/output.ts';
import { sizeMismatchFailure } from '../bounds.ts';
import { openStillPicture } from '../input.ts';
import { computeSsim, lumaOf } from '../likeness/ssim.ts';
import { computeSsimulacra2 } from '../likeness/ssimulacra2.ts';
import { type Pixels, toPixelSample } from '../pixels/pixels.ts';
import { taskFailureOf } from '../refusal.ts';
import { perceptualHashOf } from './hashes.ts';
import { hashDistance } from './perceptual-hash.ts';

/**
 * A pixel counts as unchanged if no channel differs by more than this many of 255 levels. Such a difference is
 * invisible, and codecs cause it everywhere. It is still part of maxDifference.
 */
const MAX_INVISIBLE_DIFFERENCE = 8;
/** The side of a tile. Changed pixels in the same tile, or in adjacent tiles, form one region. */
const TILE_EDGE_PX = 16;
const MAX_REPORTED_REGIONS = 100;

/**
 * Compares two pictures of the same size pixel by pixel, upright, in sRGB. An animation is compared by its first frame.
 */
export async function performCompareTask(task: CompareTask): Promise<CompareTaskResult | TaskFailure> {
  const startedMs = performance.now();
  try {
    const one = await decodePicture(task.input, task.raw);
    const other = await decodePicture(task.other, task.otherRaw);
    const decodedMs = performance.now();
    const mismatch = sizeMismatchFailure(one, other);
    if (mismatch !== undefined) return mismatch;
    return {
      kind: 'compared',
      difference: differenceOf(one, other, task.isScored),
      timings: { decodeMs: decodedMs - startedMs, processMs: performance.now() - decodedMs, encodeMs: 0 },
    };
  } catch (error) {
    return taskFailureOf(error, true);
  }
}

async function decodePicture(input: Uint8Array<ArrayBuffer>, raw?: RawPixelShape): Promise<Pixels> {
  const [opened] = raw === undefined ? await openStillPicture(input) : [sharp(input, { raw })];
  const { data, info } = await encodeLocalOutput(
    opened.autoOrient().toColourspace('srgb').ensureAlpha().raw(),
  );
  return { data, width: info.width, height: info.height, channels: 4, frames: 1 };
}

function differenceOf(one: Pixels, other: Pixels, isScored = false): ImageDifference {
  const { width, height } = one;
  const tiles = new ChangedTiles(width, height);
  let maxDifference = 0;
  let changed = 0;
  for (let pixel = 0, at = 0; pixel < width * height; pixel++, at += 4) {
    const difference = largestChannelDifference(one.data, other.data, at);
    if (difference > maxDifference) maxDifference = difference;
    if (difference <= MAX_INVISIBLE_DIFFERENCE) continue;
    changed++;
    tiles.addChangedPixel(pixel % width, Math.floor(pixel / width));
  }
  const likeness =
    changed === 0 && maxDifference === 0 ? 1 : computeSsim(lumaOf(one.data, one), lumaOf(other.data, other));
  return {
    ssim: Math.floor(likeness * 1e4) / 1e4,
    ...(isScored && { ssimulacra2: Math.floor(computeSsimulacra2(one, other) * 100) / 100 }),
    changedShare: Number((changed / (width * height)).toPrecision(6)),
    maxDifference,
    hashDistance: hashDistance(perceptualHashOf(toPixelSample(one)), perceptualHashOf(toPixelSample(other))),
    regions: tiles.regions(),
  };
}

/**
 * The largest difference of a channel. The colours of two fully transparent pixels are ignored, because they are
 * invisible.
 */
function largestChannelDifference(one: Uint8Array, other: Uint8Array, at: number): number {
  if (one[at + 3] === 0 && other[at + 3] === 0) return 0;
  let largest = 0;
  for (let channel = at; channel < at + 4; channel++) {
    const difference = Math.abs((one[channel] as number) - (other[channel] as number));
    if (difference > largest) largest = difference;
  }
  return largest;
}

interface TileBounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Changed pixels, collected in tiles: each tile has a box around its pixels, and adjacent tiles are joined into one
 * box.
 */
class ChangedTiles {
  readonly #columns: number;
  readonly #rows: number;
  readonly #boxes = new Map<number, TileBounds>();

  constructor(width: number, height: number) {
    this.#columns = Math.ceil(width / TILE_EDGE_PX);
    this.#rows = Math.ceil(height / TILE_EDGE_PX);
  }

  addChangedPixel(x: number, y: number): void {
    const tile = Math.floor(y / TILE_EDGE_PX) * this.#columns + Math.floor(x / TILE_EDGE_PX);
    includeBox(this.#boxes, tile, { left: x, top: y, right: x, bottom: y });
  }

  /** The regions, largest first. They do not overlap. */
  regions(): ImageDifference['regions'] {
    let boxes = this.#connectedAreas(this.#boxes);
    let count = 0;
    while (boxes.length !== count) {
      count = boxes.length;
      boxes = this.#connectedAreas(this.#coveredTiles(boxes));
    }
    const regions = boxes.map(({ left, top, right, bottom }) => ({
      x: left,
      y: top,
      width: right - left + 1,
      height: bottom - top + 1,
    }));
    return regions.sort((a, b) => b.width * b.height - a.width * a.height).slice(0, MAX_REPORTED_REGIONS);
  }

  /** The boxes around each group of adjacent tiles. */
  #connectedAreas(boxes: ReadonlyMap<number, TileBounds>): TileBounds[] {
    const seen = new Set<number>();
    return [...boxes.keys()].flatMap((tile) => (seen.has(tile) ? [] : [this.#areaAround(tile, boxes, seen)]));
  }

  /**
   * Every tile that a box covers, with that box. Boxes that overlap are joined, even if their changed pixels are not
   * adjacent.
   */
  #coveredTiles(boxes: readonly TileBounds[]): Map<number, TileBounds> {
    const covered = new Map<number, TileBounds>();
    for (const box of boxes) {
      const [firstColumn, lastColumn] = [
        Math.floor(box.left / TILE_EDGE_PX),
        Math.floor(box.right / TILE_EDGE_PX),
      ];
      const [firstRow, lastRow] = [Math.floor(box.top / TILE_EDGE_PX), Math.floor(box.bottom / TILE_EDGE_PX)];
      for (let row = firstRow; row <= lastRow; row++)
        for (let column = firstColumn; column <= lastColumn; column++) {
          includeBox(covered, row * this.#columns + column, box);
        }
    }
    return covered;
  }

  #areaAround(first: number, boxes: ReadonlyMap<number, TileBounds>, seen: Set<number>): TileBounds {
    const box = { ...(boxes.get(first) as TileBounds) };
    const waiting = [first];
    seen.add(first);
    for (let tile = waiting.pop(); tile !== undefined; tile = waiting.pop()) {
      growBox(box, boxes.get(tile) as TileBounds);
      for (const next of this.#neighbours(tile)) {
        if (seen.has(next) || !boxes.has(next)) continue;
        seen.add(next);
        waiting.push(next);
      }
    }
    return box;
  }

  *#neighbours(tile: number): Generator<number> {
    const [column, row] = [tile % this.#columns, Math.floor(tile / this.#columns)];
    for (let y = Math.max(0, row - 1); y <= Math.min(this.#rows - 1, row + 1); y++)
      for (let x = Math.max(0, column - 1); x <= Math.min(this.#columns - 1, column + 1); x++)
        yield y * this.#columns + x;
  }
}

/** Enlarges the box of a tile so that it includes another box. */
function includeBox(boxes: Map<number, TileBounds>, tile: number, box: TileBounds): void {
  const existing = boxes.get(tile);
  if (existing === undefined) boxes.set(tile, { ...box });
  else growBox(existing, box);
}

function growBox(box: TileBounds, { left, top, right, bottom }: TileBounds): void {
  box.left = Math.min(box.left, left);
  box.top = Math.min(box.top, top);
  box.right = Math.max(box.right, right);
  box.bottom = Math.max(box.bottom, bottom);
}
