import sharp from 'sharp';
import type { Size } from '../formats/size.ts';
import { encodeLocalOutput } from '../transport/output.ts';
import type { BoundingBox, UnreadTask } from './protocol.ts';

/** This thread finds where a picture may have text that was not read. */

sharp.concurrency(1);
sharp.cache(false);

/** The longest edge of the picture as it is searched, in pixels. */
const MAX_EDGE = 1_000;
/** Edge of a cell, in pixels of the searched picture. */
const CELL = 8;
/** Difference of two grey levels side by side at the edge of a letter. */
const MIN_CONTRAST = 24;
/** The part of an area that has one of its two most frequent grey levels: of ink and paper, not of a photograph. */
const MIN_FLAT = 0.7;
/** Cells of an area of text, at the least. Fewer are specks. */
const MIN_CELLS = 3;
/** Cells between letters of one line. */
const GAP = 2;
const MAX_AREAS = 4;
/** Pixels around an area. Letters that touch its edge are not read. */
const MARGIN = 8;
/** Levels of grey, 8 of a byte each, that are told apart in the search for an area of flat colours. */
const LEVEL_BITS = 3;
const LEVELS = 256 >> LEVEL_BITS;

/** Which cells of a picture have ink: 1 or 0, row by row. */
interface CellMap {
  ink: Uint8Array;
  columns: number;
  rows: number;
}

interface Grey {
  data: Uint8Array;
  width: number;
  height: number;
}

/**
 * The areas of a picture with ink outside of the lines that were read, the largest first, each with a margin. Rules,
 * frames and photographs are none. Boxes are in whole pixels of the picture.
 */
export default async function findUnread({ picture, size, lines }: UnreadTask): Promise<BoundingBox[]> {
  const small = sharp(picture).resize(MAX_EDGE, MAX_EDGE, { fit: 'inside', withoutEnlargement: true });
  // `greyscale()` would convert the picture before it is made smaller, which takes three times as long.
  const { data, info } = await encodeLocalOutput(small.toColourspace('b-w').raw());
  const grey = { data, width: info.width, height: info.height };
  const scale = size.width / grey.width;
  const read = lines.map((line) => scaled(line, 1 / scale));
  return areasOf(inkCells(grey, read))
    .filter((area) => isFlat(grey, area))
    .sort((one, other) => other.width * other.height - one.width * one.height)
    .slice(0, MAX_AREAS)
    .map((area) => withMargin(scaled(area, scale), size));
}

/**
 * The cells with ink that no line covers. A cell has ink if its grey levels change from left to right and from top to
 * bottom: a rule, or the edge of a box, changes in one direction only.
 */
function inkCells({ data, width, height }: Grey, lines: readonly BoundingBox[]): CellMap {
  const [columns, rows] = [Math.floor(width / CELL), Math.floor(height / CELL)];
  const cells = { ink: new Uint8Array(columns * rows), columns, rows };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      cells.ink[row * columns + column] = Number(hasInk(data, row * CELL * width + column * CELL, width));
    }
  }
  for (const { x, y, width: across, height: down } of lines) {
    const right = Math.min(columns, Math.ceil((x + across) / CELL) + 1);
    const bottom = Math.min(rows, Math.ceil((y + down) / CELL) + 1);
    for (let row = Math.max(0, Math.floor(y / CELL) - 1); row < bottom; row++) {
      cells.ink.fill(0, row * columns + Math.max(0, Math.floor(x / CELL) - 1), row * columns + right);
    }
  }
  return cells;
}

function hasInk(data: Uint8Array, start: number, width: number): boolean {
  let [across, down] = [0, 0];
  for (let row = 0; row < CELL - 1; row++) {
    for (let at = start + row * width; at < start + row * width + CELL - 1; at++) {
      const level = data[at] as number;
      across = Math.max(across, Math.abs(level - (data[at + 1] as number)));
      down = Math.max(down, Math.abs(level - (data[at + width] as number)));
    }
  }
  return across >= MIN_CONTRAST && down >= MIN_CONTRAST;
}

/** Boxes, in pixels of the searched picture, of cells with ink that lie close together. Empties the map. */
function areasOf({ ink, columns, rows }: CellMap): BoundingBox[] {
  const areas: BoundingBox[] = [];
  for (let first = ink.indexOf(1); first >= 0; first = ink.indexOf(1, first)) {
    let [left, top, right, bottom, count] = [columns, rows, 0, 0, 0];
    const open = [first];
    ink[first] = 0;
    for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
      const [column, row] = [cell % columns, Math.floor(cell / columns)];
      [left, top] = [Math.min(left, column), Math.min(top, row)];
      [right, bottom] = [Math.max(right, column + 1), Math.max(bottom, row + 1)];
      count++;
      for (let y = Math.max(0, row - 1); y <= Math.min(rows - 1, row + 1); y++) {
        for (let x = Math.max(0, column - GAP - 1); x <= Math.min(columns - 1, column + GAP + 1); x++) {
          if (ink[y * columns + x] !== 1) continue;
          ink[y * columns + x] = 0;
          open.push(y * columns + x);
        }
      }
    }
    const box = { x: left, y: top, width: right - left, height: bottom - top };
    if (count >= MIN_CELLS) areas.push(scaled(box, CELL));
  }
  return areas;
}

/** Whether nearly all pixels of an area have one of two grey levels. */
function isFlat({ data, width }: Grey, area: BoundingBox): boolean {
  const counts = new Uint32Array(LEVELS + 2);
  for (let y = area.y; y < area.y + area.height; y++) {
    for (let at = y * width + area.x; at < y * width + area.x + area.width; at++) {
      const level = 1 + ((data[at] as number) >> LEVEL_BITS);
      counts[level] = (counts[level] as number) + 1;
    }
  }
  const pixels = area.width * area.height;
  return takeMost(counts) + takeMost(counts) >= MIN_FLAT * pixels;
}

/** Removes the most frequent level and its neighbours from the counts, and returns how many pixels had them. */
function takeMost(counts: Uint32Array): number {
  const level = counts.indexOf(Math.max(...counts), 1);
  const taken = counts.subarray(level - 1, level + 2);
  const pixels = taken.reduce((sum, count) => sum + count, 0);
  taken.fill(0);
  return pixels;
}

function scaled({ x, y, width, height }: BoundingBox, by: number): BoundingBox {
  return { x: x * by, y: y * by, width: width * by, height: height * by };
}

function withMargin({ x, y, width, height }: BoundingBox, size: Size): BoundingBox {
  const [left, top] = [Math.max(0, Math.floor(x - MARGIN)), Math.max(0, Math.floor(y - MARGIN))];
  const right = Math.min(size.width, Math.ceil(x + width + MARGIN));
  const bottom = Math.min(size.height, Math.ceil(y + height + MARGIN));
  return { x: left, y: top, width: right - left, height: bottom - top };
}
