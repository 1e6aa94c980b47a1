import type { Size } from '../formats/size.ts';

/**
 * From this factor on, libjpeg makes a picture smaller while it decodes it. A factor of 2 and a little more would do,
 * but sharp reads such a picture whole, because of the rounding of libjpeg.
 */
const JPEG_FACTOR = 3;

/** A file: its format as named by libvips, and its size as displayed. */
interface ScalableFile extends Size {
  format: string;
  orientation: number;
}

/**
 * Whether a picture that is scaled before all else gets other pixels than from the whole decoded picture: its decoder
 * makes it smaller, or it is scaled before it is turned upright. Such pixels are those of one size alone.
 * @param scaled the size, as displayed.
 */
export function scalesOnLoad({ format, orientation, width, height }: ScalableFile, scaled: Size): boolean {
  const factor = Math.min(width / scaled.width, height / scaled.height);
  if (orientation > 1) return scaled.width !== width || scaled.height !== height;
  return format === 'jpeg' ? factor >= JPEG_FACTOR : format === 'webp' && factor > 1;
}
