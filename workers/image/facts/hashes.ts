import { rgbaToThumbHash } from 'thumbhash';
import type { PlaceholderHashes } from '../../protocol.ts';
import { fitIntoBox } from '../pixels/geometry.ts';
import { isChannelFull, type PixelSample, type Pixels } from '../pixels/pixels.ts';
import { computeBlurHash } from './blur-hash.ts';
import { computePerceptualHash } from './perceptual-hash.ts';

/** The longest side, in pixels, of the copy from which ThumbHash and BlurHash are made. */
const MAX_HASHED_EDGE_PX = 100;

/**
 * The ThumbHash, the BlurHash and the perceptual hash of a picture. BlurHash and the perceptual hash have no
 * transparency, so the picture is laid on white for them.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX. A copy of another size gives slightly different hashes.
 */
export function allHashesOf(sample: PixelSample): PlaceholderHashes & { perceptualHash: string } {
  const copy = scaledDownCopy(sample, MAX_HASHED_EDGE_PX);
  return {
    ...hashesOfCopy(copy),
    perceptualHash: computePerceptualHash({ ...copy, data: layOnWhite(copy.data), channels: 4 }),
  };
}

export function perceptualHashOf(sample: PixelSample): string {
  const copy = scaledDownCopy(sample, MAX_HASHED_EDGE_PX);
  return computePerceptualHash({ ...copy, data: layOnWhite(copy.data), channels: 4 });
}

/**
 * The ThumbHash and the BlurHash of a picture. BlurHash has no transparency, so the picture is laid on white for it.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX. A copy of another size gives slightly different hashes.
 */
export function placeholderHashesOf(sample: PixelSample): PlaceholderHashes {
  return hashesOfCopy(scaledDownCopy(sample, MAX_HASHED_EDGE_PX));
}

function hashesOfCopy({ data: rgba, width, height }: ReturnType<typeof scaledDownCopy>): PlaceholderHashes {
  const thumbhash = Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64');
  const [across, down] = width >= height ? ([4, 3] as const) : ([3, 4] as const);
  return { thumbhash, blurhash: computeBlurHash(layOnWhite(rgba), { width, height }, across, down) };
}

function layOnWhite(rgba: Uint8Array): Uint8Array {
  if (isChannelFull(rgba, 3, 4)) return rgba;
  return rgba.map((value, at) => {
    const alpha = rgba[at | 3] as number;
    return (at & 3) === 3 ? 255 : Math.round((value * alpha + 255 * (255 - alpha)) / 255);
  });
}

/** The range of original pixels for each pixel of the copy, along one side. */
interface PixelSpans {
  /** The first whole pixel of each range, and the index after its last whole pixel. */
  first: Int32Array;
  end: Int32Array;
  /** The share of the pixel before the first whole pixel, and of the pixel after the last. */
  before: Float64Array;
  behind: Float64Array;
}

/**
 * The number of fields per pixel of the copy: the alpha-weighted sums of red, green and blue, and the sum of the
 * weights.
 */
const SUMS_PER_PIXEL = 4;

/**
 * An RGBA copy of a picture with sides of at most `edgePx`. A smaller picture is not enlarged. Each pixel is the mean
 * of an area, weighted by alpha, because invisible pixels have no colour. Hashes of a few low frequencies need no
 * sharper kernel, which would take twice the time and its own pipeline.
 */
export function scaledDownCopy(picture: PixelSample, edgePx: number): Omit<Pixels, 'frames'> {
  const size = fitIntoBox(picture, { width: edgePx, height: edgePx }, 'inside', false).scaled;
  const data = new Uint8Array(4 * size.width * size.height);
  const across = pixelSpansOf(picture.width, size.width);
  const area = (picture.width / size.width) * (picture.height / size.height);
  const rowBytes = picture.channels * picture.width;
  const sum = picture.channels === 3 ? sumRow : sumTransparentRow;
  const row = new Float64Array(SUMS_PER_PIXEL * size.width);
  const line = new Float64Array(SUMS_PER_PIXEL * size.width);
  for (let y = 0, to = 0; y < picture.height; y++) {
    sum(picture.data.subarray(y * rowBytes, (y + 1) * rowBytes), across, row);
    const edge = ((to + 1) * picture.height) / size.height;
    const share = Math.min(1, edge - y);
    for (let at = 0; at < line.length; at++) line[at] = (line[at] as number) + share * (row[at] as number);
    if (edge > y + 1) continue;
    writeCopyRow(line, data.subarray(4 * to * size.width), area);
    for (let at = 0; at < line.length; at++) line[at] = (1 - share) * (row[at] as number);
    to++;
  }
  return { data, ...size, channels: 4 };
}

function pixelSpansOf(from: number, to: number): PixelSpans {
  const starts = Float64Array.from({ length: to + 1 }, (_, at) => (at * from) / to);
  const first = Int32Array.from({ length: to }, (_, at) => Math.ceil(starts[at] as number));
  const end = Int32Array.from({ length: to }, (_, at) => Math.floor(starts[at + 1] as number));
  return {
    first,
    end,
    before: Float64Array.from(first, (pixel, at) => pixel - (starts[at] as number)),
    behind: Float64Array.from(end, (pixel, at) => (starts[at + 1] as number) - pixel),
  };
}

/** Adds the pixels of a row to the sums from which the pixels of the copy are computed. */
function sumRow(row: Uint8Array, { first, end, before, behind }: PixelSpans, sums: Float64Array): void {
  for (let column = 0, to = 0; column < first.length; column++, to += SUMS_PER_PIXEL) {
    const from = 3 * (first[column] as number);
    const until = 3 * (end[column] as number);
    let red = 0;
    let green = 0;
    let blue = 0;
    for (let at = from; at < until; at += 3) {
      red += row[at] as number;
      green += row[at + 1] as number;
      blue += row[at + 2] as number;
    }
    const shareBefore = before[column] as number;
    if (shareBefore > 0) {
      red += shareBefore * (row[from - 3] as number);
      green += shareBefore * (row[from - 2] as number);
      blue += shareBefore * (row[from - 1] as number);
    }
    const shareBehind = behind[column] as number;
    if (shareBehind > 0) {
      red += shareBehind * (row[until] as number);
      green += shareBehind * (row[until + 1] as number);
      blue += shareBehind * (row[until + 2] as number);
    }
    sums[to] = red;
    sums[to + 1] = green;
    sums[to + 2] = blue;
    sums[to + 3] = (until - from) / 3 + shareBefore + shareBehind;
  }
}

/** Adds the pixels of a row as `sumRow` does, weighted by their alpha. */
function sumTransparentRow(
  row: Uint8Array,
  { first, end, before, behind }: PixelSpans,
  sums: Float64Array,
): void {
  sums.fill(0);
  for (let column = 0; column < first.length; column++) {
    const from = first[column] as number;
    const until = end[column] as number;
    if ((before[column] as number) > 0)
      addWeightedPixel(row, from - 1, before[column] as number, sums, column);
    for (let pixel = from; pixel < until; pixel++) addWeightedPixel(row, pixel, 1, sums, column);
    if ((behind[column] as number) > 0) addWeightedPixel(row, until, behind[column] as number, sums, column);
  }
}

function addWeightedPixel(
  row: Uint8Array,
  pixel: number,
  share: number,
  sums: Float64Array,
  column: number,
): void {
  const at = 4 * pixel;
  const to = SUMS_PER_PIXEL * column;
  const weight = (share * (row[at + 3] as number)) / 255;
  for (let channel = 0; channel < 3; channel++)
    sums[to + channel] = (sums[to + channel] as number) + weight * (row[at + channel] as number);
  sums[to + 3] = (sums[to + 3] as number) + weight;
}

/** Writes a line of the copy with rounded values. */
function writeCopyRow(line: Float64Array, data: Uint8Array, area: number): void {
  for (let at = 0; at < line.length; at += SUMS_PER_PIXEL) {
    const opacity = line[at + 3] as number;
    const scale = opacity > 0 ? 1 / opacity : 0;
    data[at] = (line[at] as number) * scale + 0.5;
    data[at + 1] = (line[at + 1] as number) * scale + 0.5;
    data[at + 2] = (line[at + 2] as number) * scale + 0.5;
    data[at + 3] = (255 * opacity) / area + 0.5;
  }
}
