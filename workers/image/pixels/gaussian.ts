import type { Sharp } from 'sharp';
import type { Picture } from '../picture.ts';
import { type Box, type Size, scaledBy } from './geometry.ts';
import { cut, fillWithBytes, paste } from './paint.ts';
import { type Pixels, pixelsOf } from './pixels.ts';
import { enlarged } from './resample.ts';

/** Up to here the whole kernel is laid over every pixel; its cost grows with sigma. */
const DIRECT_SIGMA_PX = 4;
/** Above, the picture is made so much smaller first that this is left of sigma. */
const REDUCED_SIGMA_PX = 3;
/** A picture is not reduced to fewer pixels along an edge than that. */
const SMALLEST_EDGE_PX = 8;
/** What making a picture smaller blurs it, as a variance in pixels of the smaller one: that of the linear kernel. */
const REDUCTION_VARIANCE = 1 / 6;
/** How far a kernel reaches, in sigmas: below the amplitude at which it is cut off. */
const REACH = 3.5;

/** Blurs a picture of one frame by a Gaussian. */
export async function blurBy(picture: Picture, sigma: number): Promise<void> {
  const factor = reductionFor(picture, sigma);
  if (factor === 1) blurredWhole(await picture.at('blur', 'linear'), sigma);
  else picture.replace(await blurredSmall(picture, sigma, factor));
}

/**
 * Lays the whole kernel over a picture. sharp's own settings cut a kernel off so early that it is a sixth too weak, and in
 * integers it changes the brightness. Floats are cut off to bytes where they should be rounded: half a level is added to them.
 */
function blurredWhole(pipeline: Sharp, sigma: number): Sharp {
  return pipeline.blur({ sigma, minAmplitude: 0.003, precision: 'float' }).linear(1, 0.5);
}

/** How much smaller a picture is made before a blur of that sigma; 1 where the whole kernel is laid over it as it is. */
function reductionFor({ width, height }: Size, sigma: number): number {
  if (sigma <= DIRECT_SIGMA_PX) return 1;
  return Math.max(1, Math.min(sigma / REDUCED_SIGMA_PX, Math.min(width, height) / SMALLEST_EDGE_PX));
}

/**
 * Pixels of one frame, blurred by a Gaussian that is laid over a copy made smaller by `factor`. Such a copy has lost nothing
 * that a wide blur would leave, and the whole kernel takes time in proportion to sigma. Beyond the edges the pixels
 * at the edges go on.
 */
async function blurredSmall(picture: Picture, sigma: number, factor: number): Promise<Pixels> {
  const pixels = await picture.pixels();
  const left = Math.sqrt((sigma / factor) ** 2 - REDUCTION_VARIANCE);
  const margin = Math.ceil(left * REACH);
  const size = scaledBy(pixels, 1 / factor);
  const small = await withMargin(picture, pixels, size, margin);
  const blurred = await pixelsOf(blurredWhole(picture.pipelineOver(small), left));
  return enlarged(blurred, pixels, 'cubic', picture.lookAtClock, { ...size, left: margin, top: margin });
}

/** A picture made smaller, with its edges going on around it: those of the picture itself, not those of the smaller one. */
async function withMargin(picture: Picture, pixels: Pixels, size: Size, margin: number): Promise<Pixels> {
  const { width, height } = pixels;
  const reduced = async (box: Box, size: Size) =>
    pixelsOf(picture.pipelineOver(cut(pixels, box)).resize({ ...size, fit: 'fill', kernel: 'linear' }));
  const column = { top: 0, width: 1, height };
  const row = { left: 0, width, height: 1 };
  const [whole, left, right, top, bottom] = await Promise.all([
    reduced({ ...row, top: 0, height }, size),
    reduced({ ...column, left: 0 }, { width: 1, height: size.height }),
    reduced({ ...column, left: width - 1 }, { width: 1, height: size.height }),
    reduced({ ...row, top: 0 }, { width: size.width, height: 1 }),
    reduced({ ...row, top: height - 1 }, { width: size.width, height: 1 }),
  ]);
  const { channels } = whole;
  const padded = { width: size.width + 2 * margin, height: size.height + 2 * margin };
  const result = { ...whole, ...padded, data: new Uint8Array(padded.width * padded.height * channels) };
  const far = { left: margin + size.width, top: margin + size.height };
  paintCorners(result, pixels, margin, far);
  for (let step = 0; step < margin; step++) {
    paste(result, left, { left: step, top: margin });
    paste(result, right, { left: far.left + step, top: margin });
    paste(result, top, { left: margin, top: step });
    paste(result, bottom, { left: margin, top: far.top + step });
  }
  paste(result, whole, { left: margin, top: margin });
  return result;
}

function paintCorners(
  onto: Pixels,
  { data, width, height, channels }: Pixels,
  margin: number,
  far: { left: number; top: number },
): void {
  for (const [left, x] of [
    [0, 0],
    [far.left, width - 1],
  ] as const) {
    for (const [top, y] of [
      [0, 0],
      [far.top, height - 1],
    ] as const) {
      const at = (y * width + x) * channels;
      fillWithBytes(onto, { left, top, width: margin, height: margin }, data.subarray(at, at + channels));
    }
  }
}
