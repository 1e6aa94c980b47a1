import type { Size } from '../formats/size.ts';
import { wholePixels } from '../formats/svg.ts';
import type { RawPixelShape, TaskFailure } from '../protocol.ts';

/*
 * The messages between an API process and the child process that draws SVGs. Both sides import this file; neither
 * imports the other.
 */

/**
 * The size in which a drawing is drawn. `density` gives dots per inch; at 96, a CSS pixel is one pixel. `atLeast` gives
 * the smallest size in pixels; the limit of the area may make it smaller. With `mayShrink`, the drawing becomes smaller
 * if the limit requires it.
 */
export type RequestedDrawingSize =
  | { density: number; mayShrink?: boolean }
  | { atLeast: { width?: number; height?: number } };

/** A task that draws an SVG to pixels, in a process that can be killed. The process performs one task at a time. */
export interface RasterizeTask {
  input: Uint8Array;
  size: RequestedDrawingSize;
  /** The largest area of the output, in pixels. */
  maxPixels: number;
}

export interface RasterizedPixels extends RawPixelShape {
  kind: 'rasterized';
  /** RGBA, row by row. */
  pixels: Uint8Array<ArrayBuffer>;
  /** The width and height of the drawing at 96 dots per inch, in pixels. */
  naturalWidth: number;
  naturalHeight: number;
}

export type RasterizeResult = RasterizedPixels | TaskFailure;

/** The density at which a CSS pixel is one pixel, in dots per inch. */
export const CSS_DENSITY = 96;
/** The largest width or height of a surface of the renderer, in pixels. */
const MAX_SURFACE_SIDE_PX = 32_767;
/** A factor that keeps a drawing below the limit when its sides are rounded up. */
const ROUNDING_SAFETY_FACTOR = 0.999;

/**
 * The size of a drawing in pixels, or the failure of a drawing that is too large.
 * @param natural its size in CSS pixels, not rounded.
 * @param maxPixels the largest area.
 */
export function pixelSizeOfDrawing(
  size: RequestedDrawingSize,
  natural: Size,
  maxPixels: number,
): Size | TaskFailure {
  const scale = drawingScaleFor(size, natural, maxPixels);
  const pixels = wholePixels({ width: natural.width * scale, height: natural.height * scale });
  return maxGrowthFactorFor(pixels, maxPixels) < 1 ? tooLargeFailure(pixels, maxPixels, scale) : pixels;
}

/** The factor by which a drawing is drawn larger than its natural size. */
function drawingScaleFor(size: RequestedDrawingSize, natural: Size, maxPixels: number): number {
  const highest = maxGrowthFactorFor(natural, maxPixels) * ROUNDING_SAFETY_FACTOR;
  if ('density' in size) {
    const scale = size.density / CSS_DENSITY;
    return size.mayShrink ? Math.min(scale, highest) : scale;
  }
  const { width = 0, height = 0 } = size.atLeast;
  return Math.min(Math.max(width / natural.width, height / natural.height), highest);
}

/** The factor by which the size may grow within the limit. */
function maxGrowthFactorFor(size: Size, maxPixels: number): number {
  return Math.min(
    Math.sqrt(maxPixels / areaOf(size)),
    MAX_SURFACE_SIDE_PX / Math.max(size.width, size.height),
  );
}

const areaOf = ({ width, height }: Size) => width * height;

function tooLargeFailure(size: Size, limit: number, scale: number): TaskFailure {
  const density = Math.floor(CSS_DENSITY * scale * maxGrowthFactorFor(size, limit) * ROUNDING_SAFETY_FACTOR);
  const orDensity = density < 1 ? '' : `, or send a density of at most ${density}`;
  return {
    kind: 'failure',
    code: 'unsupported_format',
    message: `The drawing would be ${size.width} × ${size.height} pixels; at most ${limit}, and ${MAX_SURFACE_SIDE_PX} per side, are drawn: begin with a resize, which draws it in that size at once${orDensity}.`,
    details: { limit, received: areaOf(size) },
  };
}
