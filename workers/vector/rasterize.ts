import sharp from 'sharp';
import type { Size } from '../image/pixels/geometry.ts';
import type { Failure } from '../protocol.ts';
import { outputOf } from '../transport/output.ts';
import type { Rasterized, RasterizeTask } from './protocol.ts';
import { sanitize, UnsafeDrawing } from './sanitize.ts';

/** Dots per inch at which one user unit is one pixel. */
const NATURAL_DENSITY = 72;
const HIGHEST_DENSITY = 100_000;
/** Largest width or height of a surface of the renderer, in pixels. */
const LONGEST_SIDE = 32_767;
/** Factor that keeps a drawing at the limit below the limit when its sides are rounded up. */
const ROUNDING_ROOM = 0.999;

interface Raster {
  reply: Rasterized;
  /** RGBA, row by row. */
  pixels: Uint8Array;
}

/** Draws one SVG. A file that is no SVG, is unsafe or is too large returns a failure `unsupported_format`. */
export async function rasterize(task: RasterizeTask): Promise<Raster | Failure> {
  try {
    const drawing = Buffer.from(sanitize(task.input));
    const natural = await sizeAt(drawing, NATURAL_DENSITY);
    const density = await densityFor(task, drawing, natural);
    const size = density === NATURAL_DENSITY ? natural : await sizeAt(drawing, density);
    if (roomFor(size, task.limitPixels) < 1) return tooLarge(size, task.limitPixels);
    return await draw(drawing, density, natural);
  } catch (error) {
    return unreadable(error);
  }
}

/**
 * The density at which the drawing has at least the size that the task asks for, or as near to it as the limit allows.
 * It spares the pass from enlarging pixels where the drawing itself can be drawn larger.
 */
async function densityFor({ density, atLeast, limitPixels }: RasterizeTask, drawing: Buffer, natural: Size) {
  const scale = growthOf(natural, atLeast);
  const room = roomFor(natural, limitPixels);
  if (scale === 0 || room < 1) return density;
  const growth = Math.min(scale, room * ROUNDING_ROOM);
  const power = (await isPhysical(drawing, natural)) ? 0.5 : 1;
  const first = within(NATURAL_DENSITY * growth ** power);
  if (growth < scale) return first;
  const missing = growthOf(await sizeAt(drawing, first), atLeast);
  return missing > 1 ? within(first * missing ** power) : first;
}

/** The factor by which the size may grow within the limit. */
function roomFor(size: Size, limitPixels: number): number {
  return Math.min(Math.sqrt(limitPixels / area(size)), LONGEST_SIDE / Math.max(size.width, size.height));
}

/** The factor by which the size has to grow; 0 when the task asks for no size. */
function growthOf(size: Size, atLeast: RasterizeTask['atLeast']): number {
  return Math.max((atLeast?.width ?? 0) / size.width, (atLeast?.height ?? 0) / size.height);
}

/**
 * A drawing measured in millimetres or inches grows with the square of the density, because the decoder applies it
 * twice.
 */
async function isPhysical(drawing: Buffer, natural: Size): Promise<boolean> {
  const doubled = await sizeAt(drawing, 2 * NATURAL_DENSITY);
  return Math.max(doubled.width / natural.width, doubled.height / natural.height) > 3;
}

function within(density: number): number {
  return Math.min(HIGHEST_DENSITY, Math.max(1, density));
}

async function sizeAt(drawing: Buffer, density: number): Promise<Size> {
  const { width, height } = await sharp(drawing, { density, limitInputPixels: false }).metadata();
  return { width, height };
}

async function draw(drawing: Buffer, density: number, natural: Size): Promise<Raster> {
  const opened = sharp(drawing, { density, limitInputPixels: false });
  const { data, info } = await outputOf(opened.toColourspace('srgb').ensureAlpha().raw());
  const { width, height } = info;
  const own = { naturalWidth: natural.width, naturalHeight: natural.height };
  const reply: Rasterized = { kind: 'rasterized', width, height, channels: 4, ...own };
  return { reply, pixels: data };
}

const area = ({ width, height }: Size) => width * height;

function tooLarge(size: Size, limit: number): Failure {
  return {
    kind: 'failure',
    code: 'unsupported_format',
    message: `The drawing is ${size.width} × ${size.height} pixels; at most ${limit}, and ${LONGEST_SIDE} per side, are drawn: give it a smaller size or density.`,
    details: { limit, received: area(size) },
  };
}

function unreadable(error: unknown): Failure {
  const message =
    error instanceof UnsafeDrawing
      ? error.message
      : 'The bytes are no SVG that can be drawn: they do not parse, have no size, or need too much memory.';
  return { kind: 'failure', code: 'unsupported_format', message };
}
