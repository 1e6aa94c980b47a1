import type { Pixels } from '../pixels/pixels.ts';

/**
 * Longest side of the copy that colours, entropy, sharpness and hashes are measured on. A picture no larger is
 * measured as it is; of a larger one sharpness is that of its 1024 px copy, which makes pictures of different sizes
 * comparable and costs a twelfth of reading every pixel of 12 megapixels.
 */
export const WORKING_PX = 1024;

/** Raw pixels of 8 bits in sRGB (three channels, or four with alpha). */
export interface Sample {
  data: Uint8Array<ArrayBufferLike>;
  width: number;
  height: number;
  channels: 3 | 4;
}

/** Pixels of a pass as a sample: grey ones with three channels. */
export function coloured({ data, width, height, channels }: Omit<Pixels, 'frames'>): Sample {
  if (channels !== 1) return { data, width, height, channels };
  const colours = new Uint8Array(3 * data.length);
  for (let from = 0, to = 0; from < data.length; from++, to += 3)
    colours.fill(data[from] as number, to, to + 3);
  return { data: colours, width, height, channels: 3 };
}
