import sharp from 'sharp';
import { type Pixels, readPixels } from '../pixels/pixels.ts';

/** Size of the largest palette of a PNG. */
const MAX_COLOURS = 256;

/** PNG options that write a palette of exactly the colours of the picture. */
interface ExactPalette {
  palette: true;
  quality: 100;
  colors: number;
  dither: 0;
}

/**
 * The options for a palette of exactly the colours of the picture. Undefined when a palette cannot hold all of them.
 */
export function exactPaletteOf({ data, channels }: Pixels): ExactPalette | undefined {
  const colours = new Set<number>();
  const [second, third] = channels === 1 ? [0, 0] : [1, 2];
  for (let at = 0; at < data.length; at += channels) {
    const alpha = channels === 4 ? (data[at + 3] as number) : 255;
    const colour =
      (data[at] as number) * 0x1000000 +
      ((data[at + second] as number) << 16) +
      ((data[at + third] as number) << 8) +
      alpha;
    colours.add(colour);
    if (colours.size > MAX_COLOURS) return undefined;
  }
  return { palette: true, quality: 100, colors: Math.max(2, colours.size), dither: 0 };
}

/**
 * Whether a file decodes to exactly these pixels. The encoder chooses the palette itself, and does not guarantee to
 * keep it.
 */
export async function showsSamePixels(file: Uint8Array, { data, channels }: Pixels): Promise<boolean> {
  const opened = sharp(file, { limitInputPixels: false }).toColourspace(channels === 1 ? 'b-w' : 'srgb');
  const decoded = await readPixels(channels === 4 ? opened.ensureAlpha() : opened.removeAlpha());
  return Buffer.compare(decoded.data, data) === 0;
}
