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
 * Every drawing is opened at 96 pixels per inch. The decoder takes a CSS pixel for 1/72 inch, so at this density it
 * enlarges every drawing by 96/72.
 */
const OPEN_OPTIONS = { density: CSS_DENSITY, unlimited: true, limitInputPixels: false };
const DECODER_SCALE = CSS_DENSITY / 72;
/** The largest number of embedded pictures that are checked. Each check takes a fraction of a millisecond. */
const MAX_CHECKED_PICTURES = 1_000;

/** Draws one SVG. A file that is not an SVG, is unsafe or is too large returns a failure `unsupported_format`. */
export async function rasterizeSvg({ input, size, maxPixels }: RasterizeTask): Promise<RasterizeResult> {
  try {
    const safe = sanitizeSvg(input);
    const replacements = await replacePictures(safe, maxPixels);
    if ('kind' in replacements) return replacements;
    const drawing = replacements.size === 0 ? safe : sanitizeSvg(input, replacements);
    const natural = drawing.size ?? (await measureDrawing(drawing));
    const pixels = pixelSizeOfDrawing(size, natural, maxPixels);
    return 'kind' in pixels ? pixels : await drawPixels(drawing, natural, pixels);
  } catch (error) {
    return unreadableFailure(error);
  }
}

/** The new `data:` URLs of embedded pictures, by the old ones, or the failure of a picture that is too large. */
async function replacePictures(
  { pictures }: SafeDrawing,
  maxPixels: number,
): Promise<Map<string, string> | TaskFailure> {
  if (pictures.length === 0) return new Map();
  // Most drawings have no pictures, and the modules take a tenth of a second to load.
  const { convertToPngAddresses, tooLargePictureFailure } = await import('./pictures.ts');
  const checked = pictures.slice(0, MAX_CHECKED_PICTURES);
  return (await tooLargePictureFailure(checked, maxPixels)) ?? (await convertToPngAddresses(checked));
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
