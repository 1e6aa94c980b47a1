import sharp from 'sharp';
import type { Size } from '../formats/size.ts';
import { encodeLocalOutput } from '../transport/output.ts';
import type { BoundingBox, UnreadTextTask } from './protocol.ts';

/** This thread finds where a picture may have text that was not read. */

sharp.concurrency(1);
sharp.cache(false);

/** The longest edge of the searched picture, in pixels. A larger picture is scaled down. */
const MAX_SEARCHED_EDGE_PX = 1_000;
/** The edge of a cell, in pixels of the searched picture. */
const CELL_EDGE_PX = 8;
/** The smallest difference in grey level between two neighbouring pixels at the edge of a letter. */
const MIN_LETTER_CONTRAST = 24;
/**
 * An area counts as text if at least this share of its pixels has one of its two most frequent grey levels, those of
 * ink and paper. In a photograph the share is smaller.
 */
const MIN_FLAT_SHARE = 0.7;
/** The smallest number of cells of an area of text. Fewer cells are specks. */
const MIN_TEXT_CELLS = 3;
/** The largest number of empty cells between two letters of one line. */
const MAX_LETTER_GAP_CELLS = 2;
const MAX_REPORTED_AREAS = 4;
/** The margin around an area in pixels, because letters that touch the edge are not read. */
const AREA_MARGIN_PX = 8;
/** The number of low bits of a grey value that are ignored in the search for an area of flat colours. */
const IGNORED_LEVEL_BITS = 3;
const GREY_LEVEL_COUNT = 256 >> IGNORED_LEVEL_BITS;

/** The cells of a picture, row by row: 1 for a cell with ink, 0 for one without. */
interface InkCellMap {
  ink: Uint8Array;
  columns: number;
  rows: number;
}

interface GreyPicture {
  data: Uint8Array;
  width: number;
  height: number;
}

/**
 * Finds the areas of a picture that have ink outside the lines that were read. The largest area comes first, and each
 * has a margin. Rules, frames and photographs do not count as ink. Boxes are in whole pixels of the picture.
 */
export default async function findUnreadText({
  picture,
  size,
  lines,
}: UnreadTextTask): Promise<BoundingBox[]> {
  const small = sharp(picture).resize(MAX_SEARCHED_EDGE_PX, MAX_SEARCHED_EDGE_PX, {
    fit: 'inside',
    withoutEnlargement: true,
  });
  // `greyscale()` would convert the picture before it is made smaller, which takes three times as long.
  const { data, info } = await encodeLocalOutput(small.toColourspace('b-w').raw());
  const grey = { data, width: info.width, height: info.height };
  const scale = size.width / grey.width;
  const read = lines.map((line) => scaleBox(line, 1 / scale));
  return inkAreasOf(findInkCells(grey, read))
    .filter((area) => hasFlatColours(grey, area))
    .sort((one, other) => other.width * other.height - one.width * one.height)
    .slice(0, MAX_REPORTED_AREAS)
    .map((area) => withMargin(scaleBox(area, scale), size));
}

/**
 * Finds the cells with ink that no line covers. A cell has ink if its grey levels change from left to right and from
 * top to bottom: a rule, or the edge of a box, changes in one direction only.
 */
function findInkCells({ data, width, height }: GreyPicture, lines: readonly BoundingBox[]): InkCellMap {
  const [columns, rows] = [Math.floor(width / CELL_EDGE_PX), Math.floor(height / CELL_EDGE_PX)];
  const cells = { ink: new Uint8Array(columns * rows), columns, rows };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      cells.ink[row * columns + column] = Number(
        hasInk(data, row * CELL_EDGE_PX * width + column * CELL_EDGE_PX, width),
      );
    }
  }
  for (const { x, y, width: across, height: down } of lines) {
    const right = Math.min(columns, Math.ceil((x + across) / CELL_EDGE_PX) + 1);
    const bottom = Math.min(rows, Math.ceil((y + down) / CELL_EDGE_PX) + 1);
    for (let row = Math.max(0, Math.floor(y / CELL_EDGE_PX) - 1); row < bottom; row++) {
      cells.ink.fill(0, row * columns + Math.max(0, Math.floor(x / CELL_EDGE_PX) - 1), row * columns + right);
    }
  }
  return cells;
}

function hasInk(data: Uint8Array, start: number, width: number): boolean {
  let [across, down] = [0, 0];
  for (let row = 0; row < CELL_EDGE_PX - 1; row++) {
    for (let at = start + row * width; at < start + row * width + CELL_EDGE_PX - 1; at++) {
      const level = data[at] as number;
      across = Math.max(across, Math.abs(level - (data[at + 1] as number)));
      down = Math.max(down, Math.abs(level - (data[at + width] as number)));
    }
  }
  return across >= MIN_LETTER_CONTRAST && down >= MIN_LETTER_CONTRAST;
}

/**
 * Returns the boxes around cells with ink that lie close together, in pixels of the searched picture, and empties the
 * map.
 */
function inkAreasOf({ ink, columns, rows }: InkCellMap): BoundingBox[] {
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
        for (
          let x = Math.max(0, column - MAX_LETTER_GAP_CELLS - 1);
          x <= Math.min(columns - 1, column + MAX_LETTER_GAP_CELLS + 1);
          x++
        ) {
          if (ink[y * columns + x] !== 1) continue;
          ink[y * columns + x] = 0;
          open.push(y * columns + x);
        }
      }
    }
    const box = { x: left, y: top, width: right - left, height: bottom - top };
    if (count >= MIN_TEXT_CELLS) areas.push(scaleBox(box, CELL_EDGE_PX));
  }
  return areas;
}

/** Whether nearly all pixels of an area have one of two grey levels. */
function hasFlatColours({ data, width }: GreyPicture, area: BoundingBox): boolean {
  const counts = new Uint32Array(GREY_LEVEL_COUNT + 2);
  for (let y = area.y; y < area.y + area.height; y++) {
    for (let at = y * width + area.x; at < y * width + area.x + area.width; at++) {
      const level = 1 + ((data[at] as number) >> IGNORED_LEVEL_BITS);
      counts[level] = (counts[level] as number) + 1;
    }
  }
  const pixels = area.width * area.height;
  return takeHighestPeak(counts) + takeHighestPeak(counts) >= MIN_FLAT_SHARE * pixels;
}

/** Removes the most frequent level and its neighbours from the counts, and returns the number of their pixels. */
function takeHighestPeak(counts: Uint32Array): number {
  const level = counts.indexOf(Math.max(...counts), 1);
  const taken = counts.subarray(level - 1, level + 2);
  const pixels = taken.reduce((sum, count) => sum + count, 0);
  taken.fill(0);
  return pixels;
}

function scaleBox({ x, y, width, height }: BoundingBox, by: number): BoundingBox {
  return { x: x * by, y: y * by, width: width * by, height: height * by };
}

function withMargin({ x, y, width, height }: BoundingBox, size: Size): BoundingBox {
  const [left, top] = [
    Math.max(0, Math.floor(x - AREA_MARGIN_PX)),
    Math.max(0, Math.floor(y - AREA_MARGIN_PX)),
  ];
  const right = Math.min(size.width, Math.ceil(x + width + AREA_MARGIN_PX));
  const bottom = Math.min(size.height, Math.ceil(y + height + AREA_MARGIN_PX));
  return { x: left, y: top, width: right - left, height: bottom - top };
}
