import type { Pixels } from '../pixels/pixels.ts';

/**
 * Prepares the rows of a PNG for compression. Filters write a pixel as its difference from its neighbours: they make
 * photographs 10 to 36 % smaller, but drawings and screenshots up to twice as large.
 */
export interface PngRowFilter {
  filtered: boolean;
  /**
   * Effort, 0 to 9. For filtered rows, 6 makes files 1 % smaller than 3 and takes a third more time. For unfiltered
   * rows, 7 makes them 6 to 20 % smaller than 6.
   */
  effort: number;
}

export const PNG_ROW_FILTER_ON: PngRowFilter = { filtered: true, effort: 3 };
const UNFILTERED: PngRowFilter = { filtered: false, effort: 7 };

/**
 * The share of pixels equal to their left neighbour from which a picture counts as a drawing. It classifies one of 60
 * pictures wrongly.
 */
const DRAWN_SHARE = 0.5;
/** Every STEP-th row is examined. */
const STEP = 5;

/** The row filter that makes the smaller file, as estimated from every fifth row. */
export function choosePngRowFilter({ data, width, height, channels, frames }: Pixels): PngRowFilter {
  let same = 0;
  let compared = 0;
  for (let y = 0; y < height * frames; y += STEP) {
    let at = (y * width + 1) * channels;
    for (let x = 1; x < width; x++, at += channels) if (isAsLeft(data, at, channels)) same++;
    compared += width - 1;
  }
  return same < DRAWN_SHARE * compared ? PNG_ROW_FILTER_ON : UNFILTERED;
}

function isAsLeft(data: Uint8Array, at: number, channels: number): boolean {
  for (let channel = at; channel < at + channels; channel++)
    if (data[channel] !== data[channel - channels]) return false;
  return true;
}
