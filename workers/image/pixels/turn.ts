import type sharp from 'sharp';
import type { Size } from '../../formats/size.ts';
import { rotatedBoundingSize } from './geometry.ts';
import { copyBox } from './paint.ts';
import { type Pixels, type Rgba, readPixels } from './pixels.ts';

/**
 * The width of the margin around the picture in which its edges blend with the background: the radius of the bicubic
 * kernel.
 */
const BLEND_MARGIN_PX = 2;

/**
 * Turns the pixels of one frame clockwise around their centre by any angle, with bicubic interpolation. The result
 * contains the whole frame. Uncovered corners take the background. sharp's own rotation is bilinear, shifts by up to
 * half a pixel, and cuts a row.
 * @param angle in degrees.
 * @param codec is passed in, so that a process that only reads the schemas of operations does not load it.
 */
export async function turnPixels(
  pixels: Pixels,
  angle: number,
  background: Rgba,
  codec: typeof sharp,
): Promise<Pixels> {
  const { data, width, height, channels } = pixels;
  const result = rotatedBoundingSize(pixels, angle);
  const padded = { width: width + 2 * BLEND_MARGIN_PX, height: height + 2 * BLEND_MARGIN_PX };
  const radians = (angle * Math.PI) / 180;
  const [cos, sin] = [Math.cos(radians), Math.sin(radians)];
  const across = axisOffsetsOf(padded, cos, -sin, result.width);
  const down = axisOffsetsOf(padded, sin, cos, result.height);
  const margin = {
    top: BLEND_MARGIN_PX,
    right: BLEND_MARGIN_PX,
    bottom: BLEND_MARGIN_PX,
    left: BLEND_MARGIN_PX,
  };
  const raw = { width, height, channels };
  const withMargin = await readPixels(
    codec(data, { raw, limitInputPixels: false }).extend({ ...margin, background }),
  );
  const turned = await readPixels(
    codec(withMargin.data, {
      raw: { ...padded, channels: withMargin.channels },
      limitInputPixels: false,
    }).affine([cos, -sin, sin, cos], {
      odx: across.offset,
      ody: down.offset,
      background,
      interpolator: codec.interpolators.bicubic,
    }),
  );
  return copyBox(turned, { ...result, left: across.start, top: down.start });
}

/**
 * For one axis, the offset of the result in libvips' output, out of which it is cut, and the shift that brings the
 * centre of the picture to the centre of the result. libvips' output is the bounding box of the turned corners in whole
 * pixels.
 * @param a first element of the matrix row that gives the coordinate.
 * @param b second element of that row.
 */
function axisOffsetsOf({ width, height }: Size, a: number, b: number, edgePx: number) {
  const corners = [0, a * width, b * height, a * width + b * height];
  const [low, high] = [Math.min(...corners), Math.max(...corners)];
  const start = Math.floor((roundAway(high - low) - edgePx) / 2);
  // Coordinates count from the centre of the first pixel.
  const middle = (a * (width - 1) + b * (height - 1)) / 2;
  return { start, offset: roundAway(low) + start + (edgePx - 1) / 2 - middle };
}

/** Rounds as libvips does: halves are rounded away from zero. */
function roundAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}
