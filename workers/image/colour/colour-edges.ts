import type { Pixels } from '../pixels/pixels.ts';

/** Two neighbours that differ by as much in their colour alone stand at an edge that coarse colours would blur. */
const HARD = 90;
/** From this share of hard edges on, a picture is a drawing or a screen and no photograph. */
const SHARE = 0.004;
/** One row of this many is looked at. */
const STEP = 3;

/**
 * Whether a picture has enough hard edges between colours, as type on a coloured ground does, that chroma subsampling would
 * be seen.
 */
export function hasHardColourEdges({ data, width, height, channels, frames }: Pixels): boolean {
  if (channels === 1) return false;
  let edges = 0;
  let compared = 0;
  for (let y = 0; y < height * frames; y += STEP) {
    let at = y * width * channels;
    for (let x = 1; x < width; x++, at += channels) {
      compared++;
      if (colourDistance(data, at, at + channels) > HARD) edges++;
    }
  }
  return edges > SHARE * compared;
}

/** How far two pixels are apart in Cb and Cr (JFIF). */
function colourDistance(data: Uint8Array, one: number, other: number): number {
  const red = (data[one] as number) - (data[other] as number);
  const green = (data[one + 1] as number) - (data[other + 1] as number);
  const blue = (data[one + 2] as number) - (data[other + 2] as number);
  return (
    Math.abs(-0.1687 * red - 0.3313 * green + 0.5 * blue) +
    Math.abs(0.5 * red - 0.4187 * green - 0.0813 * blue)
  );
}
