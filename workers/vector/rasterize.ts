import sharp from 'sharp';
import { wholePixels } from '../formats/svg.ts';
import type { Size } from '../image/pixels/geometry.ts';
import type { Failure } from '../protocol.ts';
import { encodeOutput } from '../transport/output.ts';
import type { Drawing } from './drawing.ts';
import type { DrawingSize, Rasterized, RasterizeTask } from './protocol.ts';
import { sanitize, UnsafeDrawing } from './sanitize.ts';

/** Dots per inch of a CSS pixel. */
const CSS_DENSITY = 96;
/**
 * Every drawing is opened at this density, which makes an inch 96 CSS pixels. To make pixels, the decoder takes a CSS
 * pixel for 1/72 inch, so it scales every drawing by 96/72.
 */
const OPEN_OPTIONS = { density: CSS_DENSITY, unlimited: true, limitInputPixels: false };
const SCALE_OF_DECODER = CSS_DENSITY / 72;
/** Largest width or height of a surface of the renderer, in pixels. */
const MAX_SIDE_PX = 32_767;
/** Factor that keeps a drawing at the limit below the limit when its sides are rounded up. */
const ROUNDING_ROOM = 0.999;

interface DrawnPixels {
  reply: Rasterized;
  /** RGBA, row by row. */
  pixels: Uint8Array;
}

/** Draws one SVG. A file that is not an SVG, is unsafe or is too large returns a failure `unsupported_format`. */
export async function rasterize({ input, size, limitPixels }: RasterizeTask): Promise<DrawnPixels | Failure> {
  try {
    const drawing = sanitize(input);
    const natural = drawing.size ?? (await measured(drawing));
    const scale = scaleFor(size, natural, limitPixels);
    const pixels = wholePixels(scaled(natural, scale));
    if (roomFor(pixels, limitPixels) < 1) return tooLarge(pixels, limitPixels, scale);
    return await draw(drawing, natural, pixels);
  } catch (error) {
    return unreadable(error);
  }
}

/** The factor by which a drawing is drawn larger than its natural size. */
function scaleFor(size: DrawingSize, natural: Size, limitPixels: number): number {
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

/** The size of a drawing whose content decides it, as near as whole pixels of the decoder tell. */
async function measured(drawing: Drawing): Promise<Size> {
  const { width, height } = await sharp(Buffer.from(drawing.text()), OPEN_OPTIONS).metadata();
  return wholePixels(scaled({ width, height }, 1 / SCALE_OF_DECODER));
}

async function draw(drawing: Drawing, natural: Size, pixels: Size): Promise<DrawnPixels> {
  const text = drawing.textAt(natural, scaled(pixels, 1 / SCALE_OF_DECODER));
  const opened = sharp(Buffer.from(text), OPEN_OPTIONS);
  const { data, info } = await encodeOutput(opened.toColourspace('srgb').ensureAlpha().raw());
  const { width, height } = info;
  const { width: naturalWidth, height: naturalHeight } = wholePixels(natural);
  const reply: Rasterized = { kind: 'rasterized', width, height, channels: 4, naturalWidth, naturalHeight };
  return { reply, pixels: data };
}

function scaled({ width, height }: Size, scale: number): Size {
  return { width: width * scale, height: height * scale };
}

const area = ({ width, height }: Size) => width * height;

function tooLarge(size: Size, limit: number, scale: number): Failure {
  const density = Math.floor(CSS_DENSITY * scale * roomFor(size, limit) * ROUNDING_ROOM);
  const orDensity = density < 1 ? '' : `, or send a density of at most ${density}`;
  return {
    kind: 'failure',
    code: 'unsupported_format',
    message: `The drawing would be ${size.width} × ${size.height} pixels; at most ${limit}, and ${MAX_SIDE_PX} per side, are drawn: begin with a resize, which draws it in that size at once${orDensity}.`,
    details: { limit, received: area(size) },
  };
}

function unreadable(error: unknown): Failure {
  const message =
    error instanceof UnsafeDrawing
      ? error.message
      : 'The bytes are not an SVG that can be drawn: they do not parse, have no size, nest too deeply, or need too much memory.';
  return { kind: 'failure', code: 'unsupported_format', message };
}
