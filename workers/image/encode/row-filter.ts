import type { Pixels } from '../pixels/pixels.ts';

/**
 * How the rows of a PNG are prepared for its compression. Filters write a pixel as its difference from its neighbours: photographs
 * become 10 to 36 % smaller by them, drawings and screens up to twice as large.
 */
export interface RowFilter {
  filtered: boolean;
  /** 0 to 9. Of filtered rows level 6 makes files 1 % smaller than 3, in a third more of time; of others 7 makes them 6 to 20 % smaller than 6. */
  effort: number;
}

export const FILTERED: RowFilter = { filtered: true, effort: 3 };
const UNFILTERED: RowFilter = { filtered: false, effort: 7 };

/** From this share of pixels that are as their left neighbour on, a picture is drawn: of 60 pictures, one is taken for the wrong kind. */
const DRAWN_SHARE = 0.5;
/** One row of this many is looked at. */
const STEP = 5;

/** The filter that makes the smaller file, as far as a look at every fifth row tells. */
export function rowFilterFor({ data, width, height, channels, frames }: Pixels): RowFilter {
  let same = 0;
  let compared = 0;
  for (let y = 0; y < height * frames; y += STEP) {
    let at = (y * width + 1) * channels;
    for (let x = 1; x < width; x++, at += channels) if (isAsLeft(data, at, channels)) same++;
    compared += width - 1;
  }
  return same < DRAWN_SHARE * compared ? FILTERED : UNFILTERED;
}

function isAsLeft(data: Uint8Array, at: number, channels: number): boolean {
  for (let channel = at; channel < at + channels; channel++)
    if (data[channel] !== data[channel - channels]) return false;
  return true;
}
