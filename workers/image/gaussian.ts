import type { Sharp } from 'sharp';
import type { Size } from '../formats/size.ts';
import type { PassPicture } from './picture.ts';
import { type Box, scaleSize } from './pixels/geometry.ts';
import { copyBox, fillBoxWithPixel, pastePixels } from './pixels/paint.ts';
import { type Pixels, readPixels } from './pixels/pixels.ts';
import { enlargePixels } from './pixels/resample.ts';

/** The largest sigma at which the whole kernel is applied to every pixel. The cost of the kernel grows with sigma. */
const MAX_DIRECT_SIGMA_PX = 4;
/** For a sigma above MAX_DIRECT_SIGMA_PX, the picture is reduced until the sigma has this value in the reduced copy. */
const REDUCED_SIGMA_PX = 3;
/** An edge is not reduced below this number of pixels. */
const MIN_REDUCED_EDGE_PX = 8;
/** The blur that the reduction itself causes, as the variance of its linear kernel in pixels of the reduced picture. */
const REDUCTION_VARIANCE = 1 / 6;
/** The radius of a kernel in sigmas. Beyond this radius, a weight is below 0.3 % of the largest one. */
const KERNEL_RADIUS_SIGMAS = 3.5;

/** Blurs a picture of one frame by a Gaussian. */
export async function gaussianBlur(picture: PassPicture, sigma: number): Promise<void> {
  if (sigma <= MAX_DIRECT_SIGMA_PX) blurAtFullSize(await picture.at('blur', 'linear'), sigma);
  else picture.replace(await blurReducedCopy(picture, sigma));
}

/**
 * Applies the whole kernel to a picture. sharp's default settings truncate the kernel so early that the blur is a sixth
 * too weak, and in integers they change the brightness. sharp truncates floats to bytes where it should round, so half
 * a level is added to them.
 */
function blurAtFullSize(pipeline: Sharp, sigma: number): Sharp {
  return pipeline.blur({ sigma, minAmplitude: 0.003, precision: 'float' }).linear(1, 0.5);
}

/** The factor by which an edge of a picture is reduced before a blur with `sigma`. */
function reductionFactorFor(edgePx: number, sigma: number): number {
  return Math.max(1, Math.min(sigma / REDUCED_SIGMA_PX, edgePx / MIN_REDUCED_EDGE_PX));
}

/**
 * Blurs the pixels of one frame by a Gaussian that is applied to a reduced copy. The copy lacks only details that a
 * wide blur removes anyway; at full size, the time would grow with sigma. Pixels at the border are repeated outwards.
 * If the width or the height is too small for the full reduction, the rest of the blur is applied in that direction.
 */
async function blurReducedCopy(picture: PassPicture, sigma: number): Promise<Pixels> {
  const pixels = await picture.pixels();
  const [acrossBy, downBy] = [
    reductionFactorFor(pixels.width, sigma),
    reductionFactorFor(pixels.height, sigma),
  ];
  const [across, down] = [sigmaOfReducedCopy(acrossBy, sigma), sigmaOfReducedCopy(downBy, sigma)] as const;
  const shared = Math.min(across, down, REDUCED_SIGMA_PX);
  const margin = Math.ceil(shared * KERNEL_RADIUS_SIGMAS);
  const size = { width: scaleSize(pixels, 1 / acrossBy).width, height: scaleSize(pixels, 1 / downBy).height };
  const reducedWithMargin = await reduceWithMargin(picture, pixels, size, margin);
  if (across > REDUCED_SIGMA_PX) blurLines(reducedWithMargin, 'rows', Math.sqrt(across ** 2 - shared ** 2));
  if (down > REDUCED_SIGMA_PX) blurLines(reducedWithMargin, 'columns', Math.sqrt(down ** 2 - shared ** 2));
  const blurred = await readPixels(blurAtFullSize(picture.pipelineOver(reducedWithMargin), shared));
  const part = { ...size, left: margin, top: margin };
  return enlargePixels(blurred, pixels, 'cubic', picture.checkDeadline, part);
}

/** The sigma in pixels of a reduced copy, without the blur of the reduction itself. */
function sigmaOfReducedCopy(factor: number, sigma: number): number {
  return Math.sqrt((sigma / factor) ** 2 - REDUCTION_VARIANCE);
}

/**
 * Blurs the rows or the columns of a small picture, which may be far shorter than the kernel. Edge pixels are repeated
 * outwards. The colours of transparent pixels do not count.
 */
function blurLines(
  { data, width, height, channels }: Pixels,
  lines: 'rows' | 'columns',
  sigma: number,
): void {
  const [count, step] = lines === 'rows' ? [width, channels] : [height, width * channels];
  const [lineCount, lineStep] = lines === 'rows' ? [height, width * channels] : [width, channels];
  const shares = pixelWeightsFor(count, sigma);
  const opacityAt = channels % 2 === 0 ? channels - 1 : undefined;
  const line = new Uint8Array(count * channels);
  for (let start = 0; start < lineCount * lineStep; start += lineStep) {
    for (let at = 0; at < count; at += 1)
      line.set(data.subarray(start + at * step, start + at * step + channels), at * channels);
    for (let to = 0; to < count; to += 1) {
      const sums = new Float64Array(channels);
      let opacity = 0;
      for (let from = 0; from < count; from += 1) {
        const share = shares[to * count + from] as number;
        const weight =
          opacityAt === undefined ? share : share * (line[from * channels + opacityAt] as number);
        opacity += weight;
        for (let channel = 0; channel < channels; channel += 1)
          sums[channel] = (sums[channel] as number) + weight * (line[from * channels + channel] as number);
      }
      for (let channel = 0; channel < channels; channel += 1) {
        const value = channel === opacityAt ? opacity : (sums[channel] as number) / (opacity || 1);
        data[start + to * step + channel] = Math.round(value);
      }
    }
  }
}

/**
 * The weight of each pixel of a line in each blurred pixel. The weights of the pixels at both ends include those of the
 * repeated pixels.
 */
function pixelWeightsFor(count: number, sigma: number): Float64Array {
  const radius = Math.ceil(sigma * KERNEL_RADIUS_SIGMAS);
  const kernel = Float64Array.from({ length: 2 * radius + 1 }, (_, at) =>
    Math.exp(-((at - radius) ** 2) / (2 * sigma ** 2)),
  );
  const total = kernel.reduce((sum, weight) => sum + weight, 0);
  const shares = new Float64Array(count * count);
  for (let to = 0; to < count; to += 1)
    for (const [at, weight] of kernel.entries()) {
      const from = Math.min(Math.max(to + at - radius, 0), count - 1);
      shares[to * count + from] = (shares[to * count + from] as number) + weight / total;
    }
  return shares;
}

/**
 * Reduces a picture, and adds a margin that repeats the edge pixels of the original picture, not those of the reduced
 * one.
 */
async function reduceWithMargin(
  picture: PassPicture,
  pixels: Pixels,
  size: Size,
  margin: number,
): Promise<Pixels> {
  const { width, height } = pixels;
  const reduced = async (box: Box, size: Size) =>
    readPixels(picture.pipelineOver(copyBox(pixels, box)).resize({ ...size, fit: 'fill', kernel: 'linear' }));
  const column = { top: 0, width: 1, height };
  const row = { left: 0, width, height: 1 };
  const [inner, left, right, top, bottom] = await Promise.all([
    reduced({ ...row, top: 0, height }, size),
    reduced({ ...column, left: 0 }, { width: 1, height: size.height }),
    reduced({ ...column, left: width - 1 }, { width: 1, height: size.height }),
    reduced({ ...row, top: 0 }, { width: size.width, height: 1 }),
    reduced({ ...row, top: height - 1 }, { width: size.width, height: 1 }),
  ]);
  const { channels } = inner;
  const padded = { width: size.width + 2 * margin, height: size.height + 2 * margin };
  const result = { ...inner, ...padded, data: new Uint8Array(padded.width * padded.height * channels) };
  const innerEnd = { left: margin + size.width, top: margin + size.height };
  for (const toLeft of [0, innerEnd.left])
    for (const toTop of [0, innerEnd.top]) {
      const [x, y] = [toLeft === 0 ? 0 : width - 1, toTop === 0 ? 0 : height - 1];
      const corner = copyBox(pixels, { left: x, top: y, width: 1, height: 1 });
      fillBoxWithPixel(result, { left: toLeft, top: toTop, width: margin, height: margin }, corner.data);
    }
  for (let step = 0; step < margin; step++) {
    pastePixels(result, left, { left: step, top: margin });
    pastePixels(result, right, { left: innerEnd.left + step, top: margin });
    pastePixels(result, top, { left: margin, top: step });
    pastePixels(result, bottom, { left: margin, top: innerEnd.top + step });
  }
  pastePixels(result, inner, { left: margin, top: margin });
  return result;
}
