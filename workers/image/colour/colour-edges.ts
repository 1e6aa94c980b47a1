import type { Pixels } from '../pixels/pixels.ts';

/**
 * The smallest colour distance of two neighbouring pixels that makes a hard edge. Chroma subsampling would blur such an
 * edge.
 */
const MIN_HARD_EDGE_DISTANCE = 90;
/** The largest share of hard edges of a photograph. A picture with more counts as a drawing or a screenshot. */
const MAX_PHOTO_EDGE_SHARE = 0.004;
/** Only every n-th row is examined. */
const SAMPLED_ROW_STEP = 3;

/**
 * Whether a picture has enough hard edges between colours, such as text on a coloured background, that chroma
 * subsampling would be visible.
 */
export function hasHardColourEdges({ data, width, height, channels, frames }: Pixels): boolean {
  if (channels === 1) return false;
  let edges = 0;
  let compared = 0;
  for (let y = 0; y < height * frames; y += SAMPLED_ROW_STEP) {
    let at = y * width * channels;
    for (let x = 1; x < width; x++, at += channels) {
      compared++;
      if (chromaDistance(data, at, at + channels) > MIN_HARD_EDGE_DISTANCE) edges++;
    }
  }
  return edges > MAX_PHOTO_EDGE_SHARE * compared;
}

/** The distance of two pixels in Cb and Cr (JFIF). */
function chromaDistance(data: Uint8Array, one: number, other: number): number {
  const red = (data[one] as number) - (data[other] as number);
  const green = (data[one + 1] as number) - (data[other + 1] as number);
  const blue = (data[one + 2] as number) - (data[other + 2] as number);
  return (
    Math.abs(-0.1687 * red - 0.3313 * green + 0.5 * blue) +
    Math.abs(0.5 * red - 0.4187 * green - 0.0813 * blue)
  );
}
