import type { Pixels } from '../pixels/pixels.ts';

/**
 * Longest side, in pixels, of the copy on which colours, entropy, sharpness and hashes are measured. A smaller picture
 * is measured itself. The sharpness of a larger picture is that of its 1024 px copy, which makes pictures of different
 * sizes comparable and costs a twelfth of reading every pixel of 12 megapixels.
 */
export const MAX_SAMPLE_EDGE_PX = 1024;

/** Raw 8-bit sRGB pixels (three channels, or four with alpha). */
export interface PixelSample {
  data: Uint8Array<ArrayBufferLike>;
  width: number;
  height: number;
  channels: 3 | 4;
}

/** Converts the pixels of a pass to a sample. Grey pixels get three channels. */
export function toPixelSample({ data, width, height, channels }: Omit<Pixels, 'frames'>): PixelSample {
  if (channels !== 1) return { data, width, height, channels };
  const colours = new Uint8Array(3 * data.length);
  for (let from = 0, to = 0; from < data.length; from++, to += 3)
    colours.fill(data[from] as number, to, to + 3);
  return { data: colours, width, height, channels: 3 };
}
