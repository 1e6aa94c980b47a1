import type { Size } from '../formats/size.ts';
import { wholePixels } from '../formats/svg.ts';
import type { RawPixels, TaskFailure } from '../protocol.ts';

/*
 * The messages between an API process and the child process that draws SVGs. Both sides import this file; neither
 * imports the other.
 */

/**
 * The size in which a drawing is drawn. `density`: by dots per inch; at 96, a CSS pixel is one pixel. `atLeast`: at
 * least this size in pixels, as far as the limit allows. `mayShrink`: smaller if the limit requires it.
 */
export type RequestedDrawingSize =
  | { density: number; mayShrink?: boolean }
  | { atLeast: { width?: number; height?: number } };

/** A task that draws an SVG to pixels, in a process that can be killed. The process performs one task at a time. */
export interface RasterizeTask {
  input: Uint8Array;
  size: RequestedDrawingSize;
  /** Largest output, in pixels. */
  limitPixels: number;
}

export interface RasterizedPixels extends RawPixels {
  kind: 'rasterized';
  /** RGBA, row by row. */
  pixels: Uint8Array<ArrayBuffer>;
  /** Size of the drawing at 96 dots per inch, in pixels. */
  naturalWidth: number;
  naturalHeight: number;
}

export type RasterizeResult = RasterizedPixels | TaskFailure;

/** Dots per inch of a CSS pixel. */
export const CSS_DENSITY = 96;
/** Largest width or height of a surface of the renderer, in pixels. */
const MAX_SIDE_PX = 32_767;
/** A factor that keeps a drawing below the limit when its sides are rounded up. */
const ROUNDING_ROOM = 0.999;

/**
 * The size of a drawing in pixels, or the failure of a drawing that is too large.
 * @param natural its size in CSS pixels, not rounded.
 * @param limitPixels the largest area.
 */
export function pixelSizeOfDrawing(
  size: RequestedDrawingSize,
  natural: Size,
  limitPixels: number,
): Size | TaskFailure {
  const scale = scaleFor(size, natural, limitPixels);
  const pixels = wholePixels({ width: natural.width * scale, height: natural.height * scale });
  return roomFor(pixels, limitPixels) < 1 ? tooLarge(pixels, limitPixels, scale) : pixels;
}

/** The factor by which a drawing is drawn larger than its natural size. */
function scaleFor(size: RequestedDrawingSize, natural: Size, limitPixels: number): number {
  const highest = roomFor(natural, limitPixels) * ROUNDING_ROOM;
  if ('density' in size) {
    const scale = size.density / CSS_DENSITY;
    return size.mayShrink ? Math.min(scale, highest) : scale;
  }
  const { width = 0, height = 0 } = size.atLeast;
  return Math.min(Math.max(width / natural.width, height / natural.height), highest);
}

/** The factor by which the size may grow within the limit. */
function roomFor(size: Size, limitPixels: number): number {
  return Math.min(Math.sqrt(limitPixels / area(size)), MAX_SIDE_PX / Math.max(size.width, size.height));
}

const area = ({ width, height }: Size) => width * height;

function tooLarge(size: Size, limit: number, scale: number): TaskFailure {
  const density = Math.floor(CSS_DENSITY * scale * roomFor(size, limit) * ROUNDING_ROOM);
  const orDensity = density < 1 ? '' : `, or send a density of at most ${density}`;
  return {
    kind: 'failure',
    code: 'unsupported_format',
    message: `The drawing would be ${size.width} × ${size.height} pixels; at most ${limit}, and ${MAX_SIDE_PX} per side, are drawn: begin with a resize, which draws it in that size at once${orDensity}.`,
    details: { limit, received: area(size) },
  };
}
