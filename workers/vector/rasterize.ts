import sharp from 'sharp';
import type { Size } from '../formats/size.ts';
import { wholePixels } from '../formats/svg.ts';
import type { TaskFailure } from '../protocol.ts';
import { encodeOutput } from '../transport/output.ts';
import type { SafeDrawing } from './drawing.ts';
import {
  CSS_DENSITY,
  pixelSizeOfDrawing,
  type RasterizedPixels,
  type RasterizeResult,
  type RasterizeTask,
} from './protocol.ts';
import { sanitizeSvg, UnsafeDrawingError } from './sanitize.ts';

/**
 * Every drawing is opened at this density, at which an inch has 96 CSS pixels. The decoder itself assumes that a CSS
 * pixel is 1/72 inch, so it scales every drawing by 96/72.
 */
const OPEN_OPTIONS = { density: CSS_DENSITY, unlimited: true, limitInputPixels: false };
const DECODER_SCALE = CSS_DENSITY / 72;
/** The largest number of embedded pictures that are checked. Each check takes a fraction of a millisecond. */
const MAX_CHECKED_PICTURES = 1_000;

/** Draws one SVG. A file that is not an SVG, is unsafe or is too large returns a failure `unsupported_format`. */
export async function rasterizeSvg({ input, size, maxPixels }: RasterizeTask): Promise<RasterizeResult> {
  try {
    const safe = sanitizeSvg(input);
    const tooLarge = await tooLargePictureFailure(safe, maxPixels);
    if (tooLarge !== undefined) return tooLarge;
    const replacements = await convertToPngAddresses(safe);
    const drawing = replacements.size === 0 ? safe : sanitizeSvg(input, replacements);
    const natural = drawing.size ?? (await measureDrawing(drawing));
    const pixels = pixelSizeOfDrawing(size, natural, maxPixels);
    return 'kind' in pixels ? pixels : await drawPixels(drawing, natural, pixels);
  } catch (error) {
    return unreadableFailure(error);
  }
}

/**
 * The failure of a drawing with an embedded picture that is larger than a picture may be. Decoding it would take all of
 * the memory or time. A picture that cannot be read is left to the renderer, which omits it.
 */
async function tooLargePictureFailure(
  { pictures }: SafeDrawing,
  limit: number,
): Promise<TaskFailure | undefined> {
  for (const { file } of pictures.slice(0, MAX_CHECKED_PICTURES)) {
    const header = sharp(file, { limitInputPixels: false }).metadata();
    const { width, height } = await header.catch(() => ({ width: 0, height: 0 }));
    if (width * height <= limit) continue;
    return {
      kind: 'failure',
      code: 'unsupported_format',
      message: `A picture in the drawing has ${width} × ${height} pixels, and at most ${limit} are read: embed a smaller one.`,
      details: { limit, received: width * height },
    };
  }
  return undefined;
}

/** Matches the first bytes of a picture in a format that browsers draw and the renderer does not: GIF, WebP, AVIF. */
const UNDRAWN_FORMAT_START = /^(?:GIF8|RIFF|.{4}ftypavi[fs])/s;

/**
 * Converts the pictures whose format the renderer does not draw to PNG, and returns their new `data:` URLs, keyed by
 * the old ones. An animation becomes its first frame. A picture that cannot be read is left out.
 */
async function convertToPngAddresses({ pictures }: SafeDrawing): Promise<Map<string, string>> {
  const addresses = new Map<string, string>();
  for (const { address, file } of pictures.slice(0, MAX_CHECKED_PICTURES)) {
    if (addresses.has(address) || !UNDRAWN_FORMAT_START.test(file.toString('latin1', 0, 12))) continue;
    const opened = sharp(file, { limitInputPixels: false, autoOrient: true });
    const png = await encodeOutput(opened.png({ compressionLevel: 1 })).catch(() => undefined);
    if (png !== undefined)
      addresses.set(address, `data:image/png;base64,${Buffer.from(png.data).toString('base64')}`);
  }
  return addresses;
}

/** Measures a drawing whose content decides its size, to whole pixels of the decoder. */
async function measureDrawing(drawing: SafeDrawing): Promise<Size> {
  const { width, height } = await sharp(Buffer.from(drawing.text()), OPEN_OPTIONS).metadata();
  return wholePixels(multiplySize({ width, height }, 1 / DECODER_SCALE));
}

async function drawPixels(drawing: SafeDrawing, natural: Size, pixels: Size): Promise<RasterizedPixels> {
  const text = drawing.textAt(natural, multiplySize(pixels, 1 / DECODER_SCALE));
  const opened = sharp(Buffer.from(text), OPEN_OPTIONS);
  const { data, info } = await encodeOutput(opened.toColourspace('srgb').ensureAlpha().raw());
  const { width, height } = info;
  const { width: naturalWidth, height: naturalHeight } = wholePixels(natural);
  return { kind: 'rasterized', width, height, channels: 4, naturalWidth, naturalHeight, pixels: data };
}

function multiplySize({ width, height }: Size, scale: number): Size {
  return { width: width * scale, height: height * scale };
}

function unreadableFailure(error: unknown): TaskFailure {
  const message =
    error instanceof UnsafeDrawingError
      ? error.message
      : 'The bytes are not an SVG that can be drawn: they do not parse, have no size, nest too deeply, or need too much memory.';
  return { kind: 'failure', code: 'unsupported_format', message };
}
