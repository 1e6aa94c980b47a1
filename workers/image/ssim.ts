/** Luma of a picture: one byte a pixel, row by row. */
export interface Luma {
  data: Uint8Array;
  width: number;
  height: number;
}

const WINDOW_PX = 8;
const STRIDE_PX = 4;
/** The constants of Wang et al. (2004) for 8 bits: they keep flat windows from dividing by zero. */
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;

/**
 * Structural similarity of two pictures of one size, 1 when they are the same: the mean over windows of 8 × 8 pixels,
 * 4 apart. A picture smaller than a window is one window.
 */
export function ssim(a: Luma, b: Luma): number {
  const width = Math.min(WINDOW_PX, a.width);
  const height = Math.min(WINDOW_PX, a.height);
  let sum = 0;
  let windows = 0;
  for (let top = 0; top + height <= a.height; top += STRIDE_PX) {
    for (let left = 0; left + width <= a.width; left += STRIDE_PX) {
      sum += similarity(a, b, left, top, width, height);
      windows++;
    }
  }
  return sum / windows;
}

function similarity(a: Luma, b: Luma, left: number, top: number, width: number, height: number): number {
  let sumA = 0;
  let sumB = 0;
  let sumAA = 0;
  let sumBB = 0;
  let sumAB = 0;
  for (let y = top; y < top + height; y++) {
    for (let at = y * a.width + left; at < y * a.width + left + width; at++) {
      const pixelA = a.data[at] as number;
      const pixelB = b.data[at] as number;
      sumA += pixelA;
      sumB += pixelB;
      sumAA += pixelA * pixelA;
      sumBB += pixelB * pixelB;
      sumAB += pixelA * pixelB;
    }
  }
  const count = width * height;
  const meanA = sumA / count;
  const meanB = sumB / count;
  const varianceA = sumAA / count - meanA * meanA;
  const varianceB = sumBB / count - meanB * meanB;
  const covariance = sumAB / count - meanA * meanB;
  const luminance = (2 * meanA * meanB + C1) / (meanA * meanA + meanB * meanB + C1);
  return (luminance * (2 * covariance + C2)) / (varianceA + varianceB + C2);
}
