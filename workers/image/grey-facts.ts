/** One channel of 8 bits. */
export interface Grey {
  data: Uint8Array;
  width: number;
  height: number;
}

/** The sum of the Laplacian's nine places, by which libvips divides it too. */
const LAPLACIAN_SCALE = 9;

/**
 * Shannon entropy of the grey values, in bits: 0 for a single one, 8 for all of them alike. stats() of sharp computes it in
 * single precision, so that the two agree to six digits.
 */
export function entropyOf({ data }: Grey): number {
  const counts = new Uint32Array(256);
  for (const value of data) counts[value] = (counts[value] ?? 0) + 1;
  let bits = 0;
  for (const count of counts) {
    const share = count / data.length;
    if (count > 0) bits -= share * Math.log2(share);
  }
  // Of a single value the sum is minus nothing.
  return Math.abs(bits);
}

/**
 * Standard deviation of the Laplacian (0 1 0, 1 -4 1, 0 1 0), a ninth of it; the edge pixels are repeated outwards. This
 * is what stats() of sharp calls sharpness; it counts everything else as well, which takes four times as long.
 */
export function sharpnessOf({ data, width, height }: Grey): number {
  let sum = 0;
  let squares = 0;
  for (let y = 0; y < height; y++) {
    const row = y * width;
    const above = Math.max(0, y - 1) * width;
    const below = Math.min(height - 1, y + 1) * width;
    let left = data[row] ?? 0;
    let here = left;
    for (let x = 0; x < width; x++) {
      const right = x + 1 < width ? (data[row + x + 1] ?? 0) : here;
      const edge = left + right + (data[above + x] ?? 0) + (data[below + x] ?? 0) - 4 * here;
      sum += edge;
      squares += edge * edge;
      left = here;
      here = right;
    }
  }
  const count = width * height;
  if (count < 2) return 0;
  return Math.sqrt(Math.abs(squares - (sum * sum) / count) / (count - 1)) / LAPLACIAN_SCALE;
}
