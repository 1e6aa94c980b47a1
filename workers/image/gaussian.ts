import type { Sharp } from 'sharp';
import type { Size } from '../formats/size.ts';
import type { PassPicture } from './picture.ts';
import { type Box, scaleSize } from './pixels/geometry.ts';
import { cutBox, fillBoxWithPixel, pastePixels } from './pixels/paint.ts';
import { type Pixels, readPixels } from './pixels/pixels.ts';
import { enlargePixels } from './pixels/resample.ts';

/** Largest sigma at which the whole kernel is applied to every pixel; its cost grows with sigma. */
const MAX_DIRECT_SIGMA_PX = 4;
/** For a larger sigma, the picture is first reduced so far that the sigma in the reduced picture has this value. */
const REDUCED_SIGMA_PX = 3;
/** A picture is not reduced below this number of pixels along a side. */
const MIN_EDGE_PX = 8;
/** The blur that the reduction itself causes, as the variance of its linear kernel in pixels of the reduced picture. */
const REDUCTION_VARIANCE = 1 / 6;
/** Radius of a kernel in sigmas. Beyond it, the amplitude of the kernel is below the cut-off. */
const REACH = 3.5;

/** Blurs a picture of one frame by a Gaussian. */
export async function gaussianBlur(picture: PassPicture, sigma: number): Promise<void> {
  const factor = reductionFor(picture, sigma);
  if (factor === 1) blurredWhole(await picture.at('blur', 'linear'), sigma);
  else picture.replace(await blurredSmall(picture, sigma, factor));
}

/**
 * Applies the whole kernel to a picture. sharp's default settings truncate the kernel so early that the blur is a sixth
 * too weak, and in integers they change the brightness. sharp truncates floats to bytes where it should round, so half
 * a level is added to them.
 */
function blurredWhole(pipeline: Sharp, sigma: number): Sharp {
  return pipeline.blur({ sigma, minAmplitude: 0.003, precision: 'float' }).linear(1, 0.5);
}

/**
 * The factor by which a picture is reduced before a blur of that sigma; 1 if the whole kernel is applied to the picture
 * itself.
 */
function reductionFor({ width, height }: Size, sigma: number): number {
  if (sigma <= MAX_DIRECT_SIGMA_PX) return 1;
  return Math.max(1, Math.min(sigma / REDUCED_SIGMA_PX, Math.min(width, height) / MIN_EDGE_PX));
}

/**
 * Blurs the pixels of one frame by a Gaussian that is applied to a copy reduced by `factor`. The copy lacks only
 * details that a wide blur removes anyway, and the whole kernel would take time in proportion to sigma. Edge pixels are
 * repeated outwards.
 */
async function blurredSmall(picture: PassPicture, sigma: number, factor: number): Promise<Pixels> {
  const pixels = await picture.pixels();
  const remainingSigma = Math.sqrt((sigma / factor) ** 2 - REDUCTION_VARIANCE);
  const margin = Math.ceil(remainingSigma * REACH);
  const size = scaleSize(pixels, 1 / factor);
  const reducedWithMargin = await withMargin(picture, pixels, size, margin);
  const blurred = await readPixels(blurredWhole(picture.pipelineOver(reducedWithMargin), remainingSigma));
  return enlargePixels(blurred, pixels, 'cubic', picture.checkDeadline, {
    ...size,
    left: margin,
    top: margin,
  });
}

/** Reduces a picture and repeats its own edge pixels around it, not those of the reduced picture. */
async function withMargin(picture: PassPicture, pixels: Pixels, size: Size, margin: number): Promise<Pixels> {
  const { width, height } = pixels;
  const reduced = async (box: Box, size: Size) =>
    readPixels(picture.pipelineOver(cutBox(pixels, box)).resize({ ...size, fit: 'fill', kernel: 'linear' }));
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
  const far = { left: margin + size.width, top: margin + size.height };
  for (const toLeft of [0, far.left])
    for (const toTop of [0, far.top]) {
      const [x, y] = [toLeft === 0 ? 0 : width - 1, toTop === 0 ? 0 : height - 1];
      const corner = cutBox(pixels, { left: x, top: y, width: 1, height: 1 });
      fillBoxWithPixel(result, { left: toLeft, top: toTop, width: margin, height: margin }, corner.data);
    }
  for (let step = 0; step < margin; step++) {
    pastePixels(result, left, { left: step, top: margin });
    pastePixels(result, right, { left: far.left + step, top: margin });
    pastePixels(result, top, { left: margin, top: step });
    pastePixels(result, bottom, { left: margin, top: far.top + step });
  }
  pastePixels(result, inner, { left: margin, top: margin });
  return result;
}
