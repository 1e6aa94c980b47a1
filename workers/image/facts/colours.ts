import type { ImageFacts } from '../../protocol.ts';
import type { PixelSample } from '../pixels/pixels.ts';

/**
 * The number of leading bits of a channel that form a bin in the search for the most common colour, which has 16 × 16 ×
 * 16 bins.
 */
const COLOUR_BIN_BITS = 4;
const LEADING_BITS_MASK = 256 - (1 << (8 - COLOUR_BIN_BITS));

/** Sums of weighted red, green and blue, and of the weights. */
type ColourSums = [red: number, green: number, blue: number, weight: number];

/**
 * The mean colour, and the mean of the most common bin of colours. Each pixel is weighted by its alpha, because
 * invisible pixels have no colour. A fully transparent picture is black.
 *
 * Bins hold weights only, so that they fit into the innermost CPU cache. The colours of the heaviest bin are summed in
 * a second pass over the pixels. With sums in each bin, every pixel would wait for memory.
 */
export function averageAndDominantColours(
  picture: PixelSample,
): Pick<ImageFacts, 'averageColor' | 'dominantColor'> {
  const bins = new Uint32Array(1 << (3 * COLOUR_BIN_BITS));
  const sums = picture.channels === 3 ? sumOpaquePixels(picture, bins) : sumTransparentPixels(picture, bins);
  let heaviest = 0;
  for (let bin = 1; bin < bins.length; bin++)
    if ((bins[bin] as number) > (bins[heaviest] as number)) heaviest = bin;
  return { averageColor: meanHexOf(sums), dominantColor: meanHexOf(sumsOfBin(heaviest, picture)) };
}

function colourBinOf(red: number, green: number, blue: number): number {
  return (
    ((red & LEADING_BITS_MASK) << COLOUR_BIN_BITS) | (green & LEADING_BITS_MASK) | (blue >> COLOUR_BIN_BITS)
  );
}

/** Sums row by row, because small integers are added faster than large ones. */
function sumOpaquePixels({ data, width, height }: PixelSample, bins: Uint32Array): ColourSums {
  const sums: ColourSums = [0, 0, 0, width * height];
  for (let y = 0, at = 0; y < height; y++) {
    let reds = 0;
    let greens = 0;
    let blues = 0;
    for (const end = at + 3 * width; at < end; at += 3) {
      const red = data[at] as number;
      const green = data[at + 1] as number;
      const blue = data[at + 2] as number;
      const bin = colourBinOf(red, green, blue);
      bins[bin] = (bins[bin] as number) + 1;
      reds += red;
      greens += green;
      blues += blue;
    }
    sums[0] += reds;
    sums[1] += greens;
    sums[2] += blues;
  }
  return sums;
}

function sumTransparentPixels({ data, width, height }: PixelSample, bins: Uint32Array): ColourSums {
  const sums: ColourSums = [0, 0, 0, 0];
  for (let y = 0, at = 0; y < height; y++) {
    let reds = 0;
    let greens = 0;
    let blues = 0;
    let weights = 0;
    for (const end = at + 4 * width; at < end; at += 4) {
      const red = data[at] as number;
      const green = data[at + 1] as number;
      const blue = data[at + 2] as number;
      const weight = data[at + 3] as number;
      const bin = colourBinOf(red, green, blue);
      bins[bin] = (bins[bin] as number) + weight;
      reds += weight * red;
      greens += weight * green;
      blues += weight * blue;
      weights += weight;
    }
    sums[0] += reds;
    sums[1] += greens;
    sums[2] += blues;
    sums[3] += weights;
  }
  return sums;
}

/** The sums of the pixels in one bin. */
function sumsOfBin(bin: number, { data, channels }: PixelSample): ColourSums {
  let reds = 0;
  let greens = 0;
  let blues = 0;
  let weights = 0;
  for (let at = 0; at < data.length; at += channels) {
    const red = data[at] as number;
    const green = data[at + 1] as number;
    const blue = data[at + 2] as number;
    if (colourBinOf(red, green, blue) !== bin) continue;
    const weight = channels === 4 ? (data[at + 3] as number) : 1;
    reds += weight * red;
    greens += weight * green;
    blues += weight * blue;
    weights += weight;
  }
  return [reds, greens, blues, weights];
}

/** The mean colour as `#rrggbb`. */
function meanHexOf([red, green, blue, weight]: ColourSums): string {
  const means = [red, green, blue].map((sum) => Math.round(weight === 0 ? 0 : sum / weight));
  return `#${means.map((mean) => mean.toString(16).padStart(2, '0')).join('')}`;
}
