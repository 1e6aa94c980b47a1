import type { Size } from '../formats/size.ts';

/**
 * The smallest factor at which libjpeg shrinks a picture while decoding it. Slightly more than 2 would suffice for
 * libjpeg, but sharp then reads the whole picture because of rounding.
 */
const JPEG_FACTOR = 3;

/** The format of a file as named by libvips, and its size as displayed. */
interface ScalableFile extends Size {
  format: string;
  orientation: number;
}

/**
 * Whether a picture whose first step scales it has other pixels than the whole decoded picture: the decoder shrinks it,
 * or sharp scales it before turning it upright. Such pixels suit one size only.
 * @param scaled the size as displayed.
 */
export function scalesOnLoad({ format, orientation, width, height }: ScalableFile, scaled: Size): boolean {
  const factor = Math.min(width / scaled.width, height / scaled.height);
  if (orientation > 1) return scaled.width !== width || scaled.height !== height;
  return format === 'jpeg' ? factor >= JPEG_FACTOR : format === 'webp' && factor > 1;
}
